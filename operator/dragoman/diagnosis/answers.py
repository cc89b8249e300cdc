"""What is said about a pod: as a whole, on each node, of each request."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from dragoman.allocation import (
    Allocated,
    BudgetExceeded,
    Code,
    DoesNotFit,
    NodeError,
    Outcome,
    Reason,
)
from dragoman.diagnosis.filters import AFFINITY, NODE_NAME, Lack, messages
from dragoman.diagnosis.nearness import UNSELECTED, Distance, measured
from dragoman.diagnosis.subject import Subject

CANNOT = "cannot allocate all claims"
NOT_HERE = "resourceclaim not available on the node"
BINDING = frozenset({Code.BINDING_PENDING, Code.BINDING_FAILED, Code.BINDING_TIMEOUT})
"""Reasons about devices of allocated claims that drivers make ready before the pod is bound."""


class Answer(StrEnum):
    """What is said about a pod as a whole."""

    FITS = "Fits"
    """At least one node can serve it."""
    DOES_NOT_FIT = "DoesNotFit"
    """Every node lacks something."""
    NEVER_FITS = "NeverFits"
    """No node could serve it with all devices free, healthy and complete."""
    STOPPED = "Stopped"
    """The scheduler ends at the pod before it chooses a node."""
    ALLOCATED = "Allocated"
    """The pod has its devices, and a node."""
    UNKNOWN = "Unknown"
    """The search is too large, or takes too long."""


@dataclass(frozen=True)
class RequestAnswer:
    """One request, or subrequest, on one node."""

    claim: str  # `namespace/name` of the claim
    name: str  # `request` or `request/subrequest`
    wanted: int  # Devices that it needs; for allocationMode All as many as its selectors match
    free: int  # Devices of the node that nothing keeps away
    reasons: tuple[Reason, ...] = ()  # One for each other device
    alternative: bool = False  # Whether another subrequest can take its place
    exclusive: bool = True  # Whether a device that serves it serves no other request

    @cached_property
    def matching(self) -> tuple[Reason, ...]:
        """What keeps away the devices that the selectors admit."""
        return tuple(one for one in self.reasons if one.code not in UNSELECTED)

    @property
    def short(self) -> int:
        """Devices that are missing; 0 where there are enough."""
        return max(self.wanted - self.free, 0)

    @property
    def devices(self) -> int:
        """Devices that were looked at."""
        return self.free + len(self.reasons)


@dataclass(frozen=True, slots=True)
class Rivals:
    """Requests that want the same devices of one node, or one request alone."""

    requests: tuple[RequestAnswer, ...]  # At least one
    free: int  # Devices that nothing but these requests keeps away

    @property
    def wanted(self) -> int:
        """Devices that the requests need together."""
        return sum(one.wanted for one in self.requests)

    @property
    def short(self) -> int:
        """Devices that are missing; 0 where there are enough."""
        return max(self.wanted - self.free, 0)


def rivals(requests: Sequence[RequestAnswer]) -> tuple[Rivals, ...]:
    """Group requests of one node by the devices that they want.

    Requests of different devices are one group where only all of them together find too few.
    Alternatives, and requests whose devices can be shared, stand alone.
    """
    if len(requests) < 2:
        return tuple(Rivals((one,), one.free) for one in requests)
    groups: dict[object, list[RequestAnswer]] = {}
    for one in requests:
        alone = one.alternative or not one.exclusive or not one.devices
        kept_away = (one.claim, one.name) if alone else frozenset(map(_obstacle, one.reasons))
        groups.setdefault(kept_away, []).append(one)
    found = tuple(Rivals(tuple(group), group[0].free) for group in groups.values())
    if any(one.short for one in found):
        return found
    every = _all_together(tuple(one for one in requests if one.exclusive and not one.alternative))
    return (every,) if every.short else found


def _obstacle(reason: Reason) -> tuple[object, ...]:
    details = reason.details
    return (reason.device, reason.code, details.get("origin"), details.get("index"))


def _all_together(requests: tuple[RequestAnswer, ...]) -> Rivals:
    """Return what requests want together: a device is kept away where it is from all of them."""
    kept_away = [{reason.device for reason in one.reasons} for one in requests]
    devices = requests[0].devices if requests else 0
    return Rivals(requests, devices - len(set.intersection(*kept_away)) if requests else 0)


@dataclass(frozen=True)
class NodeAnswer:
    """One node."""

    node: str  # Its name
    # Why the scheduler leaves the node out before it looks at devices
    lacks: tuple[Lack, ...] = ()
    outcome: Outcome | None = None  # What the allocator says; None where it was not called
    pinned: tuple[str, ...] = ()  # Allocated claims of the pod that cannot be used on the node
    # Requests with their devices; only where the allocator found no solution, on a node that may
    # become one for the pod
    requests: tuple[RequestAnswer, ...] = ()
    # Reasons about pools, the node, all requests, or claims that are allocated
    others: tuple[Reason, ...] = ()

    @property
    def filtered(self) -> tuple[str, ...]:
        """Why the scheduler leaves the node out, in its words."""
        return messages(self.lacks) if self.lacks else ()

    @property
    def fits(self) -> bool:
        """Whether the pod can run there."""
        return not self.lacks and self.has_devices

    @cached_property
    def rivals(self) -> tuple[Rivals, ...]:
        """The requests, those that want the same devices as one."""
        return rivals(self.requests)

    @cached_property
    def distance(self) -> Distance:
        """How near the node is to serving the pod, counted from the reasons."""
        return measured(self)

    @property
    def excluded(self) -> bool:
        """Whether nothing that comes and goes makes the node one for the pod."""
        return any(
            one.message in (AFFINITY, NODE_NAME) or one.wanted > one.most for one in self.lacks
        )

    @property
    def has_devices(self) -> bool:
        """Whether the devices are there, whatever other filters say."""
        return isinstance(self.outcome, Allocated) and not self.pinned

    @property
    def unready(self) -> tuple[Reason, ...]:
        """Why devices of the pod's allocated claims are not ready."""
        return tuple(one for one in self.others if one.code in BINDING)

    @property
    def unavailable(self) -> bool:
        """Whether a claim that is allocated already cannot be used on the node."""
        if self.pinned:
            return True
        return isinstance(self.outcome, DoesNotFit) and self.outcome.message == NOT_HERE

    @property
    def short(self) -> int:
        """Devices that are missing in all; 0 where something else is the matter."""
        return sum(one.short for one in self.rivals if not one.requests[0].alternative)

    @property
    def refusals(self) -> tuple[str, ...]:
        """The scheduler's reasons for the node, as it counts them in its message."""
        if self.lacks:
            return self.filtered
        if isinstance(self.outcome, (NodeError, DoesNotFit)):
            return (self.outcome.message,)
        return () if isinstance(self.outcome, Allocated) else (CANNOT,)


DEVICES = "Devices"
"""The kind of a cause that has to do with devices."""


class Hint(NamedTuple):
    """A name or value that may be a slip of the pen, and what was probably meant."""

    text: str  # In words, with what is wrong
    written: str = ""  # The name or value; empty where nothing is known that would help
    meant: str = ""  # What it is to be replaced by
    old: str = ""  # The conjunct, or attribute of a constraint, in which it stands
    new: str = ""  # The same with what was meant


class Cause(NamedTuple):
    """Why no node can ever serve a pod."""

    kind: str  # `Devices`, `NodeResources` or `NodeSelector`
    text: str  # In words, to follow a colon


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pod has no devices, or where it would get them."""

    subject: Subject  # The pod and its claims
    answer: Answer  # In one word
    nodes: tuple[NodeAnswer, ...] = ()  # In the order of their names
    # Errors of nodes that stop the pod on all of them; the scheduler reports the one that it meets
    # first, and it looks at nodes in parallel
    fatals: tuple[str, ...] = ()
    expensive: bool = False  # Whether the time for the answer ended before all nodes were looked at
    # Allocated claims of the pod, by name, that the scheduler deallocates first
    deallocated: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()  # Why it never fits; empty for every other answer
    # Pools whose missing slices decide whether the pod can ever fit, as `driver/pool`
    undecided: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()  # Probable slips in what it requests

    @property
    def waits(self) -> bool:
        """Whether nodes were looked at and none serves the pod."""
        return self.answer in (Answer.DOES_NOT_FIT, Answer.NEVER_FITS)

    @property
    def fitting(self) -> tuple[str, ...]:
        """Nodes where the pod can run; none where the scheduler stops at the pod."""
        if self.answer is not Answer.FITS:
            return ()
        return tuple(one.node for one in self.nodes if one.fits)


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
