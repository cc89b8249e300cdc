"""The scheduler's node filters beside devices: cpu, memory, pods, selectors, taints.

Source: plugins NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodeResourcesFit of
kube-scheduler, in the order of its default profile. What else a profile filters by (ports, volumes,
topology spread, affinity between pods) is not looked at; `LEFT_OUT` says so to users.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Self

from dragoman.allocation.pools.nodeselector import NodeSelectorError, matches, usable_on
from dragoman.inventory.facts.world import NodeFact, PodFact, World
from dragoman.model.fields import mapping
from dragoman.model.holder import ClaimEntry
from dragoman.model.needs import Needs, NodeTaint, NodeToleration, Resources
from dragoman.model.nodeselector import NodeSelector, Requirement

LEFT_OUT = (
    "host ports",
    "volumes",
    "topology spread",
    "affinity between pods",
    "preemption",
)
"""Filters of the scheduler that are not computed here."""
UNSCHEDULABLE = "node(s) were unschedulable"
NODE_NAME = "node(s) didn't match the requested node name"
TAINT = "node(s) had untolerated taint(s)"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TOO_MANY = "Too many pods"
INSUFFICIENT = "Insufficient "
REQUIRED_AFFINITY = "the required node affinity"
TERMS = 3
"""Terms of an affinity, and values of one, that are named."""
_UNSCHEDULABLE_TAINT = NodeTaint("node.kubernetes.io/unschedulable", "NoSchedule")
_KEEPS_AWAY = frozenset({"NoSchedule", "NoExecute"})


class Lack(NamedTuple):
    """One thing for which the scheduler leaves a node out."""

    message: str  # In the scheduler's words
    what: str = ""  # The taint as kubectl writes it, or the resource
    wanted: int = 0  # Of the resource, by the pod
    free: int = 0  # What other pods leave of it
    most: int = 0  # What the node has of it


@dataclass(slots=True)
class Load:
    """What the pods of each node request."""

    # Amounts by node; `add` changes them
    used: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, world: World, besides: str = "") -> Self:
        """Sum up the pods that have a node, or are about to get one, and have not ended.

        Args:
            world: The cluster.
            besides: `namespace/name` of a pod that needs no room beside itself.
        """
        load = cls()
        for node, pods in placed(world, besides).items():
            for pod in pods:
                load.add(node, pod.needs.requests)
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
        if any(one.details.binding_conditions for one in held.devices):
            names = [name for name, node in world.nodes.items() if usable_on(held, node.node)]
            if len(names) == 1:
                found.update({one.uid: names[0] for one in claim.consumers})
    return found


def _has_devices(world: World, pod: PodFact, entry: ClaimEntry, node: str) -> bool:
    """Whether an entry's claim is reserved for the pod, or its PodGroup, and usable on a node."""
    claim = world.claims.get(f"{pod.pod.metadata.namespace}/{pod.pod.published_name(entry)}")
    if claim is None or claim.held is None or node not in world.nodes:
        return False
    reserved = claim.is_reserved_for(pod.pod.metadata.uid, pod.pod.group_name)
    return reserved and usable_on(claim.held, world.nodes[node].node)


def rejections(pod: PodFact, node: NodeFact, load: Load, wanted: Resources) -> tuple[str, ...]:
    """Return why the scheduler leaves a node out, in its words; empty where it does not."""
    return messages(lacks(pod, node, load, wanted))


def messages(found: Iterable[Lack]) -> tuple[str, ...]:
    """Return what the scheduler says of a node that it leaves out, each thing once."""
    return tuple(dict.fromkeys(one.message for one in found))


def lacks(pod: PodFact, node: NodeFact, load: Load, wanted: Resources) -> tuple[Lack, ...]:
    """Return why the scheduler leaves a node out; empty where it does not.

    Args:
        pod: A pod.
        node: A node.
        load: What other pods request.
        wanted: What the pod requests of the node itself.
    """
    tolerations, room = pod.needs.tolerations, node.room
    if room.unschedulable and not _tolerated(_UNSCHEDULABLE_TAINT, tolerations):
        return (Lack(UNSCHEDULABLE),)
    if pod.pod.node_name not in ("", node.node.name):
        return (Lack(NODE_NAME),)
    if room.taints and (found := tuple(_untolerated(room.taints, tolerations))):
        return found
    if unmet := unmet_demand(pod.needs, node):
        return (Lack(AFFINITY, unmet),)
    return tuple(_short(room.amounts, load.used.get(node.node.name, {}), wanted))


def _untolerated(
    taints: Iterable[NodeTaint], tolerations: Sequence[NodeToleration]
) -> Iterator[Lack]:
    for one in taints:
        if one.effect in _KEEPS_AWAY and not _tolerated(one, tolerations):
            value = f"={one.value}" if one.value else ""
            yield Lack(TAINT, f"{one.key}{value}:{one.effect}")


def _tolerated(taint: NodeTaint, tolerations: Iterable[NodeToleration]) -> bool:
    return any(one.tolerates(taint) for one in tolerations)


def unmet_demand(needs: Needs, node: NodeFact) -> str:
    """Return which demand of a pod the labels of a node do not meet; empty if they meet all."""
    labels = node.node.labels
    for key, value in needs.labels.items():
        if labels.get(key) != value:
            return f"nodeSelector {key}={value}"
    if needs.affinity is None:
        return ""
    try:
        met = matches(needs.affinity, node.node)
    except NodeSelectorError:
        met = False
    return "" if met else affinity_text(needs.affinity)


@lru_cache(64)
def affinity_text(affinity: NodeSelector) -> str:
    """Return a required node affinity in words, its terms as kubectl writes label selectors."""
    every = (*(one.expressions + one.fields for one in affinity.terms),)
    terms = [", ".join(map(_requirement_text, one)) for one in every if one]
    return f"{REQUIRED_AFFINITY} {' or '.join(terms[:TERMS])}{', …' if len(terms) > TERMS else ''}"


def _requirement_text(one: Requirement) -> str:
    values = ", ".join(one.values[:TERMS]) + (", …" if len(one.values) > TERMS else "")
    match one.operator:
        case "In" | "NotIn":
            return f"{one.key} {one.operator.lower()} ({values})"
        case "Exists":
            return one.key
        case "DoesNotExist":
            return f"!{one.key}"
    return f"{one.key}{'>' if one.operator == 'Gt' else '<'}{values}"


def _short(room: Resources, used: Resources, wanted: Resources) -> Iterator[Lack]:
    for name, need in sorted(wanted.items(), key=lambda one: one[0] != "pods"):
        most, taken = room.get(name, 0), used.get(name, 0)
        if need and taken + need > most:
            message = TOO_MANY if name == "pods" else f"{INSUFFICIENT}{name}"
            yield Lack(message, name, need, max(most - taken, 0), most)
