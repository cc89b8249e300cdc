"""Runs a review where it delays no other: in the event loop, or in a thread.

Python runs one thread at a time, so several threads would finish no earlier and would delay the
event loop. Reviews of configs share one thread; schemas have another, because compiling one may
take a second in which configs must not wait; targets have a third, in turns between clients.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum, auto

from dragoman_configs.compile.registry import Registry
from dragoman_webhooks.admission import (
    Costly,
    ReviewResult,
    TooExpensiveError,
    review,
    review_configs,
)
from dragoman_webhooks.cache import Caches
from dragoman_webhooks.targets import CountDevices
from dragoman_webhooks.turns import FairThread, OverloadedError

INLINE_BYTES = 64 * 1024
"""Bytes of a body that is reviewed in the event loop; 32 ordinary configs have 12 KiB."""
INLINE_STEPS = 10_000
"""Steps of a review in the event loop, some milliseconds; an ordinary config takes 100."""
BRIEF_STEPS = 1000
"""The same while expensive reviews wait: their attempts must not take all of the loop's time."""
EXPENSIVE_SECONDS = 0.5
"""Seconds of a review that takes all steps; those that would miss the deadline are refused."""
SCHEMA_PLACES = 8
"""Reviews of schemas that run or wait; they must not take the places of configs."""
SCHEMA_PATIENCE = 1.0
"""Seconds of one review of a schema after which others are refused, not queued behind it."""
TARGET_PLACES = 32
"""Reviews of targets that wait, of all clients; they must not take the places of configs."""
TARGET_SHARE = 8
"""Those of one client: a flood from one address leaves room for the API server's reviews."""
SWITCH_INTERVAL = 0.0005
"""Seconds between thread switches while a review runs in a thread, and so the delay of others."""


class Lane(Enum):
    """Where a review runs that is not run in the event loop."""

    UNTRIED = auto()
    """In the thread for configs, with few steps first: most large objects need no more."""
    EXPENSIVE = auto()
    """In the same thread, with all steps, one after the other."""
    SCHEMA = auto()
    """In the thread for schemas."""
    TARGET = auto()
    """In the thread for targets, in turns between clients."""


class ReviewExecutor:
    """Runs reviews.

    Args:
        deadline: Seconds for a review.
        places: Reviews that may wait for a thread or run there.
        count_devices: What reviews of targets need of the cluster; None where they do without.

    Attributes:
        caches: Results of earlier reviews.
        waiting: Reviews of configs and schemas that wait for a thread or run there.
        targets: The thread for targets.
    """

    def __init__(
        self, deadline: float, places: int, count_devices: CountDevices | None = None
    ) -> None:
        self.caches = Caches(count_devices=count_devices)
        self.waiting = 0
        self._deadline = deadline
        self._places = places
        self._schema_reviews = 0
        self._schema_began: float | None = None
        self._expensive = 0
        self._expensive_places = max(1, int(deadline / EXPENSIVE_SECONDS))
        self._turn = asyncio.Lock()
        self._configs = ThreadPoolExecutor(1, thread_name_prefix="review-configs")
        self._schemas = ThreadPoolExecutor(1, thread_name_prefix="review-schema")
        self.targets = FairThread("review-target", places=TARGET_PLACES, share=TARGET_SHARE)

    def inline(self, body: bytes, registry: Registry) -> ReviewResult | Lane:
        """Review in the event loop; return the lane of a review that `queued` must run.

        Raises:
            UnreviewableError: The body is no AdmissionReview of a reviewed resource.
        """
        if len(body) > INLINE_BYTES:
            return Lane.UNTRIED
        if not self._expensive:
            return self._attempt(body, registry, INLINE_STEPS)
        lane = self._attempt(body, registry, BRIEF_STEPS)
        return Lane.UNTRIED if lane is Lane.EXPENSIVE else lane

    async def queued(
        self, body: bytes, registry: Registry, lane: Lane, client: str = ""
    ) -> ReviewResult:
        """Review in a thread.

        Args:
            body: As for `review`.
            registry: As for `review`.
            lane: As `inline` returned it.
            client: Address of the client.

        Raises:
            UnreviewableError: The body is no AdmissionReview of a reviewed resource.
            OverloadedError: Too many reviews wait already, or the thread for schemas has been busy
                with one of them for SCHEMA_PATIENCE seconds.
            TimeoutError: The review took longer than the deadline.
        """
        if lane is Lane.TARGET:
            async with asyncio.timeout(self._deadline):
                return await self._target(body, registry, client)
        if self.waiting >= self._places:
            raise OverloadedError
        self.waiting += 1
        try:
            async with asyncio.timeout(self._deadline):
                return await self._in_thread(body, registry, lane, client)
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Stop the threads after the reviews that run in them."""
        for thread in (self._configs, self._schemas):
            thread.shutdown(wait=False, cancel_futures=True)
        self.targets.close()

    def _attempt(self, body: bytes, registry: Registry, max_steps: int) -> ReviewResult | Lane:
        """Review with few steps; return the lane of a review that needs more."""
        try:
            result = review_configs(body, registry, self.caches, max_steps)
        except TooExpensiveError:
            return Lane.EXPENSIVE
        return _LANES[result] if isinstance(result, Costly) else result

    async def _in_thread(
        self, body: bytes, registry: Registry, lane: Lane, client: str
    ) -> ReviewResult:
        run = asyncio.get_running_loop().run_in_executor
        if lane is Lane.UNTRIED:
            found = await run(self._configs, self._attempt, body, registry, INLINE_STEPS)
            if isinstance(found, ReviewResult):
                return found
            lane = found
        if lane is Lane.TARGET:
            return await self._target(body, registry, client)
        if lane is Lane.SCHEMA:
            return await self._schema(body, registry)
        # Only one expensive review is in the thread's own queue, so that others run in between.
        if self._expensive >= self._expensive_places:
            raise OverloadedError
        self._expensive += 1
        try:
            async with self._turn:
                return await run(self._configs, self._review, body, registry)
        finally:
            self._expensive -= 1

    async def _schema(self, body: bytes, registry: Registry) -> ReviewResult:
        """Review a schema; refuse it where the thread is busy for long, and may stay so."""
        began = self._schema_began
        busy = began is not None and time.monotonic() - began > SCHEMA_PATIENCE
        if busy or self._schema_reviews >= SCHEMA_PLACES:
            raise OverloadedError("another DriverConfigSchema is being compiled: try again")
        run = asyncio.get_running_loop().run_in_executor
        self._schema_reviews += 1
        try:
            return await run(self._schemas, self._timed_review, body, registry)
        finally:
            self._schema_reviews -= 1

    async def _target(self, body: bytes, registry: Registry, client: str) -> ReviewResult:
        return await self.targets.run(client, lambda: self._review(body, registry))

    def _timed_review(self, body: bytes, registry: Registry) -> ReviewResult:
        """Review a schema; also after its client has left, the time since its begin is known."""
        self._schema_began = time.monotonic()
        try:
            return self._review(body, registry)
        finally:
            self._schema_began = None

    def _review(self, body: bytes, registry: Registry) -> ReviewResult:
        """Review with all steps, while the event loop gets its turns often."""
        with _SWITCHING.often():
            return review(body, registry, self.caches)


_LANES = {Costly.SCHEMA: Lane.SCHEMA, Costly.TARGET: Lane.TARGET}


class _SwitchInterval:
    """Shortens Python's switch interval while reviews run in threads, and restores it afterwards.

    The interval belongs to the whole process, which may be the operator's.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 0.0

    @contextmanager
    def often(self) -> Iterator[None]:
        with self._lock:
            if not self._users:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(SWITCH_INTERVAL, self._before))
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    sys.setswitchinterval(self._before)


_SWITCHING = _SwitchInterval()
