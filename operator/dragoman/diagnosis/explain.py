"""Why a pod has no devices: every node with its causes, and what the scheduler does about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from dragoman.allocation import (
    Allocated,
    BudgetExceeded,
    Claim,
    Cluster,
    Code,
    FatalError,
    NodeError,
    NodeSelectorError,
    Outcome,
    Reason,
    allocate,
    class_of,
    extended_resources,
)
from dragoman.allocation import explain as reasons_of
from dragoman.allocation.facts.claims import ExactRequest
from dragoman.allocation.pools.nodeselector import matches
from dragoman.diagnosis.filters import Load, rejections, requests
from dragoman.diagnosis.subject import Subject, Wanted
from dragoman.inventory.facts import ClaimFact, NodeFact
from dragoman.inventory.inventory import Inventory

BUDGET: Final = 300_000
"""Steps of one search: about a second. The scheduler itself manages 9,000,000 in its 10 s."""
CANNOT: Final = "cannot allocate all claims"
NOT_HERE: Final = "resourceclaim not available on the node"

Progress = Callable[[str, int], None]


class Answer(StrEnum):
    """What is said about a pod as a whole."""

    FITS = "Fits"
    """At least one node can serve it."""
    DOES_NOT_FIT = "DoesNotFit"
    """Every node lacks something."""
    STOPPED = "Stopped"
    """The scheduler ends at the pod before it chooses a node."""
    ALLOCATED = "Allocated"
    """The pod has its devices, and a node."""
    UNKNOWN = "Unknown"
    """The search is too large."""


_UNSELECTED: Final = frozenset({Code.SELECTOR_REJECTED, Code.NODE_MISMATCH})
"""Reasons why a request for all devices does not mean a device."""


@dataclass(frozen=True, slots=True)
class RequestAnswer:
    """One request, or subrequest, on one node.

    Attributes:
        claim: `namespace/name` of the claim.
        name: `request` or `request/subrequest`.
        wanted: Devices that it needs; for allocationMode All as many as its selectors match.
        free: Devices of the node that nothing keeps away.
        reasons: One for each other device.
        alternative: Whether another subrequest can take its place.
    """

    claim: str
    name: str
    wanted: int
    free: int
    reasons: tuple[Reason, ...] = ()
    alternative: bool = False

    @property
    def short(self) -> int:
        """Devices that are missing; 0 where there are enough."""
        return max(self.wanted - self.free, 0)

    @property
    def devices(self) -> int:
        """Devices that were looked at."""
        return self.free + len(self.reasons)


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """One node.

    Attributes:
        node: Its name.
        filtered: Why the scheduler leaves the node out before it looks at devices.
        outcome: What the allocator says; None where it was not asked.
        pinned: Allocated claims of the pod that cannot be used on the node.
        requests: Requests with their devices; only where the allocator found no solution.
        others: Reasons about pools, the node, or all requests.
    """

    node: str
    filtered: tuple[str, ...] = ()
    outcome: Outcome | None = None
    pinned: tuple[str, ...] = ()
    requests: tuple[RequestAnswer, ...] = ()
    others: tuple[Reason, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the pod can run there."""
        return not self.filtered and self.has_devices

    @property
    def has_devices(self) -> bool:
        """Whether the devices are there, whatever other filters say."""
        return isinstance(self.outcome, Allocated) and not self.pinned

    @property
    def short(self) -> int:
        """Devices that are missing in all; 0 where something else is the matter."""
        return sum(one.short for one in self.requests if not one.alternative)

    @property
    def refusals(self) -> tuple[str, ...]:
        """The scheduler's reasons for the node, as it counts them in its message."""
        if self.filtered:
            return self.filtered
        if isinstance(self.outcome, NodeError):
            return (self.outcome.message,)
        if not isinstance(self.outcome, Allocated):
            return (CANNOT,)
        return (NOT_HERE,) if self.pinned else ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pod has no devices, or where it would get them.

    Attributes:
        subject: The pod and its claims.
        answer: In one word.
        nodes: In the order of their names.
        fatals: Errors of nodes that stop the pod on all of them; the scheduler reports the one
            that it meets first, and it looks at nodes in parallel.
    """

    subject: Subject
    answer: Answer
    nodes: tuple[NodeAnswer, ...] = ()
    fatals: tuple[str, ...] = ()

    @property
    def fitting(self) -> tuple[str, ...]:
        """Nodes where the pod can run."""
        return tuple(one.node for one in self.nodes if one.fits)


def cluster_of(inventory: Inventory) -> Cluster:
    """Return what the allocator decides on."""
    world = inventory.world
    return Cluster(
        inventory.profile,
        nodes=(one.node for one in world.nodes.values()),
        slices=(one.slice for one in world.slices),
        classes=world.classes.values(),
        claims=(one.devices for one in world.claims.values()),
        taint_rules=world.rules,
    )


def explain(
    inventory: Inventory,
    subject: Subject,
    *,
    cluster: Cluster | None = None,
    only: str = "",
    progress: Progress = lambda thing, count: None,  # noqa: ARG005 — nothing is reported
) -> Explanation:
    """Find out why a pod has no devices.

    Args:
        inventory: What is known.
        subject: The pod and its claims.
        cluster: From `cluster_of`; made where absent.
        only: A node, where others are of no interest.
        progress: Called with "nodes" and how many were looked at.
    """
    if subject.pod.pod.node_name and not subject.wanted:
        return Explanation(subject, Answer.ALLOCATED)
    cluster = cluster or cluster_of(inventory)
    load = Load.of(inventory.world.pods.values())
    extended = Extended(cluster, subject)
    found: list[NodeAnswer] = []
    for name in sorted(inventory.world.nodes):
        if only in ("", name):
            node = inventory.world.nodes[name]
            rejected = rejections(subject.pod.document, node, load, extended.requests(node))
            found.append(node_answer(cluster, extended.subject(node), node, rejected))
            progress("nodes", len(found))
    return conclude(extended.shown, found)


class Extended:
    """The claim for a pod's extended resources, which depends on what a node's plugins publish.

    Attributes:
        shown: The subject with the claim that any node needs.
    """

    def __init__(self, cluster: Cluster, subject: Subject) -> None:
        self.shown = subject
        self._cluster = cluster
        self._subject = subject
        self._need = requests(subject.pod.document)
        on = cluster.profile.extended_resources
        self._served = {name for name in self._need if on and class_of(name, cluster.classes)}
        self._subjects: dict[frozenset[str], Subject] = {frozenset(): subject}

    def requests(self, node: NodeFact) -> dict[str, int]:
        """Return what a node itself has to provide; classes serve the rest."""
        served = self._by_classes(node)
        return {name: need for name, need in self._need.items() if name not in served}

    def subject(self, node: NodeFact) -> Subject:
        """Return the subject with the claim that the node needs; nodes alike share it."""
        served = self._by_classes(node)
        found = self._subjects.get(served)
        if found is None:
            claim = extended_resources(self._subject.pod.document, node.node, self._cluster).claim
            found = self._subject
            if claim is not None:
                wanted = (*found.wanted, Wanted(claim, "extended resources"))
                found = self.shown = replace(found, wanted=wanted)
            self._subjects[served] = found
        return found

    def _by_classes(self, node: NodeFact) -> frozenset[str]:
        return frozenset(name for name in self._served if not node.node.allocatable.get(name))


def uses_extended_resources(cluster: Cluster, subject: Subject) -> bool:
    """Whether a DeviceClass may serve a resource that the pod's containers ask for."""
    return bool(Extended(cluster, subject)._served)  # noqa: SLF001 — of this module


def node_answer(
    cluster: Cluster, subject: Subject, node: NodeFact, rejected: tuple[str, ...] = ()
) -> NodeAnswer:
    """Look at one node.

    Args:
        cluster: What is there.
        subject: The pod and its claims.
        node: The node.
        rejected: What `filters.rejections` says.
    """
    name = node.node.name
    outcome = allocate(name, subject.claims, cluster, budget=BUDGET)
    pinned = tuple(_pinned(subject.allocated, node))
    if rejected or isinstance(outcome, Allocated):
        return NodeAnswer(name, rejected, outcome, pinned)
    found = reasons_of(name, subject.claims, cluster, outcome)
    reasons = tuple(_reached(cluster, one) for one in found)
    total = sum(len(pool.contents) for pool in cluster.node_pools(name).pools)
    return NodeAnswer(
        node=name,
        outcome=outcome,
        pinned=pinned,
        requests=tuple(_requests(subject.claims, reasons, total)),
        others=tuple(one for one in reasons if one.device is None),
    )


def _reached(cluster: Cluster, reason: Reason) -> Reason:
    """Return that a device is in use where its selector fails: no search evaluates it then."""
    if reason.code is not Code.CEL_ERROR or reason.device is None:
        return reason
    holders = tuple(one.claim for one in cluster.holders(reason.device))
    if not holders:
        return reason
    return reason._replace(code=Code.DEVICE_IN_USE, details={"holders": holders})


def _requests(
    claims: Iterable[Claim], reasons: Iterable[Reason], total: int
) -> Iterator[RequestAnswer]:
    found: dict[tuple[str, str], list[Reason]] = {}
    for reason in reasons:
        if reason.device is not None:
            found.setdefault((reason.claim, reason.request), []).append(reason)
    for claim in claims:
        for name, ask, alternative in asks(claim):
            kept_away = tuple(found.get((claim.key, name), ()))
            wanted = ask.count
            if ask.mode == "All":
                unselected = sum(one.code in _UNSELECTED for one in kept_away)
                wanted = max(total - unselected, 1)
            free = total - len(kept_away)
            yield RequestAnswer(claim.key, name, wanted, free, kept_away, alternative)


def asks(claim: Claim) -> Iterator[tuple[str, ExactRequest, bool]]:
    """Yield what a claim asks for: the full name, the ask, whether it is an alternative."""
    for request in claim.spec.requests:
        if request.exactly is not None:
            yield request.name, request.exactly, False
        for ask in request.first_available:
            yield f"{request.name}/{ask.name}", ask, True


def _pinned(claims: Iterable[ClaimFact], node: NodeFact) -> Iterable[str]:
    """Yield allocated claims that cannot be used on a node."""
    for claim in claims:
        selector = claim.devices.held.node_selector if claim.devices.held else None
        if selector is None:
            continue
        try:
            usable = matches(selector, node.node)
        except NodeSelectorError:
            usable = False
        if not usable:
            yield claim.devices.name


def conclude(subject: Subject, nodes: Sequence[NodeAnswer]) -> Explanation:
    """Say in one word what the nodes mean for the pod."""
    looked = [one for one in nodes if not one.filtered]
    found = (one.outcome.message for one in looked if isinstance(one.outcome, FatalError))
    fatals = tuple(dict.fromkeys(found))
    if subject.stopped or fatals:
        answer = Answer.STOPPED
    elif any(one.fits for one in nodes):
        answer = Answer.FITS
    elif any(_too_large(one) for one in looked):
        answer = Answer.UNKNOWN
    else:
        answer = Answer.DOES_NOT_FIT
    return Explanation(subject, answer, tuple(nodes), fatals)


def _too_large(node: NodeAnswer) -> bool:
    """Whether neither the search nor counting says that a node cannot serve the pod."""
    return isinstance(node.outcome, BudgetExceeded) and node.short == 0


def times_out(explanation: Explanation) -> bool:
    """Whether the scheduler's own search may run into its time-out of 10 s."""
    return any(isinstance(one.outcome, BudgetExceeded) for one in explanation.nodes)


def scheduler_message(explanation: Explanation) -> str:
    """Rebuild the scheduler's message up to its words about preemption.

    Source: FitError of kube-scheduler: reasons with their counts, sorted as text.
    """
    counts: dict[str, int] = {}
    for node in explanation.nodes:
        for reason in node.refusals:
            counts[reason] = counts.get(reason, 0) + 1
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    total = len(explanation.nodes)
    return f"0/{total} nodes are available: {listed}."
