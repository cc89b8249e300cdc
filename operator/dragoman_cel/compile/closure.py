"""Closures: what the compiler makes of a node, with its cost.

The cost that does not depend on values is `cost`. The caller of a closure charges it, whether the
run succeeds or fails; the closure itself adds to `state[COST]` only what depends on values, and
refunds what a failure left undone. So straight-line code counts its whole cost in one addition,
and still every outcome costs what cel-go's step-by-step tracker counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dragoman_cel.data import Invalid
from dragoman_cel.errors import CostLimitExceeded
from dragoman_cel.representation import reread
from dragoman_cel.state import COST, LIMIT, State

Code = Callable[[State], Any]

ABSENT = object()
"""Marks a closure whose value is not known at compile time."""


@dataclass(frozen=True, slots=True)
class Closure:
    """Compiled code."""

    run: Code  # Evaluates in a state; raises EvaluationError
    cost: int  # CEL cost of every run, charged by the caller
    flat: bool  # Whether a successful run never adds to `state[COST]`
    constant: Any = ABSENT  # Its value if it is a constant, which costs nothing, else ABSENT
    # Its value if it is known at compile time, although each run costs, else ABSENT
    known: Any = ABSENT

    @property
    def is_constant(self) -> bool:
        """Return whether the value is known."""
        return self.constant is not ABSENT


def constant(value: Any) -> Closure:
    """Make the closure of a known value, which costs nothing."""
    return Closure(lambda _: value, 0, flat=True, constant=value, known=value)


def known(value: Any, cost: int) -> Closure:
    """Make the closure of a known value that costs as if each run computed it."""
    return Closure(lambda _: value, cost, flat=True, known=value)


def variable(slot: int) -> Closure:
    """Make the closure that reads a slot of the state, which the selection itself charges."""
    return Closure(lambda state: state[slot], 0, flat=True)


def rewrapped(closure: Closure) -> Closure:
    """Make the closure of an optional that cel-go converts to Go's value and back."""
    run = closure.run
    return Closure(lambda state: reread(run(state)), closure.cost, closure.flat)


def checked(closure: Closure) -> Closure:
    """Make a closure that fails where the data is invalid."""
    read = closure.run

    def run(state: State) -> Any:
        value = read(state)
        if type(value) is Invalid:
            raise value.error
        return value

    return Closure(run, closure.cost, closure.flat)


def spend_cost(state: State, cost: int) -> None:
    """Charge a cost that depends on values.

    Raises:
        CostLimitExceeded: The evaluation cost more than its limit.
    """
    state[COST] += cost
    if state[COST] > state[LIMIT]:
        raise CostLimitExceeded


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled expression."""

    run: Code  # Evaluates in a state
    cost: int  # CEL cost of every evaluation, charged before it starts
    slots: int  # Number of slots of the state
