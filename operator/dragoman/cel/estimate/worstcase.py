"""The worst-case cost of calls, by function or overload: cel-go's and Kubernetes' own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from dragoman.cel import types
from dragoman.cel.cost import AUTHORIZATION, LIST_LITERAL, REQUIREMENT
from dragoman.cel.estimate.sizes import (
    NO_NAMES,
    TRAVERSAL,
    UNKNOWN,
    UNLIMITED,
    Names,
    Path,
    Size,
    added,
    multiplied,
    scaled,
    summed,
    times,
)
from dragoman.cel.syntax.nodes import Literal, Node
from dragoman.cel.types import Type

SizeOfPath = Callable[[Path], "int | None"]
"""Returns the declared maximum size at a path such as ("self", "ports", "@items"), if any."""
CallEstimate = tuple[int, "Size | None"]
"""Cost of a call without its arguments, and the size of its result if known."""

_REGEX: Final = 0.25
_ALLOCATION: Final = 11
_LONGEST_FORMAT_REGEX: Final = 128
_LONGEST_FORMAT: Final = 64
_DRA_LIST: Final = 48


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of a call: what its cost can depend on."""

    node: Node | None
    type: Type
    path: Names
    size: Size | None


class CallEstimator:
    """Estimates calls with the declared sizes of variables."""

    def __init__(self, size_of_path: SizeOfPath) -> None:
        self.size_of_path = size_of_path

    def call(
        self, function: str, overload: str, target: Operand | None, args: list[Operand]
    ) -> CallEstimate:
        """Return the cost of a call by one overload, and the size of its result if known."""
        return (
            self.extension(function, overload, target, args)
            or self.kubernetes(function, overload, target, args)
            or self.standard(overload, target, args)
        )

    def operand_size(self, operand: Operand) -> Size:
        """Return the size of an operand: its own, the declared maximum, or unknown."""
        if operand.size is not None:
            return operand.size
        most = self.size_of_path(operand.path.read()) if operand.path else None
        return Size(0, most) if most is not None else UNKNOWN

    def element(self, items: Operand) -> Operand | None:
        """Return the elements of a list as an operand with their path."""
        if not items.type.params:
            return None
        path = items.path.then("@items") if items.path else NO_NAMES
        return Operand(None, items.type.params[0], path, None)

    def extension(
        self, function: str, overload: str, target: Operand | None, args: list[Operand]
    ) -> CallEstimate | None:
        """Estimate cel-go's list and set libraries, and the selectors' `includes`."""
        if overload == "dra_includes_dyn_dyn":
            return _DRA_LIST, None
        if function.startswith("sets."):
            sizes = [self.operand_size(arg) for arg in args]
            product = times(sizes[0].most, sizes[1].most)
            factor = 2.0 if function == "sets.equivalent" else 1.0
            return summed(scaled(product, factor), 1), None
        if function == "lists.range":
            return _allocating(1, _exactly(_integer(args[0], UNLIMITED)))
        if target is None:
            return None
        size = self.operand_size(target)
        if function == "slice":
            length = _integer(args[1], size.most) - _integer(args[0], 0)
            return _allocating(1, _exactly(length % 2**64))
        if function in ("reverse", "flatten"):
            return _allocating(_integer(args[0], UNLIMITED) if args else 1, size)
        return self.self_compared(function, overload, size, args)

    def self_compared(
        self, function: str, overload: str, size: Size, args: list[Operand]
    ) -> CallEstimate | None:
        """Estimate functions that compare the elements of a list with each other."""
        if function == "distinct":
            return _allocating(2.0, multiplied(size, size))
        if function in ("sort", "@sortByAssociatedKeys"):
            if args:
                size = self.operand_size(args[0])
            texts = overload.startswith(("list_string_", "list_bytes_"))
            return _allocating(2.1 if texts else 2.0, multiplied(size, size))
        return None

    def kubernetes(
        self, function: str, overload: str, target: Operand | None, args: list[Operand]
    ) -> CallEstimate | None:
        """Estimate the functions of Kubernetes' own libraries, by name."""
        if function == "_==_":
            return self.kubernetes_equality(args)
        if function in _UNIT or overload == "cidr_ip":
            return 1, None
        estimated = _KUBERNETES.get(function)
        return estimated(self, overload, target, args) if estimated is not None else None

    def kubernetes_equality(self, args: list[Operand]) -> CallEstimate | None:
        """Estimate a comparison of two values of a Kubernetes type."""
        kind = args[0].type
        if kind != args[1].type:
            return None
        if kind in (types.IP, types.CIDR, types.QUANTITY, types.SEMVER):
            return 1, None
        if kind == types.FORMAT:
            return scaled(_LONGEST_FORMAT, TRAVERSAL), None
        if kind == types.URL:
            size = args[1].size
            return scaled(size.most if size is not None else 1, TRAVERSAL), None
        return None

    def standard(self, overload: str, target: Operand | None, args: list[Operand]) -> CallEstimate:
        """Estimate the standard library, by overload."""
        if overload == "string_format" and target is not None:
            return scaled((target.size or UNKNOWN).most, TRAVERSAL), None
        if overload in ("string_to_bytes", "bytes_to_string", "strings_quote") and len(args) == 1:
            return self.converted(overload, args[0].size or UNKNOWN)
        if overload in ("starts_with_string", "ends_with_string") and len(args) == 1:
            return scaled((args[0].size or UNKNOWN).most, TRAVERSAL), None
        if overload == "in_list":
            return scaled((args[1].size or UNKNOWN).most, 1.0), None
        if overload in ("matches_string", "contains_string") and target is not None:
            return self.searched(overload, target, args[0]), None
        if overload in ("add_string", "add_bytes", "add_list"):
            size = added(args[0].size or UNKNOWN, args[1].size or UNKNOWN)
            return (1 if overload == "add_list" else scaled(size.most, TRAVERSAL)), size
        if overload in _COMPARED:
            smaller = min((args[0].size or UNKNOWN).most, (args[1].size or UNKNOWN).most)
            return scaled(smaller, TRAVERSAL), None
        return 1, None

    @staticmethod
    def converted(overload: str, size: Size) -> CallEstimate:
        """Estimate a conversion between text and bytes, or a quotation, and size its result."""
        cost = scaled(size.most, TRAVERSAL)
        if overload == "string_to_bytes":
            return cost, Size(size.least, size.most * 4 % 2**64)
        if overload == "bytes_to_string":
            return cost, Size(size.least // 4, size.most)
        return cost, Size((size.least + 2) % 2**64, (size.most * 2 + 2) % 2**64)

    @staticmethod
    def searched(overload: str, target: Operand, part: Operand) -> int:
        """Estimate a search for a text or a pattern: one length times the other."""
        text, searched = target.size or UNKNOWN, (part.size or UNKNOWN).most
        if overload == "matches_string":
            traversal = scaled(summed(text.most, 1), TRAVERSAL)
            return times(traversal, scaled(searched, _REGEX))
        return times(scaled(text.most, TRAVERSAL), scaled(searched, TRAVERSAL))

    # Kubernetes' functions ----------------------------------------------------------------------

    def traversed(self, _: str, target: Operand | None, __: Any) -> CallEstimate | None:
        """Estimate one traversal of a list and of the strings in it."""
        if target is None:
            return None
        size = self.operand_size(target)
        element = self.element(target)
        if element is None:
            return scaled(size.most, TRAVERSAL), None
        each = 1
        if element.type in (types.STRING, types.BYTES):
            each = summed(1, scaled(self.operand_size(element).most, TRAVERSAL))
        return times(size.most, each), None

    def same_size(self, _: str, target: Operand | None, args: list[Operand]) -> CallEstimate:
        """Estimate a traversal of a string whose result has the same size."""
        size = self.operand_size(target if target is not None else args[0])
        return scaled(size.most, TRAVERSAL), size

    def parsed(self, _: str, __: Operand | None, args: list[Operand]) -> CallEstimate:
        """Estimate one traversal of the first argument."""
        return scaled(self.operand_size(args[0]).most, TRAVERSAL), None

    def parsed_twice(self, _: str, __: Operand | None, args: list[Operand]) -> CallEstimate:
        """Estimate two traversals of the first argument."""
        return scaled(self.operand_size(args[0]).most, 2 * TRAVERSAL), None

    def replaced(self, _: str, target: Operand | None, args: list[Operand]) -> CallEstimate | None:
        """Estimate a replacement; the result is between the fewest and the most replacements."""
        if target is None or len(args) < 2:
            return None
        size, old, new = (self.operand_size(o) for o in (target, args[0], args[1]))
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

    def split(self, _: str, target: Operand | None, args: list[Operand]) -> CallEstimate | None:
        """Estimate a split; its limit, where it is a literal, bounds the number of parts."""
        if target is None:
            return None
        size = self.operand_size(target)
        most = size.most
        if len(args) > 1 and isinstance(args[1].node, Literal):
            limit = args[1].node.value
            most = limit % 2**64 if type(limit) is int else most
        return scaled(size.most, 2 * TRAVERSAL), Size(0, most)

    def joined(self, _: str, target: Operand | None, args: list[Operand]) -> CallEstimate | None:
        """Estimate a join; the result has every element and the separators between them."""
        if target is None:
            return None
        count = self.operand_size(target)
        element = self.element(target)
        size = multiplied(count, self.operand_size(element)) if element else Size(0, 0)
        if args:
            between = Size(max(count.least - 1, 0), max(count.most - 1, 0))
            size = added(size, multiplied(self.operand_size(args[0]), between))
        return scaled(size.most, TRAVERSAL), size

    def found(self, _: str, target: Operand | None, args: list[Operand]) -> CallEstimate | None:
        """Estimate a search for a pattern that returns the parts found."""
        if target is None:
            return None
        size = self.operand_size(target)
        traversal = scaled(summed(size.most, 1), TRAVERSAL)
        pattern = scaled(self.operand_size(args[0]).most, _REGEX)
        return times(traversal, pattern), Size(0, size.most)

    def contains_address(
        self, overload: str, _: Operand | None, args: list[Operand]
    ) -> CallEstimate:
        """Estimate the containment of an address or a range, given as value or as text."""
        cost = scaled(16 + 16, TRAVERSAL)
        if overload.startswith("cidr_contains_cidr"):
            cost += scaled(16, TRAVERSAL) + 1
        if overload.endswith("_string"):
            cost = summed(cost, scaled(self.operand_size(args[0]).most, TRAVERSAL))
        return cost, None

    def validated(self, _: str, __: Operand | None, args: list[Operand]) -> CallEstimate:
        """Estimate the validation of a text by a named format: its longest regular expression."""
        traversal = scaled(self.operand_size(args[0]).most, TRAVERSAL)
        return scaled(traversal, _LONGEST_FORMAT_REGEX * _REGEX), None

    def authorized(self, _: str, __: Operand | None, ___: list[Operand]) -> CallEstimate:
        """Estimate a check by the authorizer."""
        return AUTHORIZATION, None

    def selected(self, _: str, __: Operand | None, args: list[Operand]) -> CallEstimate:
        """Estimate the parsing of a label or field selector by its length."""
        length = self.operand_size(args[0]).most
        requirements = scaled(scaled(length, 0.5), REQUIREMENT)
        return summed(LIST_LITERAL, scaled(length, TRAVERSAL), requirements), None


def _exactly(size: int) -> Size:
    return Size(size, size)


def _allocating(factor: float, size: Size) -> tuple[int, Size]:
    return summed(scaled(size.most, factor), _ALLOCATION), size


def _integer(operand: Operand, default: int) -> int:
    node = operand.node
    if isinstance(node, Literal) and type(node.value) is int:
        return max(node.value, 0)
    return default


_UNIT: Final = frozenset(
    (
        "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
        "isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger",
        "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major",
        "minor", "patch", "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath",
        "getQuery",
    )
)  # fmt: skip
_COMPARED: Final = frozenset(
    (
        "equals", "not_equals",
        *(
            f"{test}_{kind}"
            for test in ("less", "less_equals", "greater", "greater_equals")
            for kind in ("string", "bytes")
        ),
    )
)  # fmt: skip
_TRAVERSING: Final = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
_PARSING: Final = ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver")
_KUBERNETES: Final[dict[str, Any]] = {
    **dict.fromkeys(_TRAVERSING, CallEstimator.traversed),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim"), CallEstimator.same_size
    ),
    **dict.fromkeys(_PARSING, CallEstimator.parsed),
    "ip.isCanonical": CallEstimator.parsed_twice,
    "replace": CallEstimator.replaced,
    "split": CallEstimator.split,
    "join": CallEstimator.joined,
    "find": CallEstimator.found,
    "findAll": CallEstimator.found,
    "containsIP": CallEstimator.contains_address,
    "containsCIDR": CallEstimator.contains_address,
    "validate": CallEstimator.validated,
    "check": CallEstimator.authorized,
    **dict.fromkeys(("fieldSelector", "labelSelector"), CallEstimator.selected),
}
