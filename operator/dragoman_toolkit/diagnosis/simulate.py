"""Place pods one after the other, and say where they fit.

Nodes are filled in the order of their names: which node wins is decided by the scheduler's scores,
which are not computed. For devices that belong to one node this does not change how many fit.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dragoman.allocation import Allocated, Claim, Cluster, FatalError, allocate
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.explain import conclude, explain
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import Lack, Load, lacks, rejections
from dragoman.diagnosis.nearness import NodeAnswer
from dragoman.diagnosis.nodeanswers import BUDGET
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.world import NodeFact, PodFact
from dragoman.inventory.inventory import Inventory, take
from dragoman_base.words import natural
from dragoman_toolkit.diagnosis.room import PlacementRoom, named

MOST = 10_000
"""Pods of one answer."""
LARGEST = 32
"""Devices of one claim (API: AllocationResultsMaxSize)."""

Progress = Callable[[str, int], None]


@dataclass(slots=True)
class Placement:
    """Where the pods of a workload fit."""

    whole: bool = False  # Whether sets of pods were placed whole or not at all
    least: int = 0  # Pods of a set that were enough; 0 where all of them were needed
    # Names of the pods by node, in the order of placing
    nodes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    refused: list[str] = field(default_factory=list)  # Pods that fit nowhere
    devices: dict[str, list[str]] = field(default_factory=dict)  # Names of the devices, by pod
    why: Explanation | None = None  # Why the first refused pod fits nowhere; None where all fit
    refused_key: str = ""  # `namespace/name` of the pod whose copies fit nowhere any more

    @property
    def placed(self) -> int:
        """How many pods fit."""
        return sum(map(len, self.nodes.values()))


@dataclass(frozen=True, slots=True)
class Copies:
    """Pods that are alike."""

    pod: PodFact  # What is copied; each copy gets its own claims from templates
    names: tuple[str, ...] = ()  # Of the pods to place
    each_node: bool = False  # Whether each node that admits the pod gets one, as of a DaemonSet

    def wanted(self, inventory: Inventory) -> list[tuple[str, str]]:
        """Return names of pods, each with the only node that it may have; empty for any."""
        if not self.each_node:
            return [(name, "") for name in self.names]
        name = self.pod.pod.metadata.name
        return [(f"{name}-{node}", node) for node in _admitting(inventory, self.pod)]


@dataclass(frozen=True, slots=True)
class PlacedWorkload:
    """Pods that are placed for one workload."""

    title: str  # Kind, namespace and name; empty where it is the only one
    sets: tuple[tuple[Copies, ...], ...]  # Pods that are placed in this order
    whole: bool = False  # Whether a set has all of its pods placed, or none
    least: int = 0  # Pods of a set that are placed without the rest; 0 for none


def place(
    inventory: Inventory,
    workloads: Sequence[PlacedWorkload],
    *,
    fill: bool = False,
    progress: Progress = lambda thing, count: None,  # noqa: ARG005 — nothing is reported
) -> list[Placement]:
    """Place pods of workloads, one workload after the other.

    Args:
        inventory: The cluster.
        workloads: What is placed.
        fill: Whether the first refusal ends it, and is not counted as one.
        progress: Called with "pods" and how many were tried.
    """
    every = [copies for one in workloads for parts in one.sets for copies in parts]
    for pod in {copies.pod.key: copies.pod for copies in every}.values():
        inventory = _with_idle_claims_freed(inventory, pod)
    filling = _Filling(PlacementRoom.of(inventory), progress, fill=fill)
    return [filling.place(one) for one in workloads]


@dataclass(slots=True)
class _Filling:
    """A cluster that is filled with pods."""

    room: PlacementRoom
    progress: Progress
    fill: bool
    tried: int = 0

    def place(self, workload: PlacedWorkload) -> Placement:
        """Place the sets of a workload; what a set has no room for, no later one alike has."""
        placement = Placement(workload.whole, workload.least)
        for parts in workload.sets:
            before, mark = replace(placement), self.room.mark
            before.nodes, before.devices = _copied(placement.nodes), dict(placement.devices)
            refused = [name for copies in parts for name in self._copies(placement, copies)]
            placed = placement.placed - before.placed
            if refused and workload.whole and placed < (workload.least or placed + 1):
                self.room.undo(mark)
                placement.nodes, placement.devices = before.nodes, before.devices
                refused = [name for copies in parts for name in copies.names]
            if refused and self.fill:
                break
            placement.refused += refused
        return placement

    def _copies(self, placement: Placement, copies: Copies) -> Iterator[str]:
        """Place pods alike; yield the names of those that fit nowhere."""
        pod = copies.pod
        refused = placement.refused_key == pod.key
        for name, only in copies.wanted(self.room.inventory):
            if (refused and not only) or not _place_one(self.room, placement, pod, name, only):
                # Once a copy fits nowhere, no later one does: nothing comes free on the way.
                refused = True
                placement.refused_key = pod.key
                placement.why = placement.why or _why(self.room, pod)
                yield name
                if self.fill:
                    return
            self.tried += 1
            self.progress("pods", self.tried)


def _copied(nodes: Mapping[str, list[str]]) -> defaultdict[str, list[str]]:
    return defaultdict(list, {node: [*names] for node, names in nodes.items()})


def _admitting(inventory: Inventory, pod: PodFact) -> list[str]:
    """Return the nodes on which a DaemonSet has a pod, whatever room they have."""
    return [
        name
        for name in sorted(inventory.world.nodes, key=natural)
        if not rejections(pod, inventory.world.nodes[name], Load(), {})
    ]


def _place_one(
    room: PlacementRoom, placement: Placement, pod: PodFact, name: str, only: str = ""
) -> bool:
    found = room.subject(pod, name)
    if found.stopped:
        return False
    extended = Extended(room.cluster, found)
    if _stops(room, pod, extended):
        return False
    for node in room.nodes(pod):
        if only and node.node.name != only:
            continue
        need = extended.requests(node)
        subject = named(extended.subject(node), name)
        outcome = None
        if not rejections(pod, node, room.load, need) and room.serves_shared(pod, node.node):
            outcome = allocate(
                node.node.name, subject.claims, room.cluster, budget=BUDGET, share_ids=room.share_id
            )
        if isinstance(outcome, Allocated):
            placement.devices[name] = room.take(subject, outcome, node.node.name, need)
            placement.nodes[node.node.name].append(name)
            return True
        room.full[pod.key].add(node.node.name)
    return False


def _stops(room: PlacementRoom, pod: PodFact, extended: Extended) -> bool:
    """Whether a node stops the scheduler, which looks at others beside the one that it takes."""
    for node in room.unchecked(pod):
        if not rejections(pod, node, room.load, extended.requests(node)):
            claims = extended.subject(node).claims
            if isinstance(
                allocate(node.node.name, claims, room.cluster, budget=BUDGET), FatalError
            ):
                return True
        room.checked[pod.key].add(node.node.name)
    return False


def _with_idle_claims_freed(inventory: Inventory, pod: PodFact) -> Inventory:
    """Return the inventory once the scheduler has deallocated claims that the pod cannot use."""
    subject = of_pod(inventory.world, pod, planned=True)
    names = explain(inventory, subject).deallocated if subject.allocated else ()
    if not names:
        return inventory
    claims = dict(inventory.world.claims)
    for one in subject.allocated:
        if one.name in names:
            claims[one.key] = replace(one, held=None, consumers=())
    return take(replace(inventory.world, claims=claims), inventory.profile)


def _why(room: PlacementRoom, pod: PodFact) -> Explanation:
    """Explain the refusal against what is left."""
    subject = room.subject(pod, pod.pod.metadata.name)
    before = explain(room.inventory, subject, cluster=room.cluster)
    extended = Extended(room.cluster, subject)
    filtered = {
        name: lacks(pod, node, room.load, extended.requests(node))
        for name, node in room.inventory.world.nodes.items()
    }
    nodes = [_filtered(one, filtered[one.node]) for one in before.nodes]
    if before.answer is Answer.NEVER_FITS:
        return replace(before, nodes=tuple(nodes))
    return replace(conclude(subject, nodes), undecided=before.undecided, hints=before.hints)


def _filtered(node: NodeAnswer, lacking: tuple[Lack, ...]) -> NodeAnswer:
    return replace(node, lacks=lacking) if lacking else node


def largest(inventory: Inventory, pod: PodFact) -> int:
    """Return the most devices that one claim like the pod's first can still have on one node.

    The counts of its first request are tried upwards; requests for all devices have no count.
    """
    subject = of_pod(inventory.world, pod, planned=True)
    if not subject.wanted or subject.stopped:
        return 0
    claim = subject.wanted[0].claim
    room = PlacementRoom.of(inventory)
    extended = Extended(room.cluster, subject)
    nodes = [
        one
        for one in room.nodes(pod)
        if not rejections(pod, one, room.load, extended.requests(one))
    ]
    best = 0
    # A node that has too few devices has too few for a larger claim.
    while nodes and best < LARGEST:
        bigger = _with_count(claim, best + 1)
        nodes = [one for one in nodes if bigger and _serves(room.cluster, one, bigger)]
        best += bool(nodes)
    return best


def _serves(cluster: Cluster, node: NodeFact, claim: Claim) -> bool:
    return isinstance(allocate(node.node.name, (claim,), cluster, budget=BUDGET), Allocated)


def _with_count(claim: Claim, count: int) -> Claim | None:
    """Return the claim with another count in its first request; None where that has none."""
    first = next(iter(claim.spec.requests), None)
    if first is None or first.exactly is None:
        return None
    exactly = replace(first.exactly, mode="ExactCount", count=count)
    more = (replace(first, exactly=exactly), *claim.spec.requests[1:])
    return replace(claim, spec=replace(claim.spec, requests=more))
