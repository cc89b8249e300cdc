"""Nodes that lack the same, as one line: which nodes, why, and how many devices that concerns."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.allocation import BudgetExceeded, Code, FatalError, Reason
from dragoman.diagnosis import wording
from dragoman.diagnosis.nearness import (
    POOLS,
    UNSELECTED,
    Distance,
    NodeAnswer,
    RequestAnswer,
    Rivals,
    has_matching,
    short_of,
)
from dragoman.inventory.inventory import Inventory
from dragoman.model.fields import NOTHING

_CODES = tuple(Code)

Kind = tuple[Any, ...]
"""A code, and details in which reasons of one group are equal."""


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that lack the same."""

    nodes: tuple[str, ...]  # Their names
    codes: tuple[str, ...]  # Of the reasons, in the order of the text
    why: str  # In words
    # Devices that the requests mean; where there are none, those that were looked at
    devices: int
    distance: Distance  # Of each of the nodes


def groups(
    inventory: Inventory, nodes: Iterable[NodeAnswer], known: Mapping[str, Distance] = NOTHING
) -> tuple[Group, ...]:
    """Group nodes that cannot run the pod by what they lack, the nearest first.

    Nodes without any device that the requests mean are one group. A group has nodes of one
    distance, so that its first names hide no nearer one.

    Args:
        inventory: What is known.
        nodes: All of them.
        known: Distances that searches have found, by node; of others their reasons are counted.
    """
    lines: defaultdict[Kind, list[NodeAnswer]] = defaultdict(list)
    for node in nodes:
        if not node.fits:
            lines[(known.get(node.node) or node.distance, *_key(node))].append(node)
    found = sorted(lines.items(), key=lambda one: (*one[0][0], not _has_devices(one[1][0])))
    return tuple(_group(inventory, members, key[0]) for key, members in found)


def _has_devices(node: NodeAnswer) -> bool:
    return node.has_devices or has_matching(node)


def _key(node: NodeAnswer) -> Kind:
    lost = isinstance(node.outcome, FatalError)
    if node.lacks and (node.excluded or node.has_devices or lost or has_matching(node)):
        lacking = tuple((one.message, one.what, one.wanted) for one in node.lacks)
        apart = () if _only_filtered(node) else _lacking_devices(node)
        return ("filtered", lacking, node.has_devices, apart)
    return _lacking_devices(node)


def _only_filtered(node: NodeAnswer) -> bool:
    """Tell whether nothing is known of a node's devices beside that they serve the pod, or not."""
    apart = node.excluded or node.has_devices or node.unavailable
    return apart or isinstance(node.outcome, FatalError)


def _lacking_devices(node: NodeAnswer) -> Kind:
    if isinstance(node.outcome, FatalError):
        return ("fatal",)
    if not has_matching(node) and not (node.pinned or node.unready):
        return ("unmatched", isinstance(node.outcome, BudgetExceeded))
    shown = tuple(
        (
            one.name,
            frozenset(map(Reason.kind, worded(one))),
            (one.free, one.wanted) if one.free else None,
        )
        for one in concerned(node)
    )
    others = frozenset(map(Reason.kind, node.others))
    large = isinstance(node.outcome, BudgetExceeded)
    return (node.pinned, shown, tuple(map(_names, short_of(node))), others, large)


def worded(request: RequestAnswer) -> tuple[Reason, ...]:
    """Return the reasons that are said of a request on a node: of the devices that it means.

    Where there is none, those of all devices say why.
    """
    found = request.matching
    return found if found or request.free else request.reasons


def concerned(node: NodeAnswer) -> tuple[RequestAnswer, ...]:
    """Return the requests that find too few devices; all where only their combination fails."""
    return tuple(one for found in short_of(node) for one in found.requests) or node.requests


def _names(found: Rivals) -> frozenset[tuple[str, str]]:
    return frozenset((one.claim, one.name) for one in found.requests)


def _order(reason: Reason, *, meant: bool) -> tuple[bool, int]:
    """Return where a reason stands: what is wrong with devices that are meant comes first."""
    return meant and reason.code in UNSELECTED, _CODES.index(reason.code)


def _excluded(request: RequestAnswer) -> Iterator[Reason]:
    """Yield why devices are excluded that are of the right driver, beside those that are meant."""
    for reason in request.reasons if request.matching or request.free else ():
        if reason.code is Code.SELECTOR_REJECTED and "driver" not in reason.details["values"]:
            yield reason


def _group(inventory: Inventory, nodes: list[NodeAnswer], near: Distance) -> Group:
    first = nodes[0]
    names = tuple(one.node for one in nodes)
    lacking = [*wording.node_lacks(one for node in nodes for one in node.lacks)]
    if lacking and not (_only_filtered(first) or has_matching(first)):
        lacking = []
    if lacking and _only_filtered(first):
        start = "has the devices; " if first.has_devices else ""
        return Group(names, ("NodeFiltered",), start + "; ".join(lacking), 0, near)
    looked_at = sum(map(_meant, nodes))
    if isinstance(first.outcome, FatalError):
        codes = tuple(str(one.code) for one in first.others) or ("Fatal",)
        return Group(names, codes[:1], "the scheduler stops here (see above)", looked_at, near)
    parts = [*(("NodeFiltered", one) for one in lacking), *_parts(inventory, nodes)]
    codes = tuple(dict.fromkeys(code for code, _ in parts))
    return Group(names, codes, "; ".join(text for _, text in parts), looked_at, near)


def _meant(node: NodeAnswer) -> int:
    """Count the devices of a node that its requests mean, each once; all where they mean none."""
    if not node.requests:
        return 0
    unmeant = [
        {reason.device for reason in one.reasons} - {reason.device for reason in worded(one)}
        for one in node.requests
    ]
    return node.requests[0].devices - len(set.intersection(*unmeant))


def _parts(inventory: Inventory, nodes: list[NodeAnswer]) -> Iterator[tuple[str, str]]:
    """Yield codes and texts of what nodes of one group lack."""
    first = nodes[0]
    if first.pinned:
        text = f"claim {', '.join(first.pinned)} is allocated for other nodes"
        yield str(Code.NODE_SELECTOR_MISMATCH), text
    elif first.unavailable:
        for reason in first.unready:
            yield str(reason.code), wording.unready_text(reason)
    short = short_of(first)
    if not short and first.requests and not isinstance(first.outcome, BudgetExceeded):
        text = f"no combination serves all requests ({_counts(first)})"
        yield str(Code.NO_COMBINATION), "; ".join((text, *_compared(first)))
    for one in short:
        label = _label(first, one)
        for code, text in _request_parts(inventory, nodes, one):
            yield code, f"{label}{text}"
            label = ""
    yield from _pool_parts(inventory, nodes)
    if isinstance(first.outcome, BudgetExceeded):
        text = "the search is so large that the scheduler may run into its time-out of 10 s"
        yield str(Code.TIMEOUT), text


def _compared(node: NodeAnswer) -> Iterator[str]:
    """Yield the values that constraints compare, of devices that serve a request each."""
    for reason in node.others:
        if reason.code is Code.CONSTRAINT_FAILED and (values := reason.details.get("values")):
            seen = (f"{value} ({many})" for value, many in values.items())
            yield f"{reason.details.get('attribute')} of free devices is {wording.shortened(seen)}"


def _label(node: NodeAnswer, found: Rivals) -> str:
    """Name a request before what it lacks, where the pod has several."""
    if len(node.requests) == 1 or len(found.requests) > 1:
        return ""
    (request,) = found.requests
    if len({one.claim for one in node.requests}) == 1:
        return f"request {request.name}: "
    return f"claim {request.claim.rpartition('/')[2]}, request {request.name}: "


def _counts(node: NodeAnswer) -> str:
    return ", ".join(f"{one.name}: {one.free} free, {one.wanted} wanted" for one in node.requests)


def _together(found: Rivals) -> str:
    """Say what requests lack that want the same devices: `claims a and b need 2 devices, …`."""
    requests = found.requests
    claims = list(dict.fromkeys(one.claim.rpartition("/")[2] for one in requests))
    if len(claims) == 1:
        named = f"requests {wording.listed(one.name for one in requests)}"
    elif len(claims) == len(requests):
        named = f"claims {wording.listed(claims)}"
    else:
        named = f"the requests of claims {wording.listed(claims)}"
    return f"{named} need {found.wanted} devices, {found.free} {wording.are(found.free)} free"


def _request_parts(
    inventory: Inventory, nodes: list[NodeAnswer], short: Rivals
) -> Iterator[tuple[str, str]]:
    if len(short.requests) > 1:
        yield str(Code.NO_COMBINATION), _together(short)
    elif short.free:
        yield str(Code.NO_COMBINATION), f"{short.free} free, {short.wanted} wanted"
    names = _names(short)
    # A device that several requests want is counted once.
    merged: defaultdict[Kind, dict[object, Reason]] = defaultdict(dict)
    for node in nodes:
        for one in node.requests:
            if (one.claim, one.name) in names:
                for reason in (*worded(one), *_excluded(one)):
                    merged[reason.kind()].setdefault((node.node, reason.device), reason)
    meant = any(one.free or one.matching for node in nodes for one in node.requests)
    found_by_kind = (list(one.values()) for one in merged.values())
    for found in sorted(found_by_kind, key=lambda one: _order(one[0], meant=meant)):
        yield str(found[0].code), wording.of_devices(inventory, found)


def _pool_parts(inventory: Inventory, nodes: list[NodeAnswer]) -> Iterator[tuple[str, str]]:
    merged: defaultdict[Kind, list[Reason]] = defaultdict(list)
    for node in nodes:
        for reason in node.others:
            if reason.code in POOLS:
                merged[reason.kind()].append(reason)
            elif reason.code is Code.NO_SLICE_FOR_NODE:
                merged[reason.kind()] = [reason]
    for found in merged.values():
        code = found[0].code
        text = wording.broken_pools(inventory, found) if code in POOLS else wording.words(found[0])
        yield str(code), text
