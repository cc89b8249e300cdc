"""The scheduler's node filters beside devices: cpu, memory, pods, selectors, taints.

Source: plugins NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodeResourcesFit of
kube-scheduler, in the order of its default profile. What else a profile filters by (ports, volumes,
topology spread, affinity between pods) is not looked at; `LEFT_OUT` says so to users.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dragoman.allocation.pools.nodeselector import NodeSelectorError, matches, usable_on
from dragoman.inventory.facts.objects import NodeFact, PodFact, World
from dragoman.inventory.snapshots.documents import Document
from dragoman.model.amounts import AmountError, amount
from dragoman.model.fields import items, mapping
from dragoman.model.holder import ClaimEntry
from dragoman.model.nodeselector import node_selector

LEFT_OUT: Final = (
    "host ports",
    "volumes",
    "topology spread",
    "affinity between pods",
    "preemption",
)
"""Filters of the scheduler that are not computed here."""
UNSCHEDULABLE: Final = "node(s) were unschedulable"
NODE_NAME: Final = "node(s) didn't match the requested node name"
TAINT: Final = "node(s) had untolerated taint(s)"
AFFINITY: Final = "node(s) didn't match Pod's node affinity/selector"
TOO_MANY: Final = "Too many pods"
INSUFFICIENT: Final = "Insufficient "
_UNSCHEDULABLE_TAINT: Final = {
    "key": "node.kubernetes.io/unschedulable",
    "effect": "NoSchedule",
    "value": "",
}
_KEEPS_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})
_POD_LEVEL: Final = ("cpu", "memory")

Resources = Mapping[str, int]
"""Amounts in units of 10^-9, by resource name; `pods` counts pods."""


@dataclass(slots=True)
class Load:
    """What the pods of each node request.

    Attributes:
        used: Amounts by node; `add` changes them.
    """

    used: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, world: World, besides: str = "") -> Load:
        """Sum up the pods that have a node, or are about to get one, and have not ended.

        Args:
            world: The cluster.
            besides: `namespace/name` of a pod that needs no room beside itself.
        """
        load = cls()
        for node, pods in placed(world, besides).items():
            for pod in pods:
                load.add(node, requests(pod.document))
        return load

    def add(self, node: str, wanted: Resources) -> None:
        """Count a pod more on a node."""
        self.used.setdefault(node, Counter()).update(wanted)

    def remove(self, node: str, wanted: Resources) -> None:
        """Remove a pod from the count of a node."""
        self.used.setdefault(node, Counter()).subtract(wanted)


def placed(world: World, besides: str = "") -> Mapping[str, list[PodFact]]:
    """Return the pods that take room on each node, all but one; see `Load.of`.

    The scheduler has chosen a node for a pod before it waits for the binding conditions of its
    devices (PreBind); `spec.nodeName` follows when they are met.
    """
    found: defaultdict[str, list[PodFact]] = defaultdict(list)
    chosen = _before_binding(world)
    for pod in world.pods.values():
        node = pod.pod.node_name or chosen.get(pod.pod.metadata.uid, "")
        if node and not pod.pod.done and pod.key != besides:
            found[node].append(pod)
    return found


def _before_binding(world: World) -> Mapping[str, str]:
    """Return the nodes of pods whose claims are allocated and reserved for them, by UID.

    Where devices can be used on several nodes, only `status.nominatedNodeName` names the one
    that the scheduler chose: it writes it before it waits, by default since Kubernetes 1.35.
    """
    found = {
        pod.pod.metadata.uid: node
        for pod in world.pods.values()
        if (node := str(mapping(pod.document, "status").get("nominatedNodeName") or ""))
        and any(_has_devices(world, pod, entry, node) for entry in pod.pod.entries)
    }
    for claim in world.claims.values():
        held = claim.held
        if held is None or held.node_selector is None:
            continue
        if any(one.binding_conditions for one in held.devices):
            names = [name for name, node in world.nodes.items() if usable_on(held, node.node)]
            if len(names) == 1:
                found.update({one.uid: names[0] for one in claim.consumers})
    return found


def _has_devices(world: World, pod: PodFact, entry: ClaimEntry, node: str) -> bool:
    """Whether an entry's claim is reserved for the pod, or its PodGroup, and usable on a node."""
    claim = world.claims.get(f"{pod.pod.metadata.namespace}/{pod.pod.published_name(entry)}")
    if claim is None or claim.held is None or node not in world.nodes:
        return False
    reserved = claim.is_reserved_for(pod.pod.metadata.uid) or any(
        one.is_pod_group and one.name == pod.pod.group_name for one in claim.consumers
    )
    return reserved and usable_on(claim.held, world.nodes[node].node)


def rejections(pod: Document, node: NodeFact, load: Load, wanted: Resources) -> tuple[str, ...]:
    """Return why the scheduler leaves a node out, in its words; empty where it does not.

    Args:
        pod: The reduced pod.
        node: A node.
        load: What other pods request.
        wanted: What the pod requests; see `requests`.
    """
    spec = mapping(pod, "spec")
    tolerations = items(spec, "tolerations", "spec.")
    node_spec = mapping(node.document, "spec")
    if node_spec.get("unschedulable") and not _tolerated(_UNSCHEDULABLE_TAINT, tolerations):
        return (UNSCHEDULABLE,)
    if spec.get("nodeName") not in (None, "", node.node.name):
        return (NODE_NAME,)
    taints = items(node_spec, "taints", "spec.")
    if any(
        taint.get("effect") in _KEEPS_AWAY and not _tolerated(taint, tolerations)
        for taint in taints
    ):
        return (TAINT,)
    if not _selected(spec, node):
        return (AFFINITY,)
    return tuple(_short(node, load.used.get(node.node.name, Counter()), wanted))


def _tolerated(taint: Document, tolerations: Iterable[Document]) -> bool:
    return any(_tolerates(one, taint) for one in tolerations)


def _tolerates(toleration: Document, taint: Document) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    same = (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(key) and toleration.get("operator") in (None, "", "Equal") and same


def _selected(spec: Document, node: NodeFact) -> bool:
    labels = node.node.labels
    wanted = mapping(spec, "nodeSelector", "spec.")
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    affinity = mapping(mapping(spec, "affinity", "spec."), "nodeAffinity", "spec.affinity.")
    required = node_selector(
        affinity, "requiredDuringSchedulingIgnoredDuringExecution", "spec.affinity.nodeAffinity."
    )
    if required is None:
        return True
    try:
        return matches(required, node.node)
    except NodeSelectorError:
        return False


def _short(node: NodeFact, used: Resources, wanted: Resources) -> Iterator[str]:
    room = amounts(mapping(mapping(node.document, "status"), "allocatable", "status."))
    if used.get("pods", 0) + wanted.get("pods", 0) > room.get("pods", 0):
        yield TOO_MANY
    for name, need in wanted.items():
        if name != "pods" and need and used.get(name, 0) + need > room.get(name, 0):
            yield f"{INSUFFICIENT}{name}"


def requests(pod: Document) -> dict[str, int]:
    """Return what a pod requests in all: its containers, and a pod as such.

    Source: resourcehelper.PodRequests: the larger of all containers with sidecars, and of each init
    container with the sidecars before it; `spec.resources` replaces cpu and memory.
    """
    spec = mapping(pod, "spec")
    running: Counter[str] = Counter()
    for container in items(spec, "containers", "spec."):
        running.update(_requested(container))
    sidecars: Counter[str] = Counter()
    starting: Counter[str] = Counter()
    for container in items(spec, "initContainers", "spec."):
        own = _requested(container)
        if container.get("restartPolicy") == "Always":
            sidecars.update(own)
            starting |= sidecars
        else:
            starting |= sidecars + Counter(own)
    total = (running + sidecars) | starting
    level = amounts(mapping(mapping(spec, "resources", "spec."), "requests", "spec.resources."))
    total.update({name: level[name] - total[name] for name in _POD_LEVEL if name in level})
    total.update(amounts(mapping(spec, "overhead", "spec.")))
    total["pods"] = 10**9
    return dict(total)


def _requested(container: Document) -> dict[str, int]:
    resources = mapping(container, "resources", "spec.containers[].")
    within = "spec.containers[].resources."
    limits = amounts(mapping(resources, "limits", within))
    # The API server copies limits where requests are absent; files have not been there.
    return limits | amounts(mapping(resources, "requests", within))


def amounts(document: Mapping[str, Any]) -> dict[str, int]:
    """Return quantities in units of 10^-9; what is not a quantity counts as nothing."""
    found = {}
    for name, value in document.items():
        try:
            found[name] = amount(str(value)).nanos
        except (AmountError, ValueError):
            continue
    return found
