"""Exponential back-off with jitter of watches, and of other loops that read until they succeed.

Keys of work queues have their own: `kube.workqueue`.
"""

from dragoman import surroundings

FIRST = 0.1
LONGEST = 30.0
RESET_AFTER = 60.0
"""Seconds without a failure after which the next failure counts as a first one."""


class Backoff:
    """Seconds to wait after each failure: doubled each time, with jitter, reset after success."""

    def __init__(self) -> None:
        self._delay = 0.0
        self._failed = 0.0

    def next(self, retry_after: float | None = None) -> float:
        """Return the delay after a failure, at least what the server's Retry-After demands."""
        now = surroundings.monotonic()
        if now - self._failed > RESET_AFTER:
            self._delay = 0.0
        self._failed = now
        self._delay = min(LONGEST, max(FIRST, self._delay * 2))
        return max(retry_after or 0.0, self._delay * (0.75 + surroundings.chance().random() / 2))

    def succeeded(self) -> None:
        """Note a success; a single one right after a failure does not reset the delay."""
        if surroundings.monotonic() - self._failed > RESET_AFTER:
            self._delay = 0.0
