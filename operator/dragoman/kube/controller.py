"""A controller as in controller-runtime: workers take keys from a work queue and reconcile them.

The way of a change through a process that leads:

    API server ─watch─> reflector ─> informer's store ─> callbacks ─key─> work queue ─> `reconcile`

A reconcile is level-based: it gets a key, never an event, reads facts from stores, lets a planner
decide, which is a pure function, and applies the actions. It may run twice, late, or after a crash
between two of its writes; each time it compares what is with what should be. What a controller
remembers beside the stores only saves requests, or delays them: a new leader can go on without.

How a reconcile fails decides when its key comes back. An ApiError backs off for up to a minute, or
for as long as the server asked; a 403 or 422 for up to five, because no event reports the end of a
quota or policy. Any other error is logged with its traceback and is retried too: a fault that one
object causes must not end the worker that other objects need.

A change that no watch reports (a lost event, a rule about time) is found by the full pass every ten
minutes, at most; controllers that wait for a moment in time use `add_after` instead.

A stop waits for requests in flight for a few seconds before it cancels them: the server may apply
a write that was cancelled, and its result then stays unknown.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dragoman import surroundings
from dragoman.kube.errors import ApiError
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger

Key = TypeVar("Key", bound=Hashable)

LONGEST_RETRY = 60.0
"""Longest back-off in seconds after a failure."""
LONGEST_REFUSED_RETRY = 300.0
"""Longest back-off after a 403 or 422: no event reports the end of a quota or policy."""
STOP_GRACE = 3.0
"""Seconds that a stop waits for requests in flight; a server that hangs must not delay it more."""

log = logger("dragoman.controller")


class NotLeadingError(Exception):
    """This process does not hold the Lease any more; the leader does what is left."""


@dataclass
class Controller(Generic[Key]):
    """Reconciles the keys of a work queue until cancelled."""

    queue: WorkQueue[Key]  # The keys; it is open only while the controller runs
    # Settles one key; what it raises is retried with back-off
    reconcile: Callable[[Key], Awaitable[None]]
    # Adds every key there is, at the start and every `resync` seconds
    enqueue_all: Callable[[], None]
    lanes: Sequence[str] = ("",)  # Lanes of the queue; each has workers of its own
    workers: int = 1  # Workers per lane
    resync: float = 600.0  # Seconds between full passes
    # Fields of log lines about a key
    describe: Callable[[Key], dict[str, Any]] = lambda key: {"key": key}
    _idle: set[asyncio.Task[None]] = field(default_factory=set)
    _stopping: bool = False

    async def run(self) -> None:
        """Reconcile until cancelled; requests in flight have `STOP_GRACE` to finish.

        Cancel none before: the server may apply it without our learning the result.
        """
        self.queue.open()
        self.enqueue_all()
        self._stopping = False
        workers = [
            asyncio.create_task(self._work(lane))
            for lane in self.lanes
            for _ in range(self.workers)
        ]
        resync = asyncio.create_task(self._resync())
        try:
            # Unlike gather, wait leaves the tasks running when it is cancelled.
            ended, _ = await asyncio.wait([*workers, resync], return_when=asyncio.FIRST_EXCEPTION)
            for task in ended:
                task.result()
        finally:
            self._stopping = True
            for task in [resync, *self._idle]:
                task.cancel()
            await asyncio.wait([*workers, resync], timeout=STOP_GRACE)
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, resync, return_exceptions=True)
            self._idle.clear()
            self.queue.close()

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self.resync * (0.9 + surroundings.chance().random() / 5))
            self.enqueue_all()

    async def _work(self, lane: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        while not self._stopping:
            self._idle.add(task)
            key = await self.queue.get(lane)
            self._idle.discard(task)
            await self._process(key)

    async def _process(self, key: Key) -> None:
        try:
            await self.reconcile(key)
        except ApiError as error:
            self._requeue(key, error)
        except NotLeadingError:
            # The next leader enqueues everything; this process may also renew and continue.
            log.debug("Left to the leader", **self.describe(key))
            self.queue.retry(key, longest=LONGEST_RETRY)
        except Exception:
            # A fault in one object must not end the worker that other objects need.
            log.exception("Cannot reconcile", **self.describe(key))
            self.queue.retry(key, longest=LONGEST_RETRY)
        finally:
            self.queue.done(key)

    def _requeue(self, key: Key, error: ApiError) -> None:
        refused = error.code in {403, 422}
        longest = LONGEST_REFUSED_RETRY if refused else LONGEST_RETRY
        delay = self.queue.retry(key, longest=longest, shortest=error.retry_after or 0.0)
        log.debug(
            "Requeued",
            seconds=round(delay, 3),
            code=error.code,
            error=str(error),
            **self.describe(key),
        )
