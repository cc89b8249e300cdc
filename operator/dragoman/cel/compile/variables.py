"""The variables that an expression can name, and their slots in the state."""

from collections.abc import Mapping

from dragoman.cel.compile.closure import variable
from dragoman.cel.compile.selections import Selection
from dragoman.cel.state import FIRST_VARIABLE


class Variables:
    """Variables in scope by name; those of macros hide others of their name.

    Args:
        variables: slot of each variable of the environment, from FIRST_VARIABLE on.

    Attributes:
        slots: number of slots of the state.
    """

    def __init__(self, variables: Mapping[str, int]) -> None:
        self.slots = FIRST_VARIABLE + len(variables)
        self._scope: dict[str, list[Selection]] = {
            name: [Selection(variable(slot), slot, 1)] for name, slot in variables.items()
        }

    def read(self, name: str) -> Selection:
        """Return what reads a variable."""
        return self._scope[name][-1]

    def new_slot(self) -> int:
        """Return a new slot."""
        slot = self.slots
        self.slots += 1
        return slot

    def enter(self, name: str, selection: Selection) -> None:
        """Bring a variable into scope."""
        self._scope.setdefault(name, []).append(selection)

    def enter_loop(self, name: str) -> int:
        """Return a new slot for a loop variable, which comes into scope."""
        slot = self.new_slot()
        self.enter(name, Selection(variable(slot), slot, 1))
        return slot

    def leave(self, *names: str) -> None:
        """Let variables go out of scope."""
        for name in names:
            if name:
                self._scope[name].pop()
