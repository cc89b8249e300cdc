"""Pauses between tries that grow while a fault lasts."""

import random
import time
from collections.abc import Iterator

FIRST = 0.1
LONGEST = 30.0
QUIET = 60.0
"""Seconds without a fault after which the next one is a first one again."""


class Backoff:
    """Seconds to wait after each fault: longer each time, some randomness, forgiving in time."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._failed = 0.0

    def next(self, asked: float | None = None) -> float:
        """Return the pause after a fault; at least what a server asked for."""
        now = time.monotonic()
        if now - self._failed > QUIET:
            self._pause = 0.0
        self._failed = now
        self._pause = min(LONGEST, max(FIRST, self._pause * 2))
        return max(asked or 0.0, self._pause * (0.75 + random.random() / 2))

    def succeeded(self) -> None:
        """Note that something worked; a single success does not end a bad time."""
        if time.monotonic() - self._failed > QUIET:
            self._pause = 0.0


class EndlessBackoff:
    """The same for whoever wants to iterate over them, anew with each fault, and never gives up."""

    def __iter__(self) -> Iterator[float]:
        """Iterate from the shortest on."""
        pauses = Backoff()
        while True:
            yield pauses.next()
