"""The state of one evaluation: its cost, its remaining plain steps and its variables."""

from collections.abc import Callable
from typing import Any

from dragoman_cel.errors import StepBudgetExceeded

State = list[Any]
"""The state of one evaluation: cost, limit, steps, then the variables, each in its slot."""

Functions = dict[str, Callable[..., Any]]
"""Implementations by overload id."""

COST = 0
"""Slot of the CEL cost spent so far."""
LIMIT = 1
"""Slot of the CEL cost limit."""
STEPS = 2
"""Slot of the remaining plain steps: iterations, elements copied or compared."""
FIRST_VARIABLE = 3

STEPS_PER_CONTAINER = 10
"""Plain steps of a list or map besides its elements."""
STEPS_PER_ENTRY = 2
"""Plain steps of an entry that a macro adds to a map, besides its iteration."""
STEPS_PER_ERROR = 10
"""Plain steps of an error that an operator or a loop absorbs: to make, raise and catch it."""
TEXT_PER_STEP = 1024
"""Code points or bytes that a plain step compares or copies."""


def spend_steps(state: State, steps: int) -> None:
    """Deduct plain steps.

    Raises:
        StepBudgetExceeded: Fewer steps remain.
    """
    state[STEPS] -= steps
    if state[STEPS] < 0:
        raise StepBudgetExceeded


def spend_text_steps(state: State, value: Any, per_step: float = TEXT_PER_STEP) -> None:
    """Deduct the plain steps of reading a value, if it is a long text."""
    if (type(value) is str or type(value) is bytes) and len(value) > per_step:
        spend_steps(state, int(len(value) // per_step))


class Paced:
    """A function of (state, *arguments) that deducts plain steps for long texts."""

    __slots__ = ("call", "function", "per_step")

    def __init__(self, function: Callable[..., Any], per_step: float, call: int) -> None:
        self.function = function  # Of the arguments; it takes longer than its cost says
        self.per_step = per_step  # Code points of a step; below 1 where each takes several steps
        self.call = call  # Plain steps of a call, however short its texts are

    def __call__(self, state: State, *args: Any) -> Any:
        """Deduct the steps and call the function.

        Raises:
            StepBudgetExceeded: The texts take more steps than remain.
        """
        if self.call:
            spend_steps(state, self.call)
        for arg in args:
            spend_text_steps(state, arg, self.per_step)
        return self.function(*args)


def paced(per_step: float, functions: Functions, call: int = 0) -> Functions:
    """Return the functions with a deduction of plain steps for long texts, and for each call."""
    return {name: Paced(function, per_step, call) for name, function in functions.items()}


def scratch() -> State:
    """Return a state for an evaluation at compile time."""
    return [0, 1_000_000, 1_000_000]
