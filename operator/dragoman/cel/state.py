"""What one evaluation changes: its cost, the plain steps it has left, and its variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dragoman.cel.errors import StepBudgetExceeded

State = list[Any]
"""What one evaluation changes: cost, limit, steps, then the variables, each in its slot."""

Functions = dict[str, Callable[..., Any]]
"""Implementations by overload id."""

COST: Final = 0
"""Slot of the CEL cost spent so far."""
LIMIT: Final = 1
"""Slot of the CEL cost limit."""
STEPS: Final = 2
"""Slot of the plain steps left: iterations, elements copied or compared."""
FIRST_VARIABLE: Final = 3

STEPS_PER_CONTAINER: Final = 10
"""What looking into a list or map costs besides its elements."""
TEXT_PER_STEP: Final = 1024
"""Code points or bytes that are compared or copied in a plain step."""


def spend_steps(state: State, steps: int) -> None:
    """Take plain steps off the steps; raise when none are left."""
    state[STEPS] -= steps
    if state[STEPS] < 0:
        raise StepBudgetExceeded


def spend_text_steps(state: State, value: Any, per_step: int = TEXT_PER_STEP) -> None:
    """Take the steps off the steps that reading a value takes if it is a long text."""
    if (type(value) is str or type(value) is bytes) and len(value) > per_step:
        spend_steps(state, len(value) // per_step)


class Paced:
    """A function of (state, *arguments) that pays for long texts among its arguments.

    Attributes:
        function: of the arguments; its time with long texts is out of proportion to its cost.
        per_step: code points that a plain step pays for.
    """

    __slots__ = ("function", "per_step")

    def __init__(self, function: Callable[..., Any], per_step: int) -> None:
        self.function = function
        self.per_step = per_step

    def __call__(self, state: State, *args: Any) -> Any:
        """Pay and call.

        Raises:
            StepBudgetExceeded: the texts are longer than the steps that are left allow.
        """
        for arg in args:
            spend_text_steps(state, arg, self.per_step)
        return self.function(*args)


def paced(per_step: int, functions: Functions) -> Functions:
    """Let functions pay for long texts among their arguments."""
    return {name: Paced(function, per_step) for name, function in functions.items()}
