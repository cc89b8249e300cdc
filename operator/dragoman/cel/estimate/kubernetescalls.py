"""The worst-case cost of Kubernetes' own CEL functions, by name."""

from __future__ import annotations

from math import ceil
from typing import Any, Final

from dragoman.cel import types
from dragoman.cel.cost import AUTHORIZATION, LIST_LITERAL, REQUIREMENT
from dragoman.cel.estimate.operands import CallEstimate, Operand, OperandSizes
from dragoman.cel.estimate.sizes import (
    REGEX,
    TRAVERSAL,
    UNLIMITED,
    Size,
    added,
    multiplied,
    scaled,
    summed,
    times,
)
from dragoman.cel.syntax.nodes import Literal

_LONGEST_FORMAT_REGEX: Final = 128
_LONGEST_FORMAT: Final = 64


class KubernetesCalls(OperandSizes):
    """Estimates calls of Kubernetes' libraries: lists, texts, addresses, formats, authorizer."""

    def estimate(
        self, function: str, overload: str, target: Operand | None, args: list[Operand]
    ) -> CallEstimate | None:
        """Estimate the functions of Kubernetes' own libraries, by name."""
        if function == "_==_":
            return self.equality(args)
        if function in _UNIT or overload == "cidr_ip":
            return 1, None
        estimated = _KUBERNETES.get(function)
        return estimated(self, overload, target, args) if estimated is not None else None

    def equality(self, args: list[Operand]) -> CallEstimate | None:
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
        pattern = scaled(self.operand_size(args[0]).most, REGEX)
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
        return scaled(traversal, _LONGEST_FORMAT_REGEX * REGEX), None

    def authorized(self, _: str, __: Operand | None, ___: list[Operand]) -> CallEstimate:
        """Estimate a check by the authorizer."""
        return AUTHORIZATION, None

    def selected(self, _: str, __: Operand | None, args: list[Operand]) -> CallEstimate:
        """Estimate the parsing of a label or field selector by its length."""
        length = self.operand_size(args[0]).most
        requirements = scaled(scaled(length, 0.5), REQUIREMENT)
        return summed(LIST_LITERAL, scaled(length, TRAVERSAL), requirements), None


_UNIT: Final = frozenset(
    (
        "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
        "isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger",
        "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major",
        "minor", "patch", "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath",
        "getQuery",
    )
)  # fmt: skip
_TRAVERSING: Final = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
_PARSING: Final = ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver")
_KUBERNETES: Final[dict[str, Any]] = {
    **dict.fromkeys(_TRAVERSING, KubernetesCalls.traversed),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim"), KubernetesCalls.same_size
    ),
    **dict.fromkeys(_PARSING, KubernetesCalls.parsed),
    "ip.isCanonical": KubernetesCalls.parsed_twice,
    "replace": KubernetesCalls.replaced,
    "split": KubernetesCalls.split,
    "join": KubernetesCalls.joined,
    "find": KubernetesCalls.found,
    "findAll": KubernetesCalls.found,
    "containsIP": KubernetesCalls.contains_address,
    "containsCIDR": KubernetesCalls.contains_address,
    "validate": KubernetesCalls.validated,
    "check": KubernetesCalls.authorized,
    **dict.fromkeys(("fieldSelector", "labelSelector"), KubernetesCalls.selected),
}
