"""The arguments of a call, and their sizes where the environment declares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dragoman.cel.estimate.sizes import NO_NAMES, UNKNOWN, Names, Path, Size
from dragoman.cel.syntax.nodes import Node
from dragoman.cel.types import Type

SizeOfPath = Callable[[Path], "int | None"]
"""Returns the declared maximum size at a path such as ("self", "ports", "@items"), if any."""
CallEstimate = tuple[int, "Size | None"]
"""Cost of a call without its arguments, and the size of its result if known."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of a call: what its cost can depend on."""

    node: Node | None
    type: Type
    path: Names
    size: Size | None


class OperandSizes:
    """Finds sizes of operands by the declared sizes of variables."""

    def __init__(self, size_of_path: SizeOfPath) -> None:
        self.size_of_path = size_of_path

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
