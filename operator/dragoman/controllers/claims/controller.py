"""Keys to workers: the life-cycle of claims, from a start to a clean stop."""

import asyncio
import random
from collections.abc import Callable

from dragoman.controllers.claims.applier import Applier, NotLeadingError
from dragoman.controllers.claims.enqueue import LANES, EventHandlers, Key, lane
from dragoman.controllers.claims.events import ClaimEvents
from dragoman.controllers.claims.mode import ClaimMode
from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.controllers.claims.reconciler import LONGEST_RETRY, Reconciler
from dragoman.kube.client import ApiError, Client
from dragoman.kube.discovery import Served
from dragoman.kube.events import EventRecorder
from dragoman.kube.informer import Informers
from dragoman.kube.store import ClusterState
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger

log = logger("dragoman.claims")

LONGEST_REFUSED_RETRY = 300.0
"""Seconds between tries after a quota or policy refused: nothing tells when it is lifted."""

STOP_GRACE = 3.0
"""Seconds for which a stop awaits writes in flight: a server that hangs must not hold it up."""


class ClaimController:
    """The life-cycle of claims: a queue and its workers.

    Args:
        api: Where to read and write.
        served: Which API versions the server has.
        recorder: Where Events go.
        pilot: Keeps the mode.
        may_write: Whether this process leads.
        workers: How many keys of each lane are worked on at the same time.
        resync: Seconds between full passes over everything that is known.

    Attributes:
        world: What is known.
        queue: The keys that wait for a worker.
        witness: Looks at what another controller does.
        intake: Where news goes.
        mirrors: Where news comes from.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        api: Client,
        served: Served,
        recorder: EventRecorder,
        mode: ClaimMode,
        *,
        may_write: Callable[[], bool] = lambda: True,
        workers: int = 32,
        resync: float = 600.0,
    ) -> None:
        self.state = ClusterState(groups_served=served.groups is not None)
        self.queue: WorkQueue[Key] = WorkQueue("claims", lane)
        events = ClaimEvents(self.state, served, recorder, may_write)
        self.other = OtherController(self.state, mode.other_seen, events.fault)
        self.handlers = EventHandlers(self.state, self.queue, self.other)
        self.informers = Informers.into(self.handlers, api, served)
        self._reconciler = Reconciler(
            self.state,
            self.queue,
            self.informers,
            mode=mode,
            applier=Applier(api, served, self.handlers, self.informers.claims, may_write),
            events=events,
        )
        self._mode = mode
        self._workers = workers
        self._resync = resync
        self._idle: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def run(self) -> None:
        """Work until cancelled; writes in flight are finished first.

        A stop must not cut a write in two: the server would do it and nobody know.
        """
        self.queue.open()
        self.handlers.everything()
        self._stopping = False
        workers = [
            asyncio.create_task(self._work(name)) for name in LANES for _ in range(self._workers)
        ]
        others = [
            asyncio.create_task(self._look_at_everything()),
            asyncio.create_task(self._mind_the_mode()),
        ]
        try:
            # Unlike gather, wait leaves the tasks alone when it is cancelled.
            ended, _ = await asyncio.wait([*workers, *others], return_when=asyncio.FIRST_EXCEPTION)
            for task in ended:
                task.result()
        finally:
            self._stopping = True
            for task in [*others, *self._idle]:
                task.cancel()
            await asyncio.wait([*workers, *others], timeout=STOP_GRACE)
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, *others, return_exceptions=True)
            self.queue.close()

    async def _look_at_everything(self) -> None:
        while True:
            await asyncio.sleep(self._resync * (0.9 + random.random() / 5))
            self.handlers.everything()

    async def _mind_the_mode(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            if self._mode.tick():
                self.handlers.everything()

    async def _work(self, name: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        while not self._stopping:
            self._idle.add(task)
            key = await self.queue.get(name)
            self._idle.discard(task)
            await self._handle(key)

    async def _handle(self, key: Key) -> None:
        try:
            await self._reconciler.reconcile(key)
        except ApiError as error:
            self._put_back(key, error)
        except NotLeadingError:
            # The next leader looks at everything; this one may yet renew and go on itself.
            log.debug("Left to the next leader", kind=key.kind, name=key.name)
            self.queue.retry(key, longest=LONGEST_RETRY)
        except Exception:
            # A fault in one object must not end the worker that the others need.
            log.exception("Cannot work on", kind=key.kind, namespace=key.namespace, name=key.name)
            self.queue.retry(key, longest=LONGEST_RETRY)
        finally:
            self.queue.done(key)

    def _put_back(self, key: Key, error: ApiError) -> None:
        refused = error.code in {403, 422}
        longest = LONGEST_REFUSED_RETRY if refused else LONGEST_RETRY
        delay = self.queue.retry(key, longest=longest, shortest=error.retry_after or 0.0)
        log.debug(
            "Will try again",
            kind=key.kind,
            namespace=key.namespace,
            name=key.name,
            seconds=round(delay, 3),
            code=error.code,
            error=str(error),
        )
