"""The health of one watch, for liveness and readiness."""

from dragoman import surroundings

NOT_FOUND = 404


class WatchHealth:
    """When a watch last received anything, and for how long its requests have been failing.

    Attributes:
        vital: Whether the process is unready, or has to begin again, while the watch fails.
    """

    def __init__(self) -> None:
        self.vital = True
        self.begin()

    def begin(self) -> None:
        """Note that the watch begins only now."""
        self._active = surroundings.monotonic()
        self._first_failure: float | None = None
        self._first_missing: float | None = None

    def received(self) -> None:
        """Note that something was received."""
        self.begin()

    def failed(self, code: int = 0) -> None:
        """Note that a list or watch was refused, with an HTTP status, or broke."""
        self._active = surroundings.monotonic()
        if self._first_failure is None:
            self._first_failure = self._active
        if code != NOT_FOUND:
            self._first_missing = None
        elif self._first_missing is None:
            self._first_missing = self._active

    def silent_for(self) -> float:
        """Return for how many seconds nothing was received and nothing was tried."""
        return surroundings.monotonic() - self._active

    def failing_for(self) -> float:
        """Return the seconds from the first failure in a row to the latest; 0 while all is well.

        A watch that was reopened after a single failure may well be silent for a minute.
        """
        return 0.0 if self._first_failure is None else self._active - self._first_failure

    def missing_for(self) -> float:
        """Return the seconds for which the server has answered that it has no such resource."""
        return 0.0 if self._first_missing is None else self._active - self._first_missing
