"""Being told to end: by Ctrl-C, by another program, or by a terminal that is closed."""

import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Turn signals into KeyboardInterrupt, and remember them.

    The exception alone is not enough: one that is raised in the middle of a library's clean-up is
    replaced by the library's own error, or dropped.

    Attributes:
        happened: Whether a signal has come.
    """

    def __init__(self) -> None:
        self.happened = False
        for number in SIGNALS:
            signal.signal(number, self._interrupt)

    def check(self) -> None:
        """Raise KeyboardInterrupt where a signal has come."""
        if self.happened:
            raise KeyboardInterrupt

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.happened = True
        raise KeyboardInterrupt
