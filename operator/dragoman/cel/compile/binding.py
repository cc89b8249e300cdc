"""`cel.bind`: a lazy variable."""

from __future__ import annotations

from typing import Any, Final

from dragoman.cel.compile.closure import Closure
from dragoman.cel.errors import EvaluationError
from dragoman.cel.state import COST, State

_UNSET: Final = object()
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
