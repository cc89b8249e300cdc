"""Plain steps: they bound the time of evaluations beside the CEL cost."""

from __future__ import annotations

from typing import Final

from dragoman.cel.errors import StepBudgetExceeded

EVALUATION_STEPS: Final = 1_000_000
"""Steps of one evaluation: iterations, and elements copied or compared. Some of these cost nothing
in CEL (a filter that keeps no element), so the cost limit alone does not bound the time."""

EVALUATION_OVERHEAD: Final = 15
"""Steps that every evaluation takes: some microseconds of set-up, and calls that take longer than
their CEL cost says, such as the parsing of a time or a quantity."""


class StepBudget:
    """Steps that several evaluations share, such as all those of one review.

    An evaluation spends its iterations and copied or compared elements, its CEL cost, and
    `EVALUATION_OVERHEAD`. The budget is not safe for use by several threads at once.

    Attributes:
        remaining: steps left, never below 0.
    """

    __slots__ = ("remaining",)

    def __init__(self, steps: int) -> None:
        self.remaining = steps

    def spend(self, steps: int) -> None:
        """Deduct steps.

        Raises:
            StepBudgetExceeded: fewer steps remain; then none are left.
        """
        self.remaining -= steps
        if self.remaining < 0:
            self.remaining = 0
            raise StepBudgetExceeded
