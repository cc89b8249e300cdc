"""A work queue as in client-go: no key twice, never two workers on one key, back-off by key."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from dragoman import metrics

Key = TypeVar("Key", bound=Hashable)

FIRST_DELAY = 0.005
"""Seconds before the first retry; doubled with each further one."""


class WorkQueue(Generic[Key]):
    """Keys to work on, in lanes that do not starve each other.

    It takes keys only while it is open: whoever opens it adds all keys there are.

    Args:
        name: The `name` of its metrics.
        lane: Which lane a key belongs to.
        jitter: Where the randomness of delays comes from; gives numbers in [0, 1).
    """

    def __init__(
        self,
        name: str,
        lane: Callable[[Key], str],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._open = False
        self._name = name
        self._lane = lane
        self._jitter = jitter
        self._waiting: dict[str, deque[Key]] = {}
        self._wanted: dict[str, asyncio.Semaphore] = {}
        self._since: dict[Key, float] = {}
        self._working: dict[Key, float] = {}
        self._again: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        metrics.QUEUE_DEPTH.labels(name).set_function(self.__len__)
        self._adds = metrics.QUEUE_ADDS.labels(name)
        self._queued = metrics.QUEUE_DURATION.labels(name)
        self._worked = metrics.WORK_DURATION.labels(name)

    def __len__(self) -> int:
        """Return how many keys wait for a worker, delayed ones apart."""
        return len(self._since)

    @property
    def delayed(self) -> int:
        """How many keys wait for their time."""
        return len(self._timers)

    @property
    def busy(self) -> int:
        """How many keys are being worked on."""
        return len(self._working)

    def longest_running(self) -> float:
        """Return for how many seconds the slowest worker has had its key."""
        if not self._working:
            return 0.0
        return time.monotonic() - min(self._working.values())

    def add(self, key: Key) -> None:
        """Want a key to be worked on, after the present work on it if there is any."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if not self._open or key in self._since or key in self._again:
            return
        self._adds.inc()
        if key in self._working:
            self._again.add(key)
        else:
            self._line_up(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Want a key to be worked on later; the earlier of two times holds."""
        if not self._open or key in self._since or key in self._again:
            return
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        due = loop.time() + seconds
        if timer is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(due, self._due, key)

    def retry(self, key: Key, *, longest: float, shortest: float = 0.0) -> float:
        """Want a key again after a failure; returns the delay in seconds.

        The delay doubles with each failure in a row, give or take a quarter, up to `longest`, and
        is never below `shortest` (what a server asked for).
        """
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = FIRST_DELAY * 2.0 ** min(failures, 40) * (0.75 + self._jitter() / 2)
        delay = max(shortest, min(longest * (0.75 + self._jitter() / 4), delay))
        metrics.QUEUE_RETRIES.labels(self._name).inc()
        self.add_after(key, delay)
        return delay

    def forget(self, key: Key) -> None:
        """Start again with short delays, after a success."""
        self._failures.pop(key, None)

    async def get(self, lane: str) -> Key:
        """Wait for a key of a lane; the caller must hand it back with `done`."""
        await self._permits(lane).acquire()
        key = self._waiting[lane].popleft()
        now = time.monotonic()
        self._queued.observe(now - self._since.pop(key))
        self._working[key] = now
        return key

    def done(self, key: Key) -> None:
        """Hand a key back."""
        self._worked.observe(time.monotonic() - self._working.pop(key))
        if key in self._again:
            self._again.discard(key)
            self._line_up(key)

    def open(self) -> None:
        """Take keys from now on."""
        self._open = True

    def close(self) -> None:
        """Drop all keys and take no more; call it when the workers have ended."""
        self._open = False
        for timer in self._timers.values():
            timer.cancel()
        for waiting in (self._timers, self._since, self._waiting, self._wanted, self._failures):
            waiting.clear()
        self._again.clear()

    def _due(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)

    def _line_up(self, key: Key) -> None:
        lane = self._lane(key)
        permits = self._permits(lane)
        self._since[key] = time.monotonic()
        self._waiting[lane].append(key)
        permits.release()

    def _permits(self, lane: str) -> asyncio.Semaphore:
        if lane not in self._waiting:
            self._waiting[lane] = deque()
            self._wanted[lane] = asyncio.Semaphore(0)
        return self._wanted[lane]
