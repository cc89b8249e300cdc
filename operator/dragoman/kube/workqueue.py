"""A work queue as in client-go: no key twice, never two workers on one key, back-off by key.

A key is in one of four places, and `add` depends on which (a worker may delay its key already):

    delayed (a timer) ──> waiting (in a lane) ──> working ──> nowhere
                                ^                    │ `add` by then: once more
                                └────────────────────┘

An event therefore never starts a second reconcile beside the first, and a thousand events of one
object cost one reconcile after the running one. `add` ends a delay, since what has changed may be
what the key waited for; `add_after` only ever makes a key due earlier. `retry` doubles the delay
with each failure in a row, with jitter, up to what the caller allows; `forget` resets it.

Beyond client-go: keys wait in lanes, each with its own workers, so that what is urgent waits for
nothing that is slow. Within a lane namespaces take turns, so that one namespace with thousands of
keys delays the others by one key each. A namespace that is alone has every worker. Beside others
that were active during the last seconds it has its share, and the rest of the workers stay free:
the next pod of another namespace then waits for no worker, nor for requests at the API server.

The queue is open only while its process leads. Keys are not kept across that: who leads next adds
all there are, since what they say is in the informers' stores.
"""

import asyncio
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dragoman import metrics, surroundings

Key = TypeVar("Key", bound=Hashable)

FIRST_DELAY = 0.005
"""Seconds before the first retry; doubled with each further one."""


ACTIVE = 5.0
"""Seconds for which a namespace that got a worker counts as one that shares the workers."""


@dataclass
class _Lane(Generic[Key]):
    """Keys of one lane that wait, by namespace, and how many keys of each workers have."""

    share: float  # How many keys of one namespace workers have while other namespaces are active
    waiting: OrderedDict[str, deque[Key]] = field(default_factory=OrderedDict)
    working: Counter[str] = field(default_factory=Counter)
    active: OrderedDict[str, float] = field(default_factory=OrderedDict)
    idle: deque[asyncio.Future[None]] = field(default_factory=deque)

    def put(self, namespace: str, key: Key) -> None:
        """Let a key wait behind the others of its namespace."""
        self.waiting.setdefault(namespace, deque()).append(key)
        self._wake()

    async def take(self) -> Key:
        """Wait for a key that a worker may have."""
        while True:
            self._forget_inactive(surroundings.monotonic() - ACTIVE)
            namespace = self._next()
            if namespace is not None:
                self.active[namespace] = surroundings.monotonic()
                self.active.move_to_end(namespace)
                return self._pop(namespace)
            woken = asyncio.get_running_loop().create_future()
            self.idle.append(woken)
            try:
                await woken
            except asyncio.CancelledError:
                if not woken.cancelled():
                    self._wake()  # what this worker was woken for is another's now
                raise

    def done(self, namespace: str) -> None:
        """Note that a worker handed back a key."""
        self.working[namespace] -= 1
        if not self.working[namespace]:
            del self.working[namespace]
        if self.waiting:
            self._wake()

    def _next(self) -> str | None:
        """Return whose key is next: namespaces take turns, those below their share first.

        A namespace that is alone has every worker. Beside another one that was active a moment ago
        the other workers stay free: its next pod then waits for no worker, and its requests wait
        for fewer others at the API server.
        """
        for namespace in self.waiting:
            if self.working[namespace] < self.share:
                return namespace
        first = next(iter(self.waiting), None)
        has_neighbours = len(self.active) > (first in self.active)
        return None if len(self.waiting) == 1 and has_neighbours else first

    def _pop(self, namespace: str) -> Key:
        keys = self.waiting[namespace]
        key = keys.popleft()
        if keys:
            self.waiting.move_to_end(namespace)
        else:
            del self.waiting[namespace]
        self.working[namespace] += 1
        return key

    def _forget_inactive(self, before: float) -> None:
        while self.active and next(iter(self.active.values())) < before:
            self.active.popitem(last=False)

    def _wake(self) -> None:
        while self.idle:
            woken = self.idle.popleft()
            if not woken.done():
                woken.set_result(None)
                return


class WorkQueue(Generic[Key]):
    """Keys to reconcile, in lanes that do not starve each other.

    It takes keys only while it is open; add all keys there are after opening it.

    Args:
        name: The `name` of its metrics.
        lane: Which lane a key belongs to.
        namespace: The namespace of a key; namespaces take turns.
        share: How many keys of one namespace and lane workers have while others are active.
        jitter: Where the randomness of delays comes from; gives numbers in [0, 1).
    """

    def __init__(
        self,
        name: str,
        lane: Callable[[Key], str] = lambda _: "",
        *,
        namespace: Callable[[Key], str] = lambda _: "",
        share: float = math.inf,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        self._open = False
        self._name = name
        self._lane = lane
        self._namespace = namespace
        self._share = share
        self._jitter = jitter or surroundings.chance().random
        self._lanes: dict[str, _Lane[Key]] = {}
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
        """Return how many keys wait for a worker, without the delayed ones."""
        return len(self._since)

    @property
    def delayed(self) -> int:
        """How many keys are delayed."""
        return len(self._timers)

    @property
    def busy(self) -> int:
        """How many keys workers have."""
        return len(self._working)

    def longest_running(self) -> float:
        """Return for how many seconds the slowest worker has had its key."""
        if not self._working:
            return 0.0
        return surroundings.monotonic() - min(self._working.values())

    def add(self, key: Key) -> None:
        """Enqueue a key; while a worker has it, for when that worker is done."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if not self._open or key in self._since or key in self._again:
            return
        self._adds.inc()
        if key in self._working:
            self._again.add(key)
        else:
            self._put(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Enqueue a key after a delay; the earlier time wins."""
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
        """Requeue a key after a failure; returns the delay in seconds.

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
        """Reset the back-off of a key, after a success."""
        self._failures.pop(key, None)

    async def get(self, lane: str = "") -> Key:
        """Wait for a key of a lane; the caller must hand it back with `done`."""
        key = await self._lane_of(lane).take()
        now = surroundings.monotonic()
        self._queued.observe(now - self._since.pop(key))
        self._working[key] = now
        return key

    def done(self, key: Key) -> None:
        """Hand a key back."""
        self._worked.observe(surroundings.monotonic() - self._working.pop(key))
        self._lane_of(self._lane(key)).done(self._namespace(key))
        if key in self._again:
            self._again.discard(key)
            self._put(key)

    def open(self) -> None:
        """Accept keys from now on."""
        self._open = True

    def close(self) -> None:
        """Drop all keys and accept no more; call it when the workers have ended."""
        self._open = False
        for timer in self._timers.values():
            timer.cancel()
        for keys in (self._timers, self._since, self._lanes, self._failures):
            keys.clear()
        self._again.clear()

    def _due(self, key: Key) -> None:
        del self._timers[key]
        self.add(key)

    def _put(self, key: Key) -> None:
        self._since[key] = surroundings.monotonic()
        self._lane_of(self._lane(key)).put(self._namespace(key), key)

    def _lane_of(self, name: str) -> _Lane[Key]:
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = _Lane(self._share)
        return lane
