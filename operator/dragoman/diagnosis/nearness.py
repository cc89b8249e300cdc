"""What one node lacks for a pod, and how near it is: by changes, then by missing devices.

A change is the end of a holder, a toleration, a complete pool, or a node that is well again. The
number is a bound: it is counted from the reasons, without a search. Only reasons of devices that
the selectors of a request admit count: what happens to others changes nothing for the pod.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from dragoman.allocation import (
    Allocated,
    Code,
    DoesNotFit,
    FatalError,
    NodeError,
    Outcome,
    Reason,
)
from dragoman.diagnosis.filters import AFFINITY, NODE_NAME, TAINT, UNSCHEDULABLE, Lack, messages
from dragoman.model.fields import NOTHING

UNSELECTED = frozenset({Code.SELECTOR_REJECTED, Code.NODE_MISMATCH, Code.CEL_ERROR})
"""Why a device is none that a request means."""
POOLS = (Code.POOL_INCOMPLETE, Code.POOL_INVALID, Code.POOL_OBSOLETE)
"""What is wrong with a pool, in the order in which it is said."""
NEVER = 1_000
"""Changes of a node that none of these changes suffices for."""
FEW = 12
"""Changes of one node of which combinations are tried."""
_HELD = frozenset({Code.DEVICE_IN_USE, Code.CAPACITY_EXCEEDED, Code.COUNTERS_EXCEEDED})


CANNOT = "cannot allocate all claims"
NOT_HERE = "resourceclaim not available on the node"
BINDING = frozenset({Code.BINDING_PENDING, Code.BINDING_FAILED, Code.BINDING_TIMEOUT})
"""Reasons about devices of allocated claims that drivers make ready before the pod is bound."""


class Distance(NamedTuple):
    """What a node lacks; the smaller comes first."""

    changes: int  # At least
    short: int  # Devices


FAR = Distance(NEVER, 0)
"""Of a node that none of these changes helps."""


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


def measured(node: NodeAnswer) -> Distance:
    """Return how near a node is; `NodeAnswer.distance` remembers it."""
    if node.fits:
        return Distance(0, 0)
    if node.excluded or node.unavailable:
        return FAR
    around = sum(one.message in (TAINT, UNSCHEDULABLE) for one in node.lacks)
    # A pod that ends may free both room and devices.
    room = any(one.wanted for one in node.lacks)
    if node.has_devices:
        return Distance(around + room, 0)
    if isinstance(node.outcome, FatalError):
        return Distance(NEVER, 0)
    short = short_of(node)
    pools = sum(one.code in POOLS for one in node.others)
    groups = [one for one in short if not one.requests[0].alternative]
    others = [_changes(one, pools) for one in short if one.requests[0].alternative]
    changes = sum(_changes(one, pools) for one in groups) + (0 if groups else min(others or [1]))
    return Distance(min(around + max(changes, room), NEVER), node.short)


def nearest(
    nodes: Iterable[NodeAnswer], known: Mapping[str, Distance] = NOTHING
) -> list[NodeAnswer]:
    """Return the nodes of the least distance; none where no change helps any of them.

    Args:
        nodes: All of them.
        known: Distances that searches have found, by node; of others their reasons are counted.
    """
    found: list[NodeAnswer] = []
    least = FAR
    for one in nodes:
        here = known.get(one.node) or one.distance
        if here < least:
            found, least = [one], here
        elif here == least and least < FAR:
            found.append(one)
    return found


def of_fewest_changes(
    nodes: Sequence[NodeAnswer], known: Mapping[str, Distance] = NOTHING
) -> list[NodeAnswer]:
    """Return the nodes that lack the fewest changes, however many devices they lack."""
    near = nearest(nodes, known)
    if not near:
        return []
    least = (known.get(near[0].node) or near[0].distance).changes
    return [one for one in nodes if (known.get(one.node) or one.distance).changes == least]


def short_of(node: NodeAnswer) -> tuple[Rivals, ...]:
    """Return the requests that find too few devices, those that want the same ones as one."""
    return tuple(one for one in node.rivals if one.short)


def has_matching(node: NodeAnswer) -> bool:
    """Tell whether a node has a device that some request means, or may have one in its pools."""
    found = any(one.free or one.matching for one in node.requests)
    return found or any(one.code in POOLS for one in node.others)


def _changes(short: Rivals, pools: int) -> int:
    """Count the changes after which requests may find enough devices, at least."""
    found = [_needed(one) for one in {one.device: one for one in _of(short.requests)}.values()]
    least = _least([one for one in found if one], short.short)
    return min(least, NEVER) if least < NEVER else min(pools, 1) or NEVER


def _least(devices: list[tuple[frozenset[object], ...]], missing: int) -> int:
    """Return the fewest changes that free as many devices as are missing.

    Args:
        devices: The changes that each device needs: of each set one.
        missing: How many devices are lacking, at least one.
    """
    if len(devices) < missing:
        return NEVER
    gains = Counter(change for one in devices for any_of in one for change in any_of)
    if any(len(one) > 1 for one in devices) and len(gains) <= FEW:
        for many in (1, 2, 3):
            for chosen in combinations(gains, many):
                freed = sum(all(not any_of.isdisjoint(chosen) for any_of in one) for one in devices)
                if freed >= missing:
                    return many
        return 4
    changes = 0
    for _, many in gains.most_common():
        missing, changes = missing - many, changes + 1
        if missing <= 0:
            break
    return changes


def _of(requests: Iterable[RequestAnswer]) -> Iterator[Reason]:
    for one in requests:
        yield from one.matching


def _needed(reason: Reason) -> tuple[frozenset[object], ...]:
    """Return the changes that free a device, of each set one; nothing where none does."""
    details = reason.details
    taints = details.get("taints") or ()
    if reason.code in _HELD and details.get("holders"):
        held: tuple[frozenset[object], ...] = (frozenset(details["holders"]),)
    elif reason.code is Code.TAINT_NOT_TOLERATED:
        held = ()
    else:
        return ()
    if not taints:
        return held
    return (*held, *(frozenset((taint_key(one),)) for one in taints))


def taint_key(printed: str) -> str:
    """Return the key of a taint that is printed as `key=value:effect`."""
    return printed.rpartition(":")[0].partition("=")[0]
