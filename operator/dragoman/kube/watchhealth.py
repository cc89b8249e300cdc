"""The health of one watch, for liveness and readiness."""

import time


class WatchHealth:
    """When a watch last received anything, and for how long its requests have been failing."""

    def __init__(self) -> None:
        self._active = time.monotonic()
        self._first_failure: float | None = None

    def received(self) -> None:
        """Note that something was received."""
        self._active = time.monotonic()
        self._first_failure = None

    def failed(self) -> None:
        """Note that a list or watch was refused, or broke."""
        self._active = time.monotonic()
        if self._first_failure is None:
            self._first_failure = self._active

    def silent_for(self) -> float:
        """Return for how many seconds nothing was received and nothing was tried."""
        return time.monotonic() - self._active

    def failing_for(self) -> float:
        """Return the seconds from the first failure in a row to the latest; 0 while all is well.

        A watch that was reopened after a single failure may well be silent for a minute.
        """
        return 0.0 if self._first_failure is None else self._active - self._first_failure
