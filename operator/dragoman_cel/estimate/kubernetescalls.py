"""The worst-case cost of Kubernetes' own CEL functions, by name."""

from collections.abc import Callable
from math import ceil

from dragoman_cel import types
from dragoman_cel.cost import AUTHORIZATION, LIST_LITERAL, REGEX, REQUIREMENT, TRAVERSAL
from dragoman_cel.estimate.operands import CallByOverload, CallEstimate
from dragoman_cel.estimate.sizes import (
    UNLIMITED,
    Size,
    added,
    multiplied,
    scaled,
    summed,
    times,
)
from dragoman_cel.syntax.nodes import Literal

_LONGEST_FORMAT_REGEX = 128
_LONGEST_FORMAT = 64


def _equality(call: CallByOverload) -> CallEstimate | None:
    """Estimate a comparison of two values of a Kubernetes type."""
    kind = call.operands[0].type
    if kind != call.operands[1].type:
        return None
    if kind in (types.IP, types.CIDR, types.QUANTITY, types.SEMVER):
        return 1, None
    if kind == types.FORMAT:
        return scaled(_LONGEST_FORMAT, TRAVERSAL), None
    if kind == types.URL:
        size = call.operands[1].size
        return scaled(size.most if size is not None else 1, TRAVERSAL), None
    return None


def _unit(_: CallByOverload) -> CallEstimate:
    return 1, None


def _part_of_url(call: CallByOverload) -> CallEstimate:
    """Estimate a part of a URL, of which an escaped one may be three times as long."""
    if not call.release.urls_measured:
        return 1, None
    size = call.size(call.operands[0])
    return 1, multiplied(size, Size(1, 3)) if call.function == "getEscapedPath" else size


def traversed(call: CallByOverload) -> CallEstimate:
    """Estimate one traversal of a list and of the strings in it."""
    size = call.size(call.operands[0])
    element = call.element()
    if element is None:
        return scaled(size.most, TRAVERSAL), None
    each = 1
    if element.type in (types.STRING, types.BYTES):
        each = summed(1, scaled(call.size(element).most, TRAVERSAL))
    return times(size.most, each), None


def _same_size(call: CallByOverload) -> CallEstimate:
    """Estimate a traversal of a string whose result has the same size."""
    size = call.size(call.operands[0])
    return scaled(size.most, TRAVERSAL), size


def _parsed(call: CallByOverload) -> CallEstimate:
    return scaled(call.size(call.operands[0]).most, TRAVERSAL), None


def _parsed_twice(call: CallByOverload) -> CallEstimate:
    return scaled(call.size(call.operands[0]).most, 2 * TRAVERSAL), None


def _replaced(call: CallByOverload) -> CallEstimate:
    """Estimate a replacement; the result is between the fewest and the most replacements."""
    size, old, new = call.sizes()[:3]
    least_kept = most_kept = 0
    if old.least == 0:
        most, most_kept = min(size.most + 1, UNLIMITED), size.most
    elif new.most <= old.least:
        most, most_kept = 0, size.most
    else:
        most = min(ceil(float(size.most) / float(old.least)), UNLIMITED)
    if old.most == 0:
        least, least_kept = min(size.least + 1, UNLIMITED), size.least
    elif old.most <= new.least:
        least, least_kept = 0, size.least
    else:
        least = ceil(float(size.least) / float(old.most))
    result = added(multiplied(Size(least, most), new), Size(least_kept, most_kept))
    return scaled(size.most, 2 * TRAVERSAL), result


def _split(call: CallByOverload) -> CallEstimate:
    """Estimate a split; its limit, where it is a literal, bounds the number of parts."""
    text, _, *limits = call.operands
    size = call.size(text).most
    most = size
    if limits and isinstance(limits[0].node, Literal):
        limit = limits[0].node.value
        most = limit % 2**64 if type(limit) is int else size
    return scaled(size, 2 * TRAVERSAL), Size(0, most)


def _joined(call: CallByOverload) -> CallEstimate:
    """Estimate a join; the result has every element and the separators between them."""
    items, *separators = call.operands
    count, element = call.size(items), call.element()
    size = multiplied(count, call.size(element)) if element else Size(0, 0)
    if separators:
        between = Size(max(count.least - 1, 0), max(count.most - 1, 0))
        size = added(size, multiplied(call.size(separators[0]), between))
    return scaled(size.most, TRAVERSAL), size


def _found(call: CallByOverload) -> CallEstimate:
    """Estimate a search for a pattern that returns the parts found."""
    text, pattern = call.sizes()[:2]
    traversal = scaled(summed(text.most, 1), TRAVERSAL)
    return times(traversal, scaled(pattern.most, REGEX)), Size(0, text.most)


def _contains_address(call: CallByOverload) -> CallEstimate:
    """Estimate the containment of an address or a range, given as value or as text."""
    cost = scaled(16 + 16, TRAVERSAL)
    if call.overload.startswith("cidr_contains_cidr"):
        cost += scaled(16, TRAVERSAL) + 1
    if call.overload.endswith("_string"):
        cost = summed(cost, scaled(call.size(call.operands[1]).most, TRAVERSAL))
    return cost, None


def _validated(call: CallByOverload) -> CallEstimate:
    """Estimate the validation of a text by a named format: its longest regular expression."""
    traversal = scaled(call.size(call.operands[1]).most, TRAVERSAL)
    return scaled(traversal, _LONGEST_FORMAT_REGEX * REGEX), None


def _selected(call: CallByOverload) -> CallEstimate:
    """Estimate the parsing of a label or field selector by its length."""
    length = call.size(call.operands[1]).most
    requirements = scaled(scaled(length, 0.5), REQUIREMENT)
    return summed(LIST_LITERAL, scaled(length, TRAVERSAL), requirements), None


_UNIT = (
    "masked", "isMask", "prefixLength", "family", "isUnspecified", "isLoopback",
    "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign",
    "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo",
    "add", "sub", "major", "minor", "patch",
)  # fmt: skip
_PARTS_OF_URL = (
    "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery",
)  # fmt: skip
_TRAVERSING = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
_SAME_SIZE = ("url", "lowerAscii", "upperAscii", "substring", "trim")
_PARSING = ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver")
KUBERNETES_CALLS: dict[str, Callable[[CallByOverload], CallEstimate | None]] = {
    "_==_": _equality,
    **dict.fromkeys(_UNIT, _unit),
    **dict.fromkeys(_PARTS_OF_URL, _part_of_url),
    **dict.fromkeys(_TRAVERSING, traversed),
    **dict.fromkeys(_SAME_SIZE, _same_size),
    **dict.fromkeys(_PARSING, _parsed),
    "ip.isCanonical": _parsed_twice,
    "replace": _replaced,
    "split": _split,
    "join": _joined,
    **dict.fromkeys(("find", "findAll"), _found),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_address),
    "validate": _validated,
    "check": lambda _: (AUTHORIZATION, None),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selected),
}
"""Estimates by function; None leaves the call to the estimates by overload."""
