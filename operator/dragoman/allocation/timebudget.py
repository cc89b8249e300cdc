"""The time that one answer may take: searches and selectors spend it together.

A search counts its steps, so that it ends where the scheduler's ends, whatever the machine. Steps
say nothing about selectors, whose authors decide what each device costs, and nothing about how many
searches an answer takes. Callers with other work to do enter a budget; inside of it, everything in
this package spends it, without a parameter for it:

    with TimeBudget(0.5, clock=time.thread_time, stopped=event.is_set):
        allocate(...)
"""

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Self

COST_LIMIT = 1_000_000
"""CEL cost that the scheduler allows a selector on a device; ours takes a second at most."""


class TooExpensiveError(Exception):
    """An answer took more time than it may."""


class StoppedError(Exception):
    """The answer is not needed any more, as the process is about to end."""


class TimeBudget:
    """Seconds for one answer, from `with` on; of use to one thread.

    Args:
        seconds: How long it may take.
        clock: Seconds; those of the thread's CPU time do not depend on what else runs.
        stopped: Whether the answer is not needed any more.
    """

    def __init__(
        self, seconds: float, clock: Callable[[], float], stopped: Callable[[], bool] | None = None
    ) -> None:
        self.seconds = seconds
        self._clock = clock
        self._stopped = stopped
        self._end = clock() + seconds
        self._outer: Token[TimeBudget | None] | None = None

    def __enter__(self) -> Self:
        """Begin: everything in this thread, or task, spends the budget until the block ends."""
        self._end = self._clock() + self.seconds
        self._outer = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        if self._outer is not None:
            _current.reset(self._outer)

    def left(self) -> float:
        """Return how many seconds are left, more than 0.

        Raises:
            TooExpensiveError: None are.
            StoppedError: The answer is not needed any more.
        """
        if self._stopped is not None and self._stopped():
            raise StoppedError
        left = self._end - self._clock()
        if left <= 0:
            raise TooExpensiveError
        return left


_current: ContextVar[TimeBudget | None] = ContextVar("dragoman_time", default=None)


def check() -> None:
    """Go on only while the budget lasts.

    Raises:
        TooExpensiveError: The budget that was entered is used up.
        StoppedError: The answer is not needed any more.
    """
    budget = _current.get()
    if budget is not None:
        budget.left()


def cost_left() -> int:
    """Return what one selector may cost, so that it ends in time; `COST_LIMIT` at most.

    Raises:
        TooExpensiveError: As `check`.
        StoppedError: As `check`.
    """
    budget = _current.get()
    return COST_LIMIT if budget is None else min(int(budget.left() * COST_LIMIT), COST_LIMIT)
