"""Place pods one after the other, and say where they fit.

Nodes are filled in the order of their names: which node wins is decided by the scheduler's scores,
which are not computed. For devices that belong to one node this does not change how many fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from dragoman.allocation import Allocated, Claim, Cluster, FatalError, Node, allocate, parse_claim
from dragoman.allocation.extendedresources import NAME as EXTENDED
from dragoman.allocation.pools.nodeselector import NodeSelectorError, matches
from dragoman.diagnosis.answers import Explanation, NodeAnswer
from dragoman.diagnosis.explain import BUDGET, cluster_of, conclude, explain
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import Load, rejections
from dragoman.diagnosis.subject import Subject, Wanted, of_pod
from dragoman.inventory.facts import PodFact
from dragoman.inventory.inventory import Inventory

MOST: Final = 10_000
"""Pods of one answer."""
CONSUMERS: Final = 256
"""Pods that can share one claim (API: ResourceClaimReservedForMaxSize)."""

Progress = Callable[[str, int], None]


@dataclass(slots=True)
class Placement:
    """Where pods fit.

    Attributes:
        nodes: Names of the pods by node, in the order of placing.
        refused: Pods that fit nowhere.
        devices: Names of the devices, by pod.
        why: Why the first refused pod fits nowhere; None where all fit.
    """

    nodes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    refused: list[str] = field(default_factory=list)
    devices: dict[str, list[str]] = field(default_factory=dict)
    why: Explanation | None = None

    @property
    def placed(self) -> int:
        """How many pods fit."""
        return sum(map(len, self.nodes.values()))


@dataclass(slots=True)
class _Room:
    """A cluster while pods are placed.

    Attributes:
        inventory: How it was before.
        cluster: Devices and what claims hold.
        load: Other resources.
        shared: Claims of pods' own names that were allocated on the way, by `namespace/name`.
    """

    inventory: Inventory
    cluster: Cluster
    load: Load
    shared: dict[str, tuple[Claim, int]] = field(default_factory=dict)
    shares: int = 0

    def share_id(self) -> str:
        """Return a new ID for a share of a device."""
        self.shares += 1
        return f"00000000-0000-4000-8000-{self.shares:012x}"


def place(
    inventory: Inventory,
    pod: PodFact,
    replicas: int,
    *,
    fill: bool = False,
    progress: Progress = lambda thing, count: None,  # noqa: ARG005 — nothing is reported
) -> Placement:
    """Place copies of a pod.

    Args:
        inventory: The cluster.
        pod: What is placed; each copy gets its own claims from templates.
        replicas: How many copies; with `fill` the most that are tried.
        fill: Whether the first refusal ends it, and is not counted as one.
        progress: Called with "pods" and how many were placed.
    """
    room = _Room(inventory, cluster_of(inventory), Load.of(inventory.world.pods.values()))
    placement = Placement()
    # Once a copy fits nowhere, no later one does: nothing comes free on the way.
    refused = False
    for number in range(min(replicas, MOST)):
        name = f"{pod.pod.metadata.name}-{number}"
        if refused or not _place_one(room, placement, pod, name):
            refused = True
            if fill:
                break
            placement.refused.append(name)
        progress("pods", number + 1)
    if refused:
        placement.why = _why(room, pod)
    return placement


def _place_one(room: _Room, placement: Placement, pod: PodFact, name: str) -> bool:
    subject = _subject(room, pod, name)
    if subject.stopped:
        return False
    extended = Extended(room.cluster, subject)
    for node in sorted(room.inventory.world.nodes):
        fact = room.inventory.world.nodes[node]
        need = extended.requests(fact)
        if rejections(pod.document, fact, room.load, need):
            continue
        subject = _named(extended.subject(fact), name)
        if not _shared_here(room, pod, fact.node):
            continue
        outcome = allocate(
            node, subject.claims, room.cluster, budget=BUDGET, share_ids=room.share_id
        )
        if isinstance(outcome, FatalError):
            return False
        if isinstance(outcome, Allocated):
            _take(room, subject, outcome, placement, name)
            room.load.add(node, need)
            placement.nodes[node].append(name)
            return True
    return False


def _subject(room: _Room, pod: PodFact, name: str) -> Subject:
    """Return what a copy requests: new claims from templates, its own ones until allocated."""
    found = of_pod(room.inventory.world, pod, planned=True)
    wanted = []
    for one in found.wanted:
        if one.template:
            made = replace(one.claim, name=f"{name}-{one.entry}")
            wanted.append(Wanted(made, one.entry, one.template))
        elif one.claim.key not in room.shared:
            wanted.append(one)
    return replace(found, wanted=tuple(wanted))


def _named(subject: Subject, name: str) -> Subject:
    """Give the claim for extended resources a name of the copy, so that each keeps its own."""
    wanted = (
        replace(one, claim=replace(one.claim, name=f"{name}-extended-resources"))
        if one.claim.name == EXTENDED
        else one
        for one in subject.wanted
    )
    return replace(subject, wanted=tuple(wanted))


def _shared_here(room: _Room, pod: PodFact, node: Node) -> bool:
    """Whether claims that copies share can be used on a node, and by one pod more."""
    namespace = pod.pod.metadata.namespace
    for entry in pod.pod.entries:
        key = f"{namespace}/{entry.claim_name}"
        shared = room.shared.get(key)
        fact = room.inventory.world.claims.get(key)
        users = 0
        if shared is not None:
            claim, users = shared
        elif fact is not None and fact.devices.held is not None:
            claim, users = fact.devices, len(fact.claim.consumers)
        else:
            continue
        selector = claim.held.node_selector if claim.held else None
        try:
            if selector is not None and not matches(selector, node):
                return False
        except NodeSelectorError:
            return False
        if users >= CONSUMERS:
            return False
    return True


def _take(
    room: _Room, subject: Subject, outcome: Allocated, placement: Placement, name: str
) -> None:
    devices: list[str] = []
    for wanted, made in zip(subject.wanted, outcome.allocations, strict=True):
        document = {
            "metadata": {"name": wanted.claim.name, "namespace": wanted.claim.namespace},
            "status": {"allocation": made.document()},
        }
        claim = replace(wanted.claim, held=parse_claim(document).held)
        room.cluster.put_claim(claim)
        devices += [f"{one.driver}/{one.pool}/{one.device}" for one in made.devices]
        if not wanted.template and wanted.claim.key in room.inventory.world.claims:
            room.shared[claim.key] = (claim, 0)
    for entry in subject.pod.pod.entries:
        key = f"{subject.pod.pod.metadata.namespace}/{entry.claim_name}"
        if key in room.shared:
            claim, users = room.shared[key]
            room.shared[key] = (claim, users + 1)
    placement.devices[name] = devices


def _why(room: _Room, pod: PodFact) -> Explanation:
    """Explain the refusal against what is left."""
    subject = _subject(room, pod, pod.pod.metadata.name)
    before = explain(room.inventory, subject, cluster=room.cluster)
    extended = Extended(room.cluster, subject)
    filtered = {
        name: rejections(pod.document, node, room.load, extended.requests(node))
        for name, node in room.inventory.world.nodes.items()
    }
    nodes = [_filtered(one, filtered[one.node]) for one in before.nodes]
    return conclude(subject, nodes)


def _filtered(node: NodeAnswer, reasons: tuple[str, ...]) -> NodeAnswer:
    return replace(node, filtered=reasons) if reasons else node


def largest(inventory: Inventory, pod: PodFact) -> int:
    """Return the most devices that one claim like the pod's first can still have on one node.

    The counts of its first request are tried upwards; requests for all devices have no count.
    """
    subject = of_pod(inventory.world, pod, planned=True)
    if not subject.wanted or subject.stopped:
        return 0
    claim = subject.wanted[0].claim
    if not claim.spec.requests or claim.spec.requests[0].exactly is None:
        return 0
    cluster = cluster_of(inventory)
    best = 0
    for count in _counts():
        first = claim.spec.requests[0]
        assert first.exactly is not None  # checked above
        request = replace(first.exactly, mode="ExactCount", count=count)
        more = (replace(first, exactly=request), *claim.spec.requests[1:])
        bigger = replace(claim, spec=replace(claim.spec, requests=more))
        if not any(
            isinstance(allocate(node, (bigger,), cluster, budget=BUDGET), Allocated)
            for node in inventory.world.nodes
        ):
            break
        best = count
    return best


def _counts() -> Iterator[int]:
    """Yield the counts that a claim can have."""
    yield from range(1, 33)
