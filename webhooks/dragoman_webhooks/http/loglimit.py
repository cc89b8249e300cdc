"""Bounds the log lines that clients can cause in the event loop."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOGGERS = ("asyncio", "aiofastnet")
LINES = 10
"""Lines in `PERIOD`, of each logger."""
PERIOD = 60.0
"""Seconds."""
HANDSHAKE_FAILED = "SSL handshake failed"
"""aiofastnet reports a client that leaves during the handshake as an error of the server."""


class LogLimit(logging.Filter):
    """Drops failed handshakes, and all lines beyond `LINES` in `PERIOD`.

    Args:
        clock: Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._began = -PERIOD
        self._passed = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is logged."""
        if str(record.msg).startswith(HANDSHAKE_FAILED):
            return False
        now = self._clock()
        if now - self._began >= PERIOD:
            self._began, self._passed = now, 0
        self._passed += 1
        return self._passed <= LINES


@contextmanager
def limited() -> Iterator[None]:
    """Limit the lines of `LOGGERS`."""
    limits = [(logging.getLogger(name), LogLimit()) for name in LOGGERS]
    for logger, limit in limits:
        logger.addFilter(limit)
    try:
        yield
    finally:
        for logger, limit in limits:
            logger.removeFilter(limit)
