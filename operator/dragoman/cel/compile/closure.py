"""What the compiler makes of a node: a closure and its cost.

The cost that does not depend on values is `cost`. Whoever runs a closure pays it, whether the run
succeeds or fails; the closure itself only changes `state[COST]` by what depends on values, and
gives back what a failure left undone. So straight-line code counts its whole cost in one
addition, and still every outcome costs what cel-go's step-by-step tracker counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dragoman.cel.errors import CostLimitExceeded, EvaluationAborted, EvaluationError
from dragoman.cel.state import COST, LIMIT, State

Code = Callable[[State], Any]

ABSENT: Final = object()
"""Marks a closure that is not constant."""


@dataclass(frozen=True, slots=True)
class Closure:
    """Compiled code.

    Attributes:
        run: evaluates in a state; raises EvaluationError.
        cost: cost in any case, paid by the caller.
        flat: whether a successful run never adds to `state[COST]`.
        constant: its value if it is a constant, which costs nothing, else ABSENT.
        known: its value if it is known at compile time although it must be paid, else ABSENT.
    """

    run: Code
    cost: int
    flat: bool
    constant: Any = ABSENT
    known: Any = ABSENT

    @property
    def is_constant(self) -> bool:
        """Return whether the value is known."""
        return self.constant is not ABSENT


def constant(value: Any) -> Closure:
    """Make the closure of a known value, which costs nothing."""
    return Closure(lambda _: value, 0, flat=True, constant=value, known=value)


def paid(value: Any, cost: int) -> Closure:
    """Make the closure of a known value that is paid for as if it were computed each time."""
    return Closure(lambda _: value, cost, flat=True, known=value)


def spend_cost(state: State, cost: int) -> None:
    """Pay a cost that depends on values; raise when the limit is passed."""
    state[COST] += cost
    if state[COST] > state[LIMIT]:
        raise CostLimitExceeded


def run_for_cost(code: Code, state: State) -> None:
    """Run code only for what it costs: a failure before it has settled the result."""
    try:
        code(state)
    except EvaluationAborted:
        raise
    except EvaluationError:
        pass
