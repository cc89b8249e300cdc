"""Whether the operator is alive: its loop turns, its feeds hear something, its workers move."""

import asyncio
import time
from collections.abc import Callable, Sequence

from dragoman import metrics
from dragoman.kube.pulse import WatchHealth

LAG_LIMIT = 10.0
"""Seconds that the event loop may be late."""
SILENCE_LIMIT = 300.0
"""Seconds for which a feed may hear nothing: bookmarks come each minute."""
STUCK_LIMIT = 180.0
"""Seconds for which one key may occupy a worker: no request takes longer than 30."""
UNREACHABLE_AFTER = 30.0
"""Seconds of failing lists and watches after which the operator is not ready."""
BEAT = 1.0


class Liveness:
    """Measures the event loop, and asks the parts.

    Args:
        feeds: The pulse of each feed.
        longest_running: For how many seconds the slowest worker has had its key.
    """

    def __init__(self, feeds: Sequence[WatchHealth], longest_running: Callable[[], float]) -> None:
        self._feeds = feeds
        self._longest_running = longest_running
        self._beat = time.monotonic()

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            await asyncio.sleep(BEAT)
            now = time.monotonic()
            metrics.LOOP_LAG.observe(max(0.0, now - self._beat - BEAT))
            self._beat = now

    def fault(self) -> str | None:
        """Return what is wrong so that only a restart helps, or None."""
        now = time.monotonic()
        lag = now - self._beat - BEAT
        if lag > LAG_LIMIT:
            return f"the event loop is {lag:.0f} s late"
        silence = max((pulse.silent_for() for pulse in self._feeds), default=0.0)
        if silence > SILENCE_LIMIT:
            return f"a feed has heard nothing for {silence:.0f} s"
        if self._longest_running() > STUCK_LIMIT:
            return f"a worker has been at one key for {self._longest_running():.0f} s"
        return None

    def unreachable(self) -> bool:
        """Whether a feed has failed for so long that it is no mere hiccup."""
        return any(pulse.failing_for() > UNREACHABLE_AFTER for pulse in self._feeds)
