"""The worst-case cost of calls by function or overload, as cel-go and Kubernetes estimate it."""

from __future__ import annotations

from typing import Final

from dragoman.cel.estimate.kubernetescalls import KubernetesCalls
from dragoman.cel.estimate.operands import CallEstimate, Operand, OperandSizes, SizeOfPath
from dragoman.cel.estimate.sizes import (
    REGEX,
    TRAVERSAL,
    UNKNOWN,
    UNLIMITED,
    Size,
    added,
    multiplied,
    scaled,
    summed,
    times,
)
from dragoman.cel.syntax.nodes import Literal

_ALLOCATION: Final = 11
_DRA_LIST: Final = 48


class CallEstimator(OperandSizes):
    """Estimates calls with the declared sizes of variables."""

    def __init__(self, size_of_path: SizeOfPath) -> None:
        super().__init__(size_of_path)
        self.kubernetes = KubernetesCalls(size_of_path)

    def call(
        self, function: str, overload: str, target: Operand | None, args: list[Operand]
    ) -> CallEstimate:
        """Return the cost of a call by one overload, and the size of its result if known."""
        return (
            self.extension(function, overload, target, args)
            or self.kubernetes.estimate(function, overload, target, args)
            or self.standard(overload, target, args)
        )

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
            return times(traversal, scaled(searched, REGEX))
        return times(scaled(text.most, TRAVERSAL), scaled(searched, TRAVERSAL))


def _exactly(size: int) -> Size:
    return Size(size, size)


def _allocating(factor: float, size: Size) -> tuple[int, Size]:
    return summed(scaled(size.most, factor), _ALLOCATION), size


def _integer(operand: Operand, default: int) -> int:
    node = operand.node
    if isinstance(node, Literal) and type(node.value) is int:
        return max(node.value, 0)
    return default


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
