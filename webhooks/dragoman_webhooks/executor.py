"""The order of reviews: what takes few steps comes at once, what takes many waits in a line.

Python runs one thread at a time, so that dear reviews beside each other would finish no earlier and
hold up all others. There is one thread for them, and what may take few steps is tried first there:
large objects and DriverConfigSchemas do not wait for dear configs. What would not be done by the
deadline is refused at once, so that what is begun is also answered.
"""

import asyncio
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from dragoman.driverconfigs.registry import Registry
from dragoman_webhooks.admission import QUICK_STEPS, Answer, TooDear, answer, quick_answer
from dragoman_webhooks.cache import Memories

AT_ONCE = 64 * 1024
"""Bytes of a body that is looked at at once; a claim with 32 ordinary configs has 12 KiB."""
BRIEF_STEPS = 1000
"""Steps at once, instead of `QUICK_STEPS`, while those were given to too many in vain."""
VAIN_SHARE = 0.1
"""Share of the event loop's time that may be lost to reviews that are given up."""
VAIN_SECONDS = 0.05
"""Seconds that may be lost at a stretch."""
LASTING = 0.25
"""Seconds of a dear review, until it is known how long they take here."""
WEIGHT = 0.25
"""Of the last dear review in that."""
KNOWN = 1024
"""Bodies that are known to be dear: whoever is told to come again comes with the same one."""


class Overload(Exception):  # noqa: N818 — says what there is too much of
    """A review that cannot be made in time, for those that wait already."""


class Reviewer:
    """Makes reviews, each where it holds up nobody.

    Args:
        deadline: Seconds for a review.
        places: Reviews that may wait for the thread.

    Attributes:
        memories: What earlier reviews found.
        waiting: Reviews that wait for the thread or are made there.
    """

    def __init__(self, deadline: float, places: int) -> None:
        self.memories = Memories()
        self._deadline = deadline
        self.waiting = 0
        self._places = places
        self._dear = 0
        self._lasting = LASTING
        self._line = asyncio.Lock()
        self._known: OrderedDict[int, None] = OrderedDict()  # bodies that take more
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="review")
        self._forgiven = 0.0  # when what was done in vain will be VAIN_SHARE of the time

    def at_once(self, body: bytes, registry: Registry) -> Answer | None:
        """Review what takes few steps; None for everything else.

        Raises:
            UnreviewableError: It is no review.
        """
        if len(body) > AT_ONCE or hash(body) in self._known:
            return None
        began = time.perf_counter()
        patient = self._forgiven < began + VAIN_SECONDS / VAIN_SHARE
        allowance = QUICK_STEPS if patient else BRIEF_STEPS
        try:
            return quick_answer(body, registry, self.memories, allowance)
        except TooDear:
            if patient:
                self._learn(body)
            taken = time.perf_counter() - began
            self._forgiven = max(self._forgiven, began) + taken / VAIN_SHARE
            return None

    async def later(self, body: bytes, registry: Registry) -> Answer:
        """Review what `at_once` did not.

        Raises:
            UnreviewableError: It is no review.
            Overload: There are too many before it.
            TimeoutError: It took longer than the deadline.
        """
        if self.waiting >= self._places:
            raise Overload
        self.waiting += 1
        try:
            async with asyncio.timeout(self._deadline) as limit:
                given = await self._first(body, registry)
                return given or await self._dearest(body, registry, limit.when() or 0.0)
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Take no more reviews."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _first(self, body: bytes, registry: Registry) -> Answer | None:
        if hash(body) in self._known:
            return None
        review = partial(quick_answer, body, registry, self.memories, compiles=True)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, review)
        except TooDear:
            self._learn(body)
            return None

    def _learn(self, body: bytes) -> None:
        self._known[hash(body)] = None
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)

    async def _dearest(self, body: bytes, registry: Registry, end: float) -> Answer:
        """Make a review that may take all steps, after those that came before.

        Only one of them stands in the thread's own line, so that others come before the rest. What
        would not be done in time is not begun.
        """
        loop = asyncio.get_running_loop()
        before = self._dear
        if before and loop.time() + (before + 1) * self._lasting > end:
            raise Overload
        self._dear += 1
        try:
            async with self._line:
                if before and loop.time() + self._lasting > end:
                    raise Overload
                return await loop.run_in_executor(self._thread, self._timed, body, registry)
        finally:
            self._dear -= 1

    def _timed(self, body: bytes, registry: Registry) -> Answer:
        began = time.perf_counter()
        given = answer(body, registry, self.memories)
        self._lasting += (time.perf_counter() - began - self._lasting) * WEIGHT
        self._known.pop(hash(body), None)  # it is remembered now
        return given
