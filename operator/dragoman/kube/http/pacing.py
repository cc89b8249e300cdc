"""How often a busy watch is read.

The API server sends each watch event on its own, and a read (wake-up, system call, TLS, task
switch) costs several times what a line costs: at 500 irrelevant events a second, each costs 130 us
of CPU when it is read as it arrives, and 35 us when the socket is left unread for a while. An event
that follows silence is read at once. So an event may arrive FILTERED_INTERVAL later, but only in a
watch that sends many irrelevant ones.
"""

import math
from dataclasses import dataclass
from enum import Enum

INTERVAL = 0.005
"""Seconds between reads of a busy watch."""
FILTERED_INTERVAL = 0.04
"""Seconds between reads while the predicate filters out every line."""
SOCKET_BUFFER = 1 << 16
"""Bytes since the last pause after which the next one is INTERVAL: Linux buffers little more for a
slow reader, and the API server ends watches that it cannot write to."""
FULL_READ = 3 << 14
"""Bytes of one read from which more is surely waiting, so that reading on is cheap: one read takes
64 KiB at most, less a TLS record that is not complete."""


class ReadProgress(Enum):
    """What the last read of a stream completed."""

    PARTIAL = "neither the head nor a line"
    FILTERED = "lines, all of them filtered out"
    KEPT = "the head, or lines of which some are kept"


@dataclass
class ReadPacing:
    """Decides how long a stream stays unread after each read."""

    busy: bool = False  # Whether the server sends faster than the stream is read
    _last_read: float = -math.inf
    _unpaused: int = 0

    def pause_after(self, now: float, count: int, progress: ReadProgress) -> float:
        """Return the seconds to leave the socket unread; 0 to read on.

        Args:
            now: By a monotonic clock, in seconds.
            count: Bytes that were read.
            progress: What they completed.
        """
        self._unpaused += count
        filtered = progress is ReadProgress.FILTERED and self._unpaused < SOCKET_BUFFER
        interval = FILTERED_INTERVAL if filtered else INTERVAL
        self.busy = now - self._last_read < 2 * interval
        self._last_read = now
        if not self.busy or count >= FULL_READ:
            return 0.0
        self._unpaused = 0
        return interval

    @property
    def batch_delay(self) -> float:
        """Seconds between the arrival of lines and their delivery.

        Responses to own writes are processed in this time, after which most lines about the same
        writes are recognized by their resourceVersion and dropped unparsed.
        """
        return INTERVAL if self.busy else 0.0
