"""What plans are computed from: pods that have a node, budgets, and the cluster's devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from dragoman.allocation.timebudget import check
from dragoman.diagnosis.filters import Load
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.snapshots.documents import (
    GANGS,
    HARMLESS_VOLUMES,
    KUEUE,
    MIRROR,
    PREEMPTIBLE,
    Document,
)
from dragoman.maintenance.budgets import DisruptionBudget
from dragoman.model.claim import Claim, Consumer
from dragoman.model.fields import MalformedObjectError, items, mapping, texts
from dragoman.model.labels import LabelSelector
from dragoman.model.metadata import Owner
from dragoman.model.needs import Resources

NEVER = "Never"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NOT_STARTED = "~"
"""Sorts after every timestamp: the scheduler takes a missing start for now."""
_FIELDS = (
    "activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig "
    "dnsPolicy enableServiceLinks ephemeralContainers evictionResponders hostAliases hostIPC "
    "hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets initContainers "
    "nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName "
    "readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName "
    "schedulingGates schedulingGroup securityContext serviceAccount serviceAccountName "
    "setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds "
    "tolerations topologySpreadConstraints volumes"
)
POD_FIELDS = frozenset(_FIELDS.split())
"""Fields of `spec` that plans simulate, report, or know to be no matter of scheduling."""
_BY_SCHEDULER = "PreemptionByScheduler"


@dataclass(frozen=True, slots=True)
class AntiAffinityTerm:
    """A required term by which a pod that has a node keeps others away (API: PodAffinityTerm)."""

    topology: str  # `topologyKey`; empty where a snapshot leaves it out: it keeps no pod away
    selector: LabelSelector | None  # `labelSelector`; None matches no pod
    namespaces: frozenset[str]  # `namespaces`, or the pod's own where nothing else is said
    of_namespaces: LabelSelector | None = None  # `namespaceSelector`; None matches none

    @classmethod
    def parse(cls, document: Document, namespace: str) -> AntiAffinityTerm:
        """Read a term of a pod of a namespace; raise MalformedObjectError naming the field."""

        def selector(key: str) -> LabelSelector | None:
            if document.get(key) is None:
                return None
            return LabelSelector.parse(mapping(document, key, "term."), f"term.{key}.")

        others, named = selector("namespaceSelector"), texts(document, "namespaces", "term.")
        own = () if named or others is not None else (namespace,)
        topology = str(document.get("topologyKey") or "")
        return cls(topology, selector("labelSelector"), frozenset((*named, *own)), others)

    def keeps_away(self, pod: PodFact, namespace: Mapping[str, Any]) -> bool:
        """Whether it is about a pod, in a namespace with these labels."""
        chosen = self.of_namespaces is not None and self.of_namespaces.matches(namespace)
        if self.selector is None or not (pod.pod.metadata.namespace in self.namespaces or chosen):
            return False
        labels = mapping(mapping(pod.document, "metadata"), "labels", "metadata.")
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod that has a node, or is promised one."""

    namespace: str  # `metadata.namespace`.
    name: str  # `metadata.name`.
    uid: str  # `metadata.uid`.
    node: str  # `spec.nodeName`, or `status.nominatedNodeName` of a pod without one.
    nominated: bool = False  # Whether the node is only promised
    priority: int = 0  # `spec.priority`, 0 where unset.
    started: str = NOT_STARTED  # `status.startTime`; `NOT_STARTED` where unset.
    # `cpu`, memory and others; see `model.needs`.
    requests: Resources = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)  # `metadata.labels`.
    phase: str = ""  # `status.phase`.
    ready: bool = False  # Whether the condition Ready is True
    ending: bool = False  # Whether it has a deletion timestamp
    preempted: bool = False  # Whether the scheduler itself ends it to make room
    owner: Owner | None = None  # Its controller, None for a bare pod
    # Name of its PodGroup, also of one of the scheduler plugin Coscheduling; None without
    group: str | None = None
    mirror: bool = False  # Whether a file of its node defines it
    preemptible: str = ""  # The annotation `dragoman.dev/preemptible`, empty without.
    grace: int = 30  # `spec.terminationGracePeriodSeconds`.
    # Whom it keeps away from its node, or its zone
    anti_affinity: tuple[AntiAffinityTerm, ...] = ()
    # The pod as it was read, for moves; None where it is not stored
    fact: PodFact | None = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def importance(self) -> tuple[int, str]:
        """Sorts the most important pod first (kube-scheduler: MoreImportantPod)."""
        return (-self.priority, self.started)

    @classmethod
    def of(cls, pod: PodFact, promised: str = "") -> BoundPod | None:
        """Return what plans need of a pod; None for a pod without node, or that has ended.

        Args:
            pod: As it was read.
            promised: The node on which a preemption makes room for it.
        """
        document = pod.document
        spec, status = mapping(document, "spec"), mapping(document, "status")
        metadata = mapping(document, "metadata")
        annotations = mapping(metadata, "annotations", "metadata.")
        nominated = not pod.pod.node_name
        node = pod.pod.node_name or promised or str(status.get("nominatedNodeName") or "")
        if not node or pod.pod.done:
            return None
        conditions = items(status, "conditions", "status.")
        return cls(
            namespace=pod.pod.metadata.namespace,
            name=pod.pod.metadata.name,
            uid=pod.pod.metadata.uid,
            node=node,
            nominated=nominated,
            priority=priority_of(document),
            started=pod.started or NOT_STARTED,
            requests=pod.needs.requests,
            labels=mapping(metadata, "labels", "metadata."),
            phase=pod.pod.phase,
            ready=_is_true(conditions, "Ready"),
            ending=pod.pod.metadata.deleting,
            preempted=any(one.get("reason") == _BY_SCHEDULER for one in conditions),
            owner=pod.pod.metadata.owner,
            group=pod.pod.group_name or gang_of(document) or None,
            mirror=MIRROR in annotations,
            preemptible=str(annotations.get(PREEMPTIBLE) or ""),
            grace=max(0, _integer(spec, "terminationGracePeriodSeconds", 30)),
            anti_affinity=_anti_affinity(spec, pod.pod.metadata.namespace),
            fact=pod,
        )


def _anti_affinity(spec: Document, namespace: str) -> tuple[AntiAffinityTerm, ...]:
    affinity = mapping(spec, "affinity", "spec.")
    found = mapping(affinity, "podAntiAffinity", "spec.affinity.")
    terms = items(found, REQUIRED, "spec.affinity.podAntiAffinity.")
    return tuple(AntiAffinityTerm.parse(one, namespace) for one in terms)


def priority_of(pod: Document) -> int:
    """Return `spec.priority` of a reduced pod, 0 where unset."""
    return _integer(mapping(pod, "spec"), "priority", 0)


def managed_by_kueue(pod: Document) -> bool:
    """Whether Kueue decides when a reduced pod may start."""
    labels = mapping(mapping(pod, "metadata"), "labels", "metadata.")
    gates = items(mapping(pod, "spec"), "schedulingGates", "spec.")
    return any(one in labels for one in KUEUE) or any(
        str(one.get("name")).startswith("kueue.x-k8s.io/") for one in gates
    )


def gang_of(pod: Document) -> str:
    """Return the gang that a reduced pod names for a scheduler plugin; empty without one."""
    labels = mapping(mapping(pod, "metadata"), "labels", "metadata.")
    return next((str(labels[one]) for one in GANGS if labels.get(one)), "")


def not_computed(pod: Document) -> Iterator[str]:
    """Yield what a reduced pod requests that no simulation looks at."""
    spec = mapping(pod, "spec")
    containers = (*items(spec, "containers", "spec."), *items(spec, "initContainers", "spec."))
    if any(
        port.get("hostPort")
        for one in containers
        for port in items(one, "ports", "spec.containers[].")
    ):
        yield "host ports"
    volumes = items(spec, "volumes", "spec.")
    if any(not one.keys() & HARMLESS_VOLUMES for one in volumes):
        yield "volumes"
    spread = items(spec, "topologySpreadConstraints", "spec.")
    if any(one.get("whenUnsatisfiable") != "ScheduleAnyway" for one in spread):
        yield "topology spread"
    affinity = mapping(spec, "affinity", "spec.")
    if any(
        mapping(affinity, kind, "spec.affinity.").get(REQUIRED)
        for kind in ("podAffinity", "podAntiAffinity")
    ):
        yield "affinity between pods"


def _is_true(conditions: Iterable[Document], kind: str) -> bool:
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions)


def _integer(document: Document, key: str, absent: int) -> int:
    found = document.get(key)
    return found if type(found) is int else absent


@dataclass(frozen=True)
class PreemptionFacts:
    """One state of a cluster, as plans see it."""

    world: World  # Nodes, slices, classes, rules, claims and the pod that waits
    pods: tuple[BoundPod, ...]  # Every pod that has a node, or is promised one
    budgets: tuple[DisruptionBudget, ...] = ()  # PodDisruptionBudgets
    # Nodes on which preemptions make room for pods, by the UIDs of these; see `Policy`
    promised: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, world: World, promised: Mapping[str, str] = MappingProxyType({})
    ) -> PreemptionFacts:
        """Return the facts of a snapshot; malformed pods and budgets are left out."""
        pods = tuple(_bound(world.pods.values(), promised))
        return cls(world, pods, tuple(_budgets(world.budgets)), promised)

    @cached_property
    def by_node(self) -> Mapping[str, tuple[BoundPod, ...]]:
        """The pods of each node, in the order of their names; promised ones excluded."""
        found: defaultdict[str, list[BoundPod]] = defaultdict(list)
        for pod in self.pods:
            if not pod.nominated:
                found[pod.node].append(pod)
        return {node: tuple(sorted(one, key=lambda pod: pod.key)) for node, one in found.items()}

    @cached_property
    def keeping_away(self) -> tuple[BoundPod, ...]:
        """The pods that keep others away; all others are out of the way of every plan."""
        return tuple(pod for pod in self.pods if pod.anti_affinity)

    @cached_property
    def claims_of(self) -> Mapping[str, tuple[Claim, ...]]:
        """The allocated claims that are reserved for each pod, by its UID."""
        known = {pod.uid: pod for pod in self.pods}
        found: defaultdict[str, list[Claim]] = defaultdict(list)
        for claim in self.world.claims.values():
            if claim.held is not None:
                for consumer in claim.consumers:
                    pod = known.get(consumer.uid)
                    if pod is None or is_consumer(pod, claim, consumer):
                        found[consumer.uid].append(claim)
        return {uid: tuple(claims) for uid, claims in found.items()}

    def budgets_of(self, pod: BoundPod) -> tuple[DisruptionBudget, ...]:
        """Return the budgets that select a pod; tenants write them, so this takes of the time.

        Raises:
            TooExpensiveError: The entered `TimeBudget` is used up.
        """
        here = self._by_namespace.get(pod.namespace)
        if not here:
            return ()
        alike = (pod.namespace, repr(pod.labels))
        found = self._selecting.get(alike)
        if found is None:
            found = self._selecting[alike] = tuple(_selecting(here, pod.labels))
        return found

    @cached_property
    def _by_namespace(self) -> Mapping[str, list[DisruptionBudget]]:
        found: defaultdict[str, list[DisruptionBudget]] = defaultdict(list)
        for one in self.budgets:
            found[one.namespace].append(one)
        return found

    @cached_property
    def _selecting(self) -> dict[tuple[str, str], tuple[DisruptionBudget, ...]]:
        return {}

    def load(self, priority: int) -> Load:
        """Return what pods request of each node.

        Args:
            priority: Of the pod that a plan is for: the scheduler counts a promise to a pod of at
                least this priority as kept (RunFilterPluginsWithNominatedPods). That of a
                preemption always counts: pods end for it.
        """
        load = Load()
        for pod in self.pods:
            if self.counts(pod, priority):
                load.add(pod.node, pod.requests)
        return load

    def counts(self, pod: BoundPod, priority: int) -> bool:
        """Whether a pod takes room on its node from one of a priority; see `load`."""
        return not pod.nominated or pod.priority >= priority or pod.uid in self.promised


def is_consumer(pod: BoundPod, claim: Claim, consumer: Consumer) -> bool:
    """Whether an entry of `reservedFor` means a pod, and not only names its UID.

    Who may write claims of one namespace may write any UID into them.
    """
    named = (claim.metadata.namespace, consumer.name, consumer.uid)
    return consumer.is_pod and named == (pod.namespace, pod.name, pod.uid)


def _selecting(
    budgets: Iterable[DisruptionBudget], labels: Mapping[str, Any]
) -> Iterator[DisruptionBudget]:
    for one in budgets:
        check()
        if one.selector is not None and one.selector.matches(labels):
            yield one


def _bound(pods: Iterable[PodFact], promised: Mapping[str, str]) -> Iterator[BoundPod]:
    for pod in pods:
        try:
            found = BoundPod.of(pod, promised.get(pod.pod.metadata.uid, ""))
        except MalformedObjectError:
            continue
        if found is not None:
            yield found


def _budgets(documents: Iterable[Document]) -> Iterator[DisruptionBudget]:
    for document in documents:
        try:
            yield DisruptionBudget.parse(document)
        except MalformedObjectError:
            continue
