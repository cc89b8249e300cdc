"""Whether a feed is alive: when something last came in, and for how long nothing works."""

import time


class WatchHealth:
    """Of one list-and-watch; a try that fails is no less alive than a watch that is quiet."""

    def __init__(self) -> None:
        self._heard = time.monotonic()
        self._failed_first: float | None = None

    def works(self) -> None:
        """Note that something came in."""
        self._heard = time.monotonic()
        self._failed_first = None

    def fails(self) -> None:
        """Note that a list or a watch was refused, or broke."""
        self._heard = time.monotonic()
        if self._failed_first is None:
            self._failed_first = self._heard

    def silent_for(self) -> float:
        """Return for how many seconds nothing has come in and nothing was tried."""
        return time.monotonic() - self._heard

    def failing_for(self) -> float:
        """Return the seconds from the first failure to the latest one; 0 when all is well.

        A watch that was opened again after a single break may well be silent for a minute.
        """
        return 0.0 if self._failed_first is None else self._heard - self._failed_first
