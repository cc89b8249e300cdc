"""The operands of a call, and their sizes where the environment declares them."""

from collections.abc import Callable
from dataclasses import dataclass

from dragoman_base.versions import Release
from dragoman_cel.estimate.sizes import NO_NAMES, UNKNOWN, Path, PathNames, Size
from dragoman_cel.syntax.nodes import Node
from dragoman_cel.types import Type

SizeOfPath = Callable[[Path], "int | None"]
"""Returns the declared maximum size at a path such as ("self", "ports", "@items"), if any."""
CallEstimate = tuple[int, "Size | None"]
"""Cost of a call without its operands, and the size of its result if known."""


@dataclass(frozen=True, slots=True)
class Operand:
    """The receiver or an argument of a call: what its cost can depend on."""

    node: Node | None
    type: Type
    path: PathNames
    size: Size | None


@dataclass(frozen=True, slots=True)
class CallByOverload:
    """A call by one of the overloads that the checker left open."""

    function: str  # The function's qualified name
    overload: str  # The overload's id
    operands: list[Operand]  # The receiver first, then the arguments
    size_of_path: SizeOfPath  # Declared sizes of the environment's variables
    release: Release  # What estimates

    def sizes(self) -> list[Size]:
        """Return the size of each operand."""
        return list(map(self.size, self.operands))

    def size(self, operand: Operand) -> Size:
        """Return the size of an operand: its own, the declared maximum, or unknown."""
        if operand.size is not None:
            return operand.size
        most = self.size_of_path(operand.path.read()) if operand.path else None
        return Size(0, most) if most is not None else UNKNOWN

    def element(self) -> Operand | None:
        """Return the elements of the first operand, a list, as an operand with their path."""
        items = self.operands[0]
        if not items.type.params:
            return None
        path = items.path.then("@items") if items.path else NO_NAMES
        return Operand(None, items.type.params[0], path, None)
