"""What would be lost by moving from device plug-ins to DRA, by resource, node and workload."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from dragoman.allocation import features
from dragoman.allocation.features import Profile
from dragoman.allocation.gates import GA, LOCKED
from dragoman.inventory.snapshots.documents import MIRROR
from dragoman.model.fields import part, parts
from dragoman_base import versions
from dragoman_base.versions import Release, Version
from dragoman_base.words import listed, natural
from dragoman_toolkit.migration import counting
from dragoman_toolkit.migration.asks import Asking, AskingPod
from dragoman_toolkit.migration.classes import class_name
from dragoman_toolkit.migration.companions import Companions
from dragoman_toolkit.migration.counterparts import Exactness
from dragoman_toolkit.migration.losses import SOLVED_BY_OUTPUT, Code, Loss, Rank
from dragoman_toolkit.migration.queues import Queues
from dragoman_toolkit.migration.sources import NodeSource, Resource, Sources

Document = Mapping[str, Any]

CLAIM_LIMIT = 32
"""Devices, and requests, of one claim (API of resource.k8s.io: AllocationResultsMaxSize)."""
DEFAULT_SCHEDULER = "default-scheduler"
_GATE = "DRAExtendedResource"
_NAMED = 5
"""Nodes that a sentence names."""
_LABELS = ("nvidia.com/", "amd.com/", "beta.amd.com/", "gpu.intel.com/")
"""Prefixes of labels that companions of device plug-ins write on nodes."""
_LABELS_KEPT = ("nvidia.com/gpu.deploy.", "nvidia.com/device-plugin.config")
"""Labels with these prefixes that administrators write."""
_LINKED = ("nvidia.com/", "amd.com/", "aws.amazon.com/")
"""Resources whose plug-ins choose devices that are linked well."""
_NOTED = frozenset({Code.CDI_NEEDED, Code.GREATER_THAN_ONE_ALLOWED})
"""Of settings of a plug-in: what users have to know."""
_OF_RESOURCES = _NOTED | {Code.BOTH_SOURCES, Code.AUTOSCALER_WAITS}
"""What is said of the resource alone."""
_USED = frozenset({Code.SELECTOR_LOST, Code.MULTUS_ATTACHMENT, Code.MPS_LOST})
"""What breaks for a resource, and blocks the pods that ask for it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What else decides: autoscalers, Kueue, and schedulers under other names."""

    companions: Companions = field(default=Companions())
    queues: Queues = field(default=Queues())
    schedulers: tuple[str, ...] = ()  # That are kube-scheduler


ALONE = Beside()
"""Where nothing else does."""


class Answer(StrEnum):
    """The outcome for a workload."""

    UNCHANGED = "unchanged"
    CHANGE = "change"
    """What `kubectl dra migrate` prints makes it run."""
    BLOCKED = "blocked"
    DONE = "done"
    """Its pods have devices by DRA already."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Gate:
    """DRAExtendedResource in the version that the report is about."""

    version: Version
    on: bool

    @property
    def stage(self) -> str:
        """`none`, `alpha`, `beta` or `GA`."""
        if self.version < versions.OLDEST:
            return "none"
        found = features.stage(_GATE, self.version)
        return found if found != LOCKED else GA


def gate_of(profile: Profile) -> Gate:
    """Return the gate as a profile has it."""
    return Gate(profile.version, profile.extended_resources)


@dataclass(frozen=True)
class ResourceReport:
    """A resource, and what is lost of it."""

    resource: Resource
    workloads: int  # How many ask for it
    losses: tuple[Loss, ...]


@dataclass(frozen=True)
class WorkloadReport:
    """A workload, and its outcome."""

    asking: Asking
    answer: Answer
    losses: tuple[Loss, ...]


@dataclass(frozen=True)
class Migration:
    """The whole report."""

    gate: Gate
    resources: tuple[ResourceReport, ...]
    workloads: tuple[WorkloadReport, ...]
    losses: tuple[Loss, ...] = field(default=())  # Of the cluster as a whole

    @property
    def clean(self) -> bool:
        """Whether all runs unchanged, and nothing that breaks is lost."""
        found = [*self.losses, *(one for row in self.resources for one in row.losses)]
        found += [one for row in self.workloads for one in row.losses]
        settled = all(one.answer in (Answer.UNCHANGED, Answer.DONE) for one in self.workloads)
        return settled and not any(one.rank in (Rank.BLOCKS, Rank.BREAKS) for one in found)


def migration(
    sources: Sources,
    asking: Sequence[Asking],
    gate: Gate,
    *,
    only: Iterable[str] = (),
    beside: Beside = ALONE,
) -> Migration:
    """Compute the report.

    Args:
        sources: Finds where nodes get resources from.
        asking: Workloads that ask for extended resources.
        gate: Whether classes serve extended resources.
        only: Resources to report of; all of them without.
        beside: What else decides.
    """
    wanted = {name for one in asking for name in one.resources}
    resources = {one.name: one for one in sources.resources(wanted, only)}
    asking = [one for one in asking if resources.keys() & set(one.resources)]
    view = _View(sources, resources, asking, gate, beside)
    rows = [
        ResourceReport(
            one,
            sum(one.name in workload.resources for workload in asking),
            view.lost[one.name],
        )
        for one in resources.values()
        if one.nodes or any(one.name in workload.resources for workload in asking)
    ]
    return Migration(
        gate,
        tuple(rows),
        tuple(map(view.of_workload, asking)),
        (*_of_cluster(gate, sources.nodes, rows), *counting.measured(resources, beside.companions)),
    )


def _of_cluster(
    gate: Gate, nodes: Iterable[Document], rows: Sequence[ResourceReport]
) -> Iterator[Loss]:
    if not rows:
        return
    name = versions.name(gate.version)
    if not gate.on:
        yield Loss(
            Code.GATE_OFF,
            Rank.BLOCKS,
            f"Kubernetes {name}",
            f"Kubernetes {name} does not serve extended resources by classes unless "
            "DRAExtendedResource is on",
        )
    old = sorted((one for node in nodes if (one := _old_kubelet(node))), key=natural)
    if gate.on and old:
        yield Loss(
            Code.GATE_OFF,
            Rank.BLOCKS,
            ", ".join(old),
            f"kubelets below 1.36 do not start pods with devices of classes: {listed(old, _NAMED)}",
        )
    yield Loss(
        Code.NODE_COUNTS,
        Rank.NOTE,
        "status.allocatable",
        "status.allocatable of nodes has none of these resources with DRA: dashboards, "
        "autoscalers and quotas of nodes that count it read 0",
    )


def _old_kubelet(node: Document) -> str:
    text = str(part(node, "status", "nodeInfo").get("kubeletVersion") or "")
    try:
        old = bool(text) and not features.on_by_default(_GATE, versions.parse(text))
    except ValueError:
        return ""
    return str(part(node, "metadata").get("name")) if old else ""


@dataclass(frozen=True)
class _View:
    sources: Sources
    resources: Mapping[str, Resource]
    asking: Sequence[Asking]
    gate: Gate
    beside: Beside

    @cached_property
    def _labels(self) -> Mapping[str, Document]:
        """Labels of nodes by name."""
        found = (part(one, "metadata") for one in self.sources.nodes)
        return {str(one.get("name") or ""): part(one, "labels") for one in found}

    @cached_property
    def lost(self) -> Mapping[str, tuple[Loss, ...]]:
        """What is lost of each resource, by whichever workload it is used."""
        return {name: tuple(self._of_resource(one)) for name, one in self.resources.items()}

    @cached_property
    def _totals(self) -> Mapping[str, int]:
        """Devices that all workloads ask for, by resource."""
        totals: Counter[str] = Counter()
        for one in self.asking:
            for name in one.resources:
                totals[name] += one.total(name)
        return totals

    @cached_property
    def _lowest(self) -> Mapping[str, list[tuple[int, Asking]]]:
        """The two workloads with the lowest priorities among those that ask for a resource."""
        found: dict[str, list[tuple[int, Asking]]] = {}
        for one in self.asking:
            priority = min(map(_priority, one.pods))
            for name in one.resources:
                rows = [*found.get(name, ()), (priority, one)]
                found[name] = sorted(rows, key=lambda row: (row[0], row[1].key))[:2]
        return found

    @cached_property
    def _by_class(self) -> frozenset[tuple[str, str]]:
        """Resources and nodes where devices of a class alone serve them."""
        found = self.resources.items()
        return frozenset((name, node) for name, one in found for node in one.of(NodeSource.DRA))

    def _of_resource(self, one: Resource) -> Iterator[Loss]:
        yield from self._served(one)
        if one.selecting is None:  # it stays on its plug-in, and keeps what that does
            return
        yield from self._shared(one)
        yield from self._configured(one)
        for node in one.of(NodeSource.BOTH):
            yield Loss(
                Code.BOTH_SOURCES,
                Rank.BLOCKS,
                node,
                f"{node} has two sources of {one.name}: its plug-in, and devices of "
                f"{one.counterpart.driver or one.name}; a device can be given to two pods",
            )
        if not Release(self.gate.version).stale_capacity_served:
            for node in one.of(NodeSource.STALE):
                yield Loss(
                    Code.STALE_CAPACITY,
                    Rank.BLOCKS,
                    node,
                    f"{node} keeps {one.name} after its plug-in: Kubernetes "
                    f"{versions.name(self.gate.version)} then serves it by nothing",
                )
        if one.name.startswith("nvidia.com/") and one.exact is not Exactness.NONE:
            yield Loss(
                Code.HEALTH_HANDLING,
                Rank.CHANGES,
                one.name,
                "the plug-in takes sick devices out of service; the driver does so only where its "
                "health checks are on",
            )

    def _configured(self, one: Resource) -> Iterator[Loss]:
        """Yield what the configs of its plug-in and autoscalers say."""
        settings, companions = self.sources.settings, self.beside.companions
        labels = [self._labels.get(node.name, {}) for node in one.nodes]
        found = {row: None for own in labels for row in settings.codes(one.name, own)}
        for code, text in found:
            rank = Rank.NOTE if code in _NOTED else Rank.BREAKS
            yield Loss(code, rank, one.name, text)
        if (pool := settings.pool(one.name)) and pool.lost:
            names = listed(pool.lost, _NAMED)
            text = f"the driver has no counterpart for {names} of {one.name}"
            yield Loss(Code.SELECTOR_LOST, Rank.BREAKS, one.name, text)
        if one.name in settings.multus:
            text = f"a NetworkAttachmentDefinition names {one.name}: its Multus must read claims"
            yield Loss(Code.MULTUS_ATTACHMENT, Rank.BREAKS, one.name, text)
        yield from counting.scaled(one.name, labels, companions)

    def _served(self, one: Resource) -> Iterator[Loss]:
        if one.rivals and one.serving:
            mine = {device.id for device in self.sources.selected(one.serving)}
            for other in one.rivals:
                if {device.id for device in self.sources.selected(other)} != mine:
                    yield Loss(
                        Code.TWO_CLASSES,
                        Rank.BLOCKS,
                        one.name,
                        f"classes {one.serving.name} and {other.name} name {one.name} and select "
                        f"different devices; {one.serving.name} serves it, as the newest",
                    )
        if one.selecting is None:
            code = Code(one.counterpart.loss or Code.UNKNOWN_RESOURCE)
            yield Loss(code, Rank.NOTE, one.name, _unserved(one, code))
        elif one.published and not any(node.devices for node in one.nodes):
            yield Loss(
                Code.NO_DEVICES,
                Rank.BLOCKS,
                one.name,
                f"{one.counterpart.driver} publishes devices, and none that stands for {one.name}",
            )
        elif one.serving is None:
            yield Loss(Code.NO_CLASS, Rank.BLOCKS, one.name, f"no class serves {one.name}")
        elif self.sources.selects_no_parts(one):
            text = f"class {one.serving.name} serves {one.name} and selects no MIG devices"
            yield Loss(Code.NO_CLASS, Rank.BLOCKS, one.name, text)

    def _shared(self, one: Resource) -> Iterator[Loss]:
        if one.replicas > 1 and one.selecting:
            total = self._totals[one.name]
            names = listed([node.name for node in one.nodes if node.replicas > 1], _NAMED)
            code = Code.MPS_LOST if one.strategy == "mps" else Code.REPLICAS_LOST
            yield Loss(
                code,
                Rank.BLOCKS if total > one.then else Rank.BREAKS,
                one.name,
                f"{one.name}: {one.now} today, {one.then} devices with DRA: "
                f"{one.strategy} makes {one.replicas} of each device on {names}",
            )

    def of_workload(self, one: Asking) -> WorkloadReport:
        """Return the outcome for a workload."""
        found = [*self._asked(one)]
        if any(self._moves(name) for name in one.resources):
            found += [*self._pods(one), *self._lost(one)]
        losses = tuple(_unique(found))
        return WorkloadReport(one, self._answer(one, losses), losses)

    def _answer(self, one: Asking, losses: Iterable[Loss]) -> Answer:
        blocks = {loss.code for loss in losses if loss.rank is Rank.BLOCKS}
        known = [self.resources[name] for name in one.resources if name in self.resources]
        if not one.from_file and all(_by_dra(pod) for pod in one.pods):
            return Answer.DONE
        if blocks - SOLVED_BY_OUTPUT:
            return Answer.BLOCKED
        if any(found.selecting is None for found in known):
            return Answer.UNKNOWN
        return Answer.CHANGE if blocks else Answer.UNCHANGED

    def _moves(self, resource: str) -> bool:
        """Whether devices stand for a resource: another one stays on its plug-in."""
        found = self.resources.get(resource)
        return found is not None and found.selecting is not None

    def _asked(self, one: Asking) -> Iterator[Loss]:
        """Yield losses of the resources that a workload asks for."""
        for name in one.resources:
            found = self.resources.get(name)
            if found is None:
                continue
            for loss in self.lost[name]:
                if loss.code is Code.REPLICAS_LOST and found.selecting:
                    total = one.total(name)
                    if found.replicas > 1 and total > found.then:
                        how = f"{found.strategy}, {found.replicas} replicas"
                        text = f"{total} are asked for, {found.then} devices remain ({how})"
                        yield Loss(loss.code, Rank.BLOCKS, name, text)
                elif loss.code in _USED:
                    yield replace(loss, rank=Rank.BLOCKS)
                elif loss.rank is not Rank.CHANGES and loss.code not in _OF_RESOURCES:
                    yield loss
            serves = found.serving.name if found.serving else class_name(name, ())
            for code, text in self.beside.queues.served(name, serves, one.namespace, one.queue):
                yield Loss(code, Rank.BLOCKS, name, text)
            if not self.gate.on and found.selecting:
                yield Loss(
                    Code.GATE_OFF,
                    Rank.BLOCKS,
                    name,
                    f"no class serves {name} while DRAExtendedResource is off",
                )

    def _pods(self, one: Asking) -> Iterator[Loss]:
        for pod in one.pods:
            spec = pod.spec
            moving = (found for name, found in pod.requests.items() if self._moves(name))
            counts = [count for found in moving for count in found]
            if sum(counts) > CLAIM_LIMIT or len(counts) > CLAIM_LIMIT:
                yield Loss(
                    Code.TOO_MANY_DEVICES,
                    Rank.BLOCKS,
                    one.name,
                    f"{sum(counts)} devices in {len(counts)} requests of one pod: a claim has at "
                    f"most {CLAIM_LIMIT} of both",
                )
            scheduler = str(spec.get("schedulerName") or DEFAULT_SCHEDULER)
            if scheduler not in (DEFAULT_SCHEDULER, *self.beside.schedulers):
                yield Loss(
                    Code.OTHER_SCHEDULER,
                    Rank.BLOCKS,
                    one.name,
                    f"scheduler {scheduler} makes no claims for extended resources",
                )
            if self._bypasses(one, pod):
                yield Loss(
                    Code.SCHEDULER_BYPASS,
                    Rank.BLOCKS,
                    one.name,
                    "its node is given without the scheduler: no claim is made for the pod, and "
                    "it starts without a device",
                )
            for label in sorted(set(_labels_of(spec))):
                yield Loss(
                    Code.LABEL_GONE,
                    Rank.BLOCKS,
                    label,
                    f"it selects nodes by {label}, which ends with the component that writes it",
                )

    def _bypasses(self, one: Asking, pod: AskingPod) -> bool:
        """Whether a pod gets its node from its manifest or its kubelet."""
        metadata = part(pod.document, "metadata")
        if one.from_file:
            return bool(pod.spec.get("nodeName"))
        if MIRROR in part(metadata, "annotations"):
            return True
        served = {name for name in pod.requests if (name, pod.node) in self._by_class}
        return bool(served) and not _by_dra(pod)

    def _lost(self, one: Asking) -> Iterator[Loss]:
        """Yield behaviors of the plug-in and the scheduler that end for a workload."""
        for name in one.resources:
            each = one.each(name)
            found = self.resources.get(name)
            if (
                each > 1
                and found
                and found.selecting
                and found.most > each
                and name.startswith(_LINKED)
            ):
                yield Loss(
                    Code.LINK_ALIGNMENT,
                    Rank.BREAKS,
                    name,
                    f"the plug-in chooses {each} devices of {name} that are linked well; the "
                    "scheduler takes the first that fit",
                )
        priority = max(map(_priority, one.pods), default=0)
        others = [row for name in one.resources for row in self._lowest.get(name, ())]
        for lowest, other in others:
            if other is not one and lowest < priority:
                yield Loss(
                    Code.PREEMPTION,
                    Rank.BREAKS,
                    one.name,
                    f"its priority {priority} is above that of {other.namespace}/{other.name}: "
                    "kube-scheduler preempts no pod for devices of DRA",
                )
                break
        if any(map(_aligned, one.pods)):
            yield Loss(
                Code.NUMA_ALIGNMENT,
                Rank.NOTE,
                one.name,
                "the kubelet's topology manager has no hints from DRA",
            )


def _unserved(one: Resource, code: Code) -> str:
    if code is Code.UNKNOWN_RESOURCE:
        return f"no devices are known that stand for {one.name}: it stays on its plug-in"
    if code is Code.FRACTION_OF_DEVICE:
        return f"{one.name} counts parts of devices; {one.counterpart.driver} publishes whole ones"
    if code is Code.ADMIN_ACCESS:
        return f"{one.name} gives access to devices that other pods use, which classes cannot"
    return f"any number of pods share a device of {one.name}; with DRA one pod has it"


def _unique(losses: Iterable[Loss]) -> list[Loss]:
    return list(dict.fromkeys(losses))


def _by_dra(pod: AskingPod) -> bool:
    return bool(part(pod.document, "status").get("extendedResourceClaimStatus"))


def _priority(pod: AskingPod) -> int:
    found = pod.spec.get("priority")
    return found if isinstance(found, int) else 0


def _labels_of(spec: Document) -> Iterator[str]:
    """Yield labels that end with a plug-in, by which a pod requires its node."""
    names = [*part(spec, "nodeSelector")]
    affinity = part(spec, "affinity", "nodeAffinity")
    required = part(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    for term in parts(required, "nodeSelectorTerms"):
        names += [str(one.get("key")) for one in parts(term, "matchExpressions")]
    for name in names:
        if name.startswith(_LABELS) and not name.startswith(_LABELS_KEPT):
            yield name


def _aligned(pod: AskingPod) -> bool:
    """Whether the CPU manager gives a pod CPUs of its own: Guaranteed, with whole CPUs."""
    containers = parts(pod.spec, "containers")
    for one in containers:
        requests = part(one, "resources", "requests")
        limits = part(one, "resources", "limits")
        cpu = str(requests.get("cpu") or "")
        same = all(requests.get(name) == limits.get(name) for name in ("cpu", "memory"))
        if not (cpu.isascii() and cpu.isdigit() and requests.get("memory") and same):
            return False
    return bool(containers)
