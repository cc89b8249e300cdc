"""The worst-case cost of calls by function or overload, as cel-go and Kubernetes estimate it."""

from collections.abc import Callable

from dragoman_cel import types
from dragoman_cel.cost import ALLOCATION, COMPARED_TEXTS, REGEX, TRAVERSAL
from dragoman_cel.estimate.kubernetescalls import KUBERNETES_CALLS, traversed
from dragoman_cel.estimate.operands import CallByOverload, CallEstimate, Operand
from dragoman_cel.estimate.sizes import (
    UNKNOWN,
    UNLIMITED,
    Size,
    added,
    multiplied,
    summed,
    times,
)
from dragoman_cel.estimate.sizes import scaled as _scaled
from dragoman_cel.syntax.nodes import Literal

_DRA_LIST = 48


def estimate_call(call: CallByOverload) -> CallEstimate:
    """Return the cost of a call by one overload, and the size of its result if known."""
    if call.overload == "cidr_ip":  # the function `ip` parses otherwise
        return 1, None
    by_function = _BY_FUNCTION.get(call.function)
    found = by_function(call) if by_function is not None else None
    return found or _by_overload(call)


def _as_sets(call: CallByOverload) -> CallEstimate:
    one, other = call.sizes()
    factor = 2.0 if call.function == "sets.equivalent" else 1.0
    return summed(_scaled(times(one.most, other.most), factor), 1), None


def _range(call: CallByOverload) -> CallEstimate:
    return _allocating(1, _exactly(_integer(call.operands[0], UNLIMITED)))


def _slice(call: CallByOverload) -> CallEstimate:
    items, start, end = call.operands
    length = _integer(end, call.size(items).most) - _integer(start, 0)
    return _allocating(1, _exactly(length % 2**64))


def _flattened(call: CallByOverload) -> CallEstimate:
    items, *depth = call.operands
    return _allocating(_integer(depth[0], UNLIMITED) if depth else 1, call.size(items))


def _self_compared(call: CallByOverload) -> CallEstimate:
    """Estimate functions that compare the elements of a list, or its keys, with each other."""
    size = call.sizes()[-1]
    texts = call.overload.startswith(("list_string_", "list_bytes_"))
    if call.function == "distinct" and call.release.selections_estimated:
        element = call.element()
        texts = element is not None and element.type in (types.STRING, types.BYTES)
    return _allocating(2.1 if texts else 2.0, multiplied(size, size))


def _included(call: CallByOverload) -> CallEstimate:
    """Estimate a search in a list, or a comparison with a value of any type."""
    if not call.release.includes_traversed:
        return _DRA_LIST, None
    if call.element() is None:  # a value of any type may be a list
        return call.size(call.operands[0]).most, None
    return traversed(call)


_BY_FUNCTION: dict[str, Callable[[CallByOverload], CallEstimate | None]] = {
    **KUBERNETES_CALLS,
    "includes": _included,
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _as_sets),
    "lists.range": _range,
    "slice": _slice,
    **dict.fromkeys(("reverse", "flatten"), _flattened),
    **dict.fromkeys(("distinct", "sort", "@sortByAssociatedKeys"), _self_compared),
}


def _unlimited(size: int, factor: float) -> int:
    """Scale as the models of cel-go 0.33 do, for which what has no limit has none in part."""
    return UNLIMITED if size == UNLIMITED else _scaled(size, factor)


def _by_overload(call: CallByOverload) -> CallEstimate:
    """Estimate the standard library; cel-go asks for no declared sizes there."""
    overload = call.overload
    sizes = [operand.size or UNKNOWN for operand in call.operands]
    scaled = _unlimited if call.release.selections_estimated else _scaled
    if overload == "string_format":
        return scaled(sizes[0].most, TRAVERSAL), None
    if overload in ("string_to_bytes", "bytes_to_string", "strings_quote"):
        return _converted(overload, sizes[0], scaled(sizes[0].most, TRAVERSAL))
    if overload in ("starts_with_string", "ends_with_string"):
        return scaled(sizes[1].most, TRAVERSAL), None
    if overload == "in_list":
        return scaled(sizes[1].most, 1.0), None
    matches = overload == "matches" and call.release.matches_measured
    if overload == "matches_string" or matches:
        traversal = scaled(summed(sizes[0].most, 1), TRAVERSAL)
        return times(traversal, scaled(sizes[1].most, REGEX)), None
    if overload == "contains_string":
        return times(*(scaled(size.most, TRAVERSAL) for size in sizes)), None
    if overload in ("add_string", "add_bytes", "add_list"):
        size = added(*sizes)
        return (1 if overload == "add_list" else scaled(size.most, TRAVERSAL)), size
    if overload in ("equals", "not_equals") or overload in COMPARED_TEXTS:
        return _scaled(min(size.most for size in sizes), TRAVERSAL), None
    return 1, None


def _converted(overload: str, size: Size, cost: int) -> CallEstimate:
    """Estimate a conversion between text and bytes, or a quotation, and size its result."""
    if overload == "string_to_bytes":
        return cost, Size(size.least, size.most * 4 % 2**64)
    if overload == "bytes_to_string":
        return cost, Size(size.least // 4, size.most)
    return cost, Size((size.least + 2) % 2**64, (size.most * 2 + 2) % 2**64)


def _exactly(size: int) -> Size:
    return Size(size, size)


def _allocating(factor: float, size: Size) -> tuple[int, Size]:
    return summed(_scaled(size.most, factor), ALLOCATION), size


def _integer(operand: Operand, default: int) -> int:
    node = operand.node
    if isinstance(node, Literal) and type(node.value) is int:
        return max(node.value, 0)
    return default
