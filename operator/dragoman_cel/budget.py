"""Plain steps: they bound the time of evaluations in addition to the CEL cost."""

from contextvars import ContextVar

from dragoman_cel.errors import StepBudgetExceeded

EVALUATION_STEPS = 850_000
"""Steps of one evaluation: iterations, and elements copied or compared. Some of these cost nothing
in CEL (a filter that keeps no element), so the cost limit alone does not bound the time. A step
takes a microsecond at most, so that an evaluation ends within a second, whatever it calls; loops
over what devices publish reach the cost limit first, as in Kubernetes."""

EVALUATION_OVERHEAD = 15
"""Steps that every evaluation takes: some microseconds of set-up, and calls that take longer than
their CEL cost says, such as the parsing of a time or a quantity."""


class StepBudget:
    """Steps that several evaluations share, such as all those of one review.

    An evaluation spends its iterations and copied or compared elements, its CEL cost, and
    `EVALUATION_OVERHEAD`. The budget is not safe for use by several threads at once.
    """

    __slots__ = ("remaining",)

    def __init__(self, steps: int) -> None:
        self.remaining = steps  # Steps left, never below 0

    def spend(self, steps: int) -> None:
        """Deduct steps.

        Raises:
            StepBudgetExceeded: Fewer steps remain; then none are left.
        """
        self.remaining -= steps
        if self.remaining < 0:
            self.remaining = 0
            raise StepBudgetExceeded


class PatternBudget(StepBudget):
    """Steps for compiling the constant patterns of one author, all expressions together."""

    __slots__ = ("patterns", "too_large")

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.patterns: set[str] = set()  # The texts that compiled
        self.too_large: set[str] = set()  # Those that need more memory than a pattern may take

    def check(self) -> None:
        """Check that steps remain for the compilation of another pattern.

        Raises:
            StepBudgetExceeded: No steps remain.
        """
        if not self.remaining:
            raise StepBudgetExceeded


REVIEW_STEPS = 800_000
"""Steps of one review; a step is about half a microsecond of work.

An ordinary worst case (32 entries of 10 KiB, every byte visited) stays below it. A schema that
needs more fails with its own error, which is the same on every machine and under every load.
"""

current: ContextVar[StepBudget] = ContextVar("dragoman_steps")
"""The budget of the current review; functions of JSON Schema keywords have no parameter for it."""

compiling: ContextVar[PatternBudget | None] = ContextVar("dragoman_patterns", default=None)
"""The limit for constant patterns of the expressions in compilation; None: no limit."""
