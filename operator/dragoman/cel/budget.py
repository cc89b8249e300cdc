"""Plain steps: what bounds the time of evaluations, besides their CEL cost."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from dragoman.cel.errors import StepBudgetExceeded

EVALUATION_STEPS: Final = 1_000_000
"""Steps of one evaluation: iterations, and elements copied or compared. CEL lets some of these
pass for nothing (a filter that takes nothing), so its cost limit alone bounds no time."""

EVALUATION_PRICE: Final = 15
"""Steps of any evaluation beside what it does: some microseconds, and what single calls cost more
than CEL says, such as reading a time or a quantity."""


class StepBudget:
    """Steps that several evaluations share, such as all those of one review.

    An evaluation spends its iterations and copied or compared elements, its CEL cost, and
    `EVALUATION_PRICE`. The budget is not safe for use by several threads at once.

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


class PatternBudget(StepBudget):
    """Steps for compiling the constant patterns of one author, all expressions together.

    Attributes:
        patterns: the texts that compiled.
        too_large: the texts that need more memory than a pattern may take.
    """

    __slots__ = ("patterns", "too_large")

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.patterns: set[str] = set()
        self.too_large: set[str] = set()

    def check(self) -> None:
        """Stop before a pattern is compiled that nothing is left for.

        Raises:
            StepBudgetExceeded: no steps remain.
        """
        if not self.remaining:
            raise StepBudgetExceeded


REVIEW_STEPS: Final = 800_000
"""Steps of one review; a step is about half a microsecond of work.

An ordinary worst case (32 entries of 10 KiB, every byte visited) stays below it. A schema that
needs more is refused by its own error, which is the same on every machine and under every load.
"""

current: Final[ContextVar[StepBudget]] = ContextVar("dragoman_steps")
"""The budget of the running review; JSON Schema's keywords have no parameter for it."""

compiling: Final[ContextVar[PatternBudget | None]] = ContextVar("dragoman_patterns", default=None)
"""Limits the constant patterns of the expressions that are being compiled; None: no limit."""
