"""Plain steps: what bounds the time of evaluations, besides their CEL cost."""

from __future__ import annotations

from typing import Final

from dragoman.cel.errors import StepBudgetExceeded

EVALUATION_STEPS: Final = 1_000_000
"""Steps of one evaluation: iterations, and elements copied or compared. CEL lets some of these
pass for nothing (a filter that takes nothing), so its cost limit alone bounds no time."""

EVALUATION_OVERHEAD: Final = 15
"""Steps of any evaluation beside what it does: some microseconds, and what single calls cost more
than CEL says, such as reading a time or a quantity."""


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
        """Take steps away.

        Raises:
            StepBudgetExceeded: there are not that many; then none remain.
        """
        self.remaining -= steps
        if self.remaining < 0:
            self.remaining = 0
            raise StepBudgetExceeded
