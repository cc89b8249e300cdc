"""Nodes that lack the same, as one line: which nodes, why, and how many devices that concerns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dragoman.allocation import BudgetExceeded, Code, FatalError, Reason
from dragoman.diagnosis.answers import NodeAnswer, RequestAnswer
from dragoman.inventory.ages import age
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.summary import holder_names

NAMES: Final = 3
"""Names that one line lists of a kind."""
_POOLS: Final = frozenset({Code.POOL_INCOMPLETE, Code.POOL_INVALID, Code.POOL_OBSOLETE})
_SAME: Final[Mapping[Code, tuple[str, ...]]] = {
    Code.SELECTOR_REJECTED: ("origin", "index"),
    Code.CEL_ERROR: ("origin", "index"),
    Code.TAINT_NOT_TOLERATED: ("key", "value", "effect"),
    Code.CAPACITY_UNKNOWN: ("capacity",),
    Code.CAPACITY_POLICY: ("capacity",),
    Code.CAPACITY_EXCEEDED: ("capacity",),
    Code.COUNTERS_EXCEEDED: ("set", "counter"),
    Code.CONSTRAINT_FAILED: ("attribute",),
    Code.FEATURE_DISABLED: ("gate",),
    Code.POOL_INCOMPLETE: ("have", "want"),
    Code.POOL_INVALID: ("reason",),
    Code.BINDING_PENDING: ("conditions",),
    Code.BINDING_FAILED: ("condition", "reason"),
    Code.BINDING_TIMEOUT: ("conditions",),
}
"""Details in which reasons of one group are equal."""

Kind = tuple[Any, ...]
"""A code and the details of `_SAME`."""


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that lack the same.

    Attributes:
        nodes: Their names.
        codes: Of the reasons, in the order of the text.
        why: In words.
        devices: Devices that were looked at; 0 where none could be.
    """

    nodes: tuple[str, ...]
    codes: tuple[str, ...]
    why: str
    devices: int


def groups(inventory: Inventory, nodes: Iterable[NodeAnswer]) -> tuple[Group, ...]:
    """Group nodes that cannot run the pod by what they lack, in the order of their first names."""
    lines: defaultdict[Kind, list[NodeAnswer]] = defaultdict(list)
    for node in nodes:
        if not node.fits:
            lines[_key(node)].append(node)
    return tuple(_group(inventory, found) for found in lines.values())


def _key(node: NodeAnswer) -> Kind:
    if node.filtered:
        return ("filtered", node.filtered, node.has_devices)
    if isinstance(node.outcome, FatalError):
        return ("fatal",)
    shown = tuple(
        (one.name, frozenset(map(kind, one.reasons)), _shortage(one)) for one in concerned(node)
    )
    others = frozenset(map(kind, node.others))
    return (node.pinned, shown, others, isinstance(node.outcome, BudgetExceeded))


def kind(reason: Reason) -> Kind:
    """Return what reasons of one group have in common."""
    return (reason.code, *(reason.details.get(name) for name in _SAME.get(reason.code, ())))


def _shortage(request: RequestAnswer) -> tuple[int, int] | None:
    return (request.free, request.wanted) if request.free else None


def concerned(node: NodeAnswer) -> tuple[RequestAnswer, ...]:
    """Return the requests that find too few devices; all where only their combination fails."""
    return tuple(one for one in node.requests if one.short) or node.requests


def _group(inventory: Inventory, nodes: list[NodeAnswer]) -> Group:
    first = nodes[0]
    names = tuple(one.node for one in nodes)
    if first.filtered:
        state = "has the devices, but: " if first.has_devices else ""
        return Group(names, ("NodeFiltered",), state + ", ".join(first.filtered), 0)
    looked_at = sum(one.requests[0].devices for one in nodes if one.requests)
    if isinstance(first.outcome, FatalError):
        codes = tuple(str(one.code) for one in first.others) or ("Fatal",)
        return Group(names, codes[:1], "the scheduler stops here (see above)", looked_at)
    parts = list(_parts(inventory, nodes))
    codes = tuple(dict.fromkeys(code for code, _ in parts))
    return Group(names, codes, "; ".join(text for _, text in parts), looked_at)


def _parts(inventory: Inventory, nodes: list[NodeAnswer]) -> Iterator[tuple[str, str]]:
    """Yield codes and texts of what nodes of one group lack."""
    first = nodes[0]
    if first.pinned:
        text = f"claim {', '.join(first.pinned)} is allocated for other nodes"
        yield str(Code.NODE_SELECTOR_MISMATCH), text
    elif first.unavailable:
        for reason in first.unready:
            yield str(reason.code), unready_text(reason)
    combined = not any(one.short for one in first.requests)
    if combined and first.requests and not isinstance(first.outcome, BudgetExceeded):
        yield str(Code.NO_COMBINATION), f"no combination serves all requests ({_counts(first)})"
    elif not combined:
        for one in concerned(first):
            label = _label(first, one)
            for code, text in _request_parts(inventory, nodes, one):
                yield code, f"{label}{text}"
                label = ""
    yield from _pool_parts(inventory, nodes)
    if isinstance(first.outcome, BudgetExceeded):
        text = "the search is so large that the scheduler may run into its time-out of 10 s"
        yield str(Code.TIMEOUT), text


def _label(node: NodeAnswer, request: RequestAnswer) -> str:
    """Name a request before what it lacks, where the pod has several."""
    if len(node.requests) == 1:
        return ""
    if len({one.claim for one in node.requests}) == 1:
        return f"request {request.name}: "
    return f"claim {request.claim.rpartition('/')[2]}, request {request.name}: "


def _counts(node: NodeAnswer) -> str:
    return ", ".join(f"{one.name}: {one.free} free, {one.wanted} wanted" for one in node.requests)


def _request_parts(
    inventory: Inventory, nodes: list[NodeAnswer], request: RequestAnswer
) -> Iterator[tuple[str, str]]:
    if request.free:
        yield str(Code.NO_COMBINATION), f"{request.free} free, {request.wanted} wanted"
    merged: defaultdict[Kind, list[Reason]] = defaultdict(list)
    for node in nodes:
        for one in node.requests:
            if (one.claim, one.name) == (request.claim, request.name):
                for reason in one.reasons:
                    merged[kind(reason)].append(reason)
    order = list(Code)
    for found in sorted(merged.values(), key=lambda found: order.index(found[0].code)):
        code = found[0].code
        yield str(code), _WORDS.get(code, _generic)(inventory, found)


def _pool_parts(inventory: Inventory, nodes: list[NodeAnswer]) -> Iterator[tuple[str, str]]:
    merged: defaultdict[Kind, list[Reason]] = defaultdict(list)
    for node in nodes:
        for reason in node.others:
            if reason.code in _POOLS:
                merged[kind(reason)].append(reason)
            elif reason.code is Code.NO_SLICE_FOR_NODE:
                merged[kind(reason)] = [reason]
    for found in merged.values():
        code = found[0].code
        text = _broken_pools(inventory, found) if code in _POOLS else words(found[0])
        yield str(code), text


# Words --------------------------------------------------------------------------------------------


def _rejected(_: Inventory, found: list[Reason]) -> str:
    origin = str(found[0].details.get("origin") or "")
    whose = origin if origin.startswith("class ") else f"request {found[0].request}"
    return f"selector of {whose} is false: {values(found) or f'{len(found)} devices'}"


def values(found: Iterable[Reason]) -> str:
    """Name the values that selectors have read: `productName is A100 (12), L4 (4)`."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for reason in found:
        for name, value in (reason.details.get("values") or {}).items():
            counts[name.rpartition(".")[2]][_value(value)] += 1
    return "; ".join(
        f"{name} is {shortened(f'{value} ({many})' for value, many in counted.most_common())}"
        for name, counted in sorted(counts.items())
    )


def _value(value: object) -> str:
    if value is None:
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_use(inventory: Inventory, found: list[Reason]) -> str:
    return f"in use: {holders_text(inventory, found)}"


def holders_text(inventory: Inventory, found: Iterable[Reason]) -> str:
    """Say who has devices: `6 by ml/trainer-0, 2 by web/render`."""
    counts: Counter[str] = Counter()
    for one in found:
        device = inventory.devices.get(one.device) if one.device else None
        owned = device.owned if device else ()
        claims = {f"claim {name}" for name in one.details.get("holders") or ()}
        counts.update({name for held in owned for name in holder_names(held)} or claims)
    return shortened(f"{count} by {name}" for name, count in counts.most_common())


def _tainted(_: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    value = f"={details['value']}" if details.get("value") else ""
    return f"{len(found)} tainted {details.get('key')}{value}:{details.get('effect')}"


def _cel_error(_: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    where = f"selectors[{details.get('index')}] of {details.get('origin')}"
    return f"{where} fails on {len(found)}: {details.get('message')}"


def _generic(_: Inventory, found: list[Reason]) -> str:
    return f"{len(found)}: {words(found[0])}"


def words(reason: Reason) -> str:
    """Return the text of a reason without the device that it is about."""
    return str(reason._replace(device=None, pool=None))


def unready_text(reason: Reason) -> str:
    """Name the claim and the device of a claim that a pod waits for, and why."""
    return f"claim {reason.claim.rpartition('/')[2]}, {reason}"


def _counters(_: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    return (
        f"{len(found)} without counters: {details.get('set')}/{details.get('counter')} "
        f"has {details.get('free')} of {details.get('need')}"
    )


def _capacity(_: Inventory, found: list[Reason]) -> str:
    details = found[0].details
    name = str(details.get("capacity")).rpartition("/")[2]
    free, wanted = details.get("free"), details.get("rounded")
    return f"{len(found)} with too little {name}: {free} free, {wanted} wanted"


def _broken_pools(inventory: Inventory, found: list[Reason]) -> str:
    pools = list(dict.fromkeys(one.pool for one in found if one.pool is not None))
    many, verb = ("pool", "is") if len(pools) == 1 else ("pools", "are")
    listed = shortened(map(str, pools))
    details = found[0].details
    if found[0].code is Code.POOL_INVALID:
        return f"{many} {listed} {verb} invalid: {details.get('reason')}"
    if found[0].code is Code.POOL_OBSOLETE:
        return f"{many} {listed} {verb} of generation {details.get('generation')}, newer exist"
    known = [inventory.pools[key].since for key in pools if key in inventory.pools]
    since = age(inventory.world.now, min(known, default=""))
    return (
        f"{many} {listed} {verb} incomplete: "
        f"{details.get('have')} of {details.get('want')} slices, {since}"
    )


_WORDS: Final[Mapping[Code, Callable[[Inventory, list[Reason]], str]]] = {
    Code.SELECTOR_REJECTED: _rejected,
    Code.CEL_ERROR: _cel_error,
    Code.DEVICE_IN_USE: _in_use,
    Code.CAPACITY_EXCEEDED: _capacity,
    Code.COUNTERS_EXCEEDED: _counters,
    Code.TAINT_NOT_TOLERATED: _tainted,
}


def shortened(parts: Iterable[str]) -> str:
    """Join the first parts, and say how many more there are."""
    listed = list(parts)
    shown = ", ".join(listed[:NAMES])
    return shown if len(listed) <= NAMES else f"{shown} and {len(listed) - NAMES} more"
