"""The variables that an expression can name, and their slots in the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman_cel.compile.closure import Closure, variable
from dragoman_cel.compile.selections import Selection
from dragoman_cel.errors import EvaluationError
from dragoman_cel.state import COST, FIRST_VARIABLE, State


class Variables:
    """Variables in scope by name; those of macros hide others of their name.

    Args:
        variables: Slot of each variable of the environment, from FIRST_VARIABLE on.

    Attributes:
        slots: Number of slots of the state.
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


_UNSET = object()
"""Marks the slot of a bound variable before its first use."""


class _Failed:
    """Holds the error of a bound variable whose expression failed."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


def bound_variable(slot: int, value: Closure) -> Closure:
    """Compile reading a variable of `cel.bind`: its expression runs once, at the first use."""
    compute, cost = value.run, value.cost

    def run(state: State) -> Any:
        found = state[slot]
        if found is _UNSET:
            state[COST] += cost
            try:
                found = compute(state)
            except EvaluationError as error:
                state[slot] = _Failed(error)
                raise
            state[slot] = found
        elif type(found) is _Failed:
            # Its traceback would grow with every use of the variable.
            raise found.error.with_traceback(None)
        return found

    return Closure(run, 0, flat=False)


def bind(slot: int, body: Closure) -> Closure:
    """Compile the body of `cel.bind`, which starts with the variable not computed."""
    inner = body.run

    def run(state: State) -> Any:
        state[slot] = _UNSET
        return inner(state)

    return Closure(run, body.cost, flat=False)
