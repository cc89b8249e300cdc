"""How near a node is to serving a pod: the changes that it lacks, then its missing devices.

A change is the end of a holder, a toleration, a complete pool, or a node that is well again. The
number is a bound: it is counted from the reasons, without a search. Only reasons of devices that
the selectors of a request admit count: what happens to others changes nothing for the pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from dragoman.allocation import Code, FatalError, Reason
from dragoman.diagnosis.filters import TAINT, UNSCHEDULABLE
from dragoman.model.fields import NOTHING

if TYPE_CHECKING:
    from dragoman.diagnosis.answers import NodeAnswer, RequestAnswer, Rivals

UNSELECTED = frozenset({Code.SELECTOR_REJECTED, Code.NODE_MISMATCH, Code.CEL_ERROR})
"""Why a device is none that a request means."""
POOLS = (Code.POOL_INCOMPLETE, Code.POOL_INVALID, Code.POOL_OBSOLETE)
"""What is wrong with a pool, in the order in which it is said."""
NEVER = 1_000
"""Changes of a node that none of these changes suffices for."""
FEW = 12
"""Changes of one node of which combinations are tried."""
_HELD = frozenset({Code.DEVICE_IN_USE, Code.CAPACITY_EXCEEDED, Code.COUNTERS_EXCEEDED})


class Distance(NamedTuple):
    """What a node lacks; the smaller comes first."""

    changes: int  # At least
    short: int  # Devices


FAR = Distance(NEVER, 0)
"""Of a node that none of these changes helps."""


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
