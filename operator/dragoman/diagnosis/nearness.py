"""How near a node is to serving a pod: the changes that it lacks, then its missing devices.

A change is the end of a holder, a toleration, a complete pool, or room for the pod. The number is a
bound: it is counted from the reasons, without a search. Only reasons of devices that the selectors
of a request admit count: what happens to any other device changes nothing for the pod.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dragoman.allocation import Code, FatalError, Reason
from dragoman.diagnosis.answers import NodeAnswer, RequestAnswer, Rivals, rivals
from dragoman.diagnosis.filters import INSUFFICIENT, TOO_MANY

UNSELECTED = frozenset({Code.SELECTOR_REJECTED, Code.NODE_MISMATCH, Code.CEL_ERROR})
"""Why a device is none that a request means."""
POOLS = (Code.POOL_INCOMPLETE, Code.POOL_INVALID, Code.POOL_OBSOLETE)
"""What is wrong with a pool, in the order in which it is said."""
NEVER = 1_000
"""Changes of a node that none of these changes suffices for."""
_HELD = frozenset({Code.DEVICE_IN_USE, Code.CAPACITY_EXCEEDED, Code.COUNTERS_EXCEEDED})


class Distance(NamedTuple):
    """What a node lacks; the smaller comes first."""

    changes: int  # At least
    short: int  # Devices


FAR = Distance(NEVER, 0)
"""Of a node that none of these changes helps."""


def distance(node: NodeAnswer) -> Distance:
    """Return how near a node is."""
    if node.fits:
        return Distance(0, 0)
    lacks_room = lacks_only_room(node)
    if (node.filtered and not lacks_room) or node.unavailable:
        return FAR
    if lacks_room or isinstance(node.outcome, FatalError):
        return Distance(1 if lacks_room else NEVER, 0)
    short = short_of(node)
    pools = sum(one.code in POOLS for one in node.others)
    groups = [one for one in short if not one.requests[0].alternative]
    others = [_changes(one, pools) for one in short if one.requests[0].alternative]
    changes = sum(_changes(one, pools) for one in groups) + (0 if groups else min(others or [1]))
    return Distance(min(changes, NEVER), node.short)


def lacks_only_room(node: NodeAnswer) -> bool:
    """Tell whether only other pods, by what they take of a node, keep the pod away."""
    return bool(node.filtered) and all(
        one == TOO_MANY or one.startswith(INSUFFICIENT) for one in node.filtered
    )


def short_of(node: NodeAnswer) -> tuple[Rivals, ...]:
    """Return the requests that find too few devices, those that want the same ones as one."""
    return tuple(one for one in rivals(node.requests) if one.short)


def matching(request: RequestAnswer) -> tuple[Reason, ...]:
    """Return what keeps away the devices that the selectors of a request admit."""
    return tuple(one for one in request.reasons if one.code not in UNSELECTED)


def has_matching(node: NodeAnswer) -> bool:
    """Tell whether a node has a device that some request means, or may have one in its pools."""
    found = any(one.free or matching(one) for one in node.requests)
    return found or any(one.code in POOLS for one in node.others)


def _changes(short: Rivals, pools: int) -> int:
    """Count the changes after which requests may find enough devices."""
    gains = Counter(
        change
        for reason in {one.device: one for one in _of(short.requests)}.values()
        for change in _removing(reason)
    )
    missing, changes = short.short, 0
    for _, devices in gains.most_common():
        if missing <= 0:
            break
        missing, changes = missing - devices, changes + 1
    if missing <= 0:
        return changes
    return changes + 1 if pools else NEVER


def _of(requests: Iterable[RequestAnswer]) -> Iterator[Reason]:
    for one in requests:
        yield from matching(one)


def _removing(reason: Reason) -> Iterator[object]:
    """Yield the change that removes a reason; nothing where none does."""
    details = reason.details
    if reason.code in _HELD and details.get("holders"):
        yield details["holders"][0]
    elif reason.code is Code.TAINT_NOT_TOLERATED:
        yield details.get("key")
