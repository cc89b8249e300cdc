"""The controller of ResourcePoolStatusRequests: informer, queue, answers, and their deletion."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from dragoman import metrics, surroundings
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.context import Context
from dragoman.controllers.poolstatus.requests import PoolStatusAnswer, PoolStatusRequest, answer
from dragoman.controllers.poolstatus.statuses import Computed, Statuses, StatusKey
from dragoman.inventory.facts.stored import StoredSlice
from dragoman.kube.controller import Controller
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman.model.timestamps import unix

AUTO_DELAY = 10.0
"""Seconds that another controller has for an answer: twice what the stock one may take."""
SETTLE_DELAY = 2.0
"""Seconds of age before a complete answer: the watch of slices may lag behind that of requests.

The API truncates creation times to seconds, so the delay is at least one second.
"""
WORKERS = 8
"""Answers that are written at the same time: enough that the API server has always one to do."""
FOLLOW_INTERVAL = 5.0
"""Seconds between checks whether this process leads now."""
CLEAN_INTERVAL = 600.0
"""Seconds between deletions of old requests."""

log = logger("dragoman.poolstatus")


class PoolStatusController:
    """Answers ResourcePoolStatusRequests, each once.

    It runs on every replica, so that followers are warm; only the leader answers.

    Args:
        context: Of the process.
        cluster: It stores claims, slices with content, and rules.
        resource: The served version of requests.
        own: Whether no other controller answers: then soon, and old requests are deleted.
        grace: Seconds that drivers have to complete their pools.
        views: Whether the server knows the views of partitions and shares (1.37).
        clock: Unix time in seconds.

    Attributes:
        informer: Of requests.
        queue: Names of requests that wait for a worker.
    """

    def __init__(  # noqa: PLR0913 — its start names each part
        self,
        context: Context,
        cluster: ClusterStores,
        resource: Resource,
        *,
        own: bool,
        grace: float = 5.0,
        views: bool = True,
        clock: Callable[[], float] = surroundings.unix,
    ) -> None:
        self._context = context
        self._client = context.client
        self._devices = devices = cluster.part(DeviceStores)
        self._own = own
        self._grace = grace
        self._statuses = Statuses(cluster, views=views, clock=clock)
        self._clock = clock
        self._seen: dict[str, float] = {}
        self.informer = Informer(context.client, resource, PoolStatusRequest.parse, [self._changed])
        self._requests = self.informer.store
        self.queue: WorkQueue[str] = WorkQueue("pool-status")
        self._controller = Controller(
            self.queue,
            self._reconcile,
            self._enqueue_all,
            workers=WORKERS,
            describe=lambda name: {"name": name},
        )
        devices.slices.observe(self._slice_changed)

    async def run(self) -> None:
        """Answer until cancelled."""
        await self._devices.slices.synced.wait()
        await self.informer.synced.wait()
        async with asyncio.TaskGroup() as tasks:
            if self._own:
                tasks.create_task(self._clean_periodically())
            tasks.create_task(self._controller.run())

    def _enqueue_all(self) -> None:
        for request in self._requests:
            if request.answered is None:
                self.queue.add(request.metadata.name)

    def _changed(self, old: PoolStatusRequest | None, new: PoolStatusRequest | None) -> None:
        if new is not None and new.answered is None:
            if old is None or old.metadata.uid != new.metadata.uid:
                self._seen[new.metadata.name] = self._clock()
            self.queue.add(new.metadata.name)
        elif (known := new or old) is not None:
            self._seen.pop(known.metadata.name, None)

    def _slice_changed(self, old: StoredSlice | None, new: StoredSlice | None) -> None:
        """Wake the requests that wait for slices of a driver."""
        found = new or old
        if found is None:
            return
        self._statuses.slices_changed(found.driver)
        for request in self._requests:
            if request.answered is None and request.driver == found.driver:
                self.queue.add(request.metadata.name)

    async def _reconcile(self, name: str) -> None:
        request = self._requests.get("", name)
        if request is None or request.answered is not None:
            self.queue.forget(name)
            return
        if not self._context.leading():
            self.queue.add_after(name, FOLLOW_INTERVAL)
            return
        created = unix(request.metadata.created)
        age = self._clock() - created
        delay = min(SETTLE_DELAY, self._grace) if self._own else AUTO_DELAY
        if age >= self._grace:
            delay = max(delay, self._grace)
        if age < delay:
            self.queue.add_after(name, delay - age)
            return
        key = StatusKey(request.driver, request.attribute)
        # No answer from facts older than the request, also where the API server's clock is behind.
        seen = self._seen.get(name, created)
        computed = await self._statuses.of(key, max(created + delay, seen))
        found = self._answer(request, computed)
        if not (found.complete and found.pools) and not self._statuses.is_newest(key, computed):
            found = self._answer(request, await self._statuses.of(key, seen, newest=True))
        if not (found.complete and found.pools) and age < self._grace:
            # New slices of the driver enqueue the request earlier.
            self.queue.add_after(name, self._grace - age)
            return
        if await self._write(request, found.status):
            outcome = "complete" if found.complete else "incomplete"
            metrics.POOL_STATUS_ANSWERS.labels(outcome).inc()
        self.queue.forget(name)

    def _answer(self, request: PoolStatusRequest, computed: Computed) -> PoolStatusAnswer:
        return answer(request, request.wanted(computed.pools), self._now())

    def _now(self) -> str:
        return f"{datetime.fromtimestamp(self._clock(), UTC):%Y-%m-%dT%H:%M:%SZ}"

    async def _write(self, request: PoolStatusRequest, status: dict[str, object]) -> bool:
        """Write an answer; return False where the server has one already."""
        name = request.metadata.name
        path = self.informer.resource.path(name=name, subresource="status")
        try:
            written = await self._context.writing.put(path, {**request.body, "status": status})
        except ApiError as error:
            # 422: a status never changes once it is set.
            if error.code not in {404, 409, 422} or not await self.informer.outdated(request):
                raise
            return False
        self.informer.changed(PoolStatusRequest.parse(written))
        log.info("Answered ResourcePoolStatusRequest", name=name, driver=request.driver)
        return True

    async def _clean_periodically(self) -> None:
        while True:
            await self.clean()
            await asyncio.sleep(CLEAN_INTERVAL)

    async def clean(self) -> None:
        """Delete answered requests after an hour, and others after a day."""
        now = self._clock()
        for request in self._requests:
            if now < request.expires() or not self._context.leading():
                continue
            metadata = request.metadata
            # A request that was created again under the name must survive.
            options = {"preconditions": {"uid": metadata.uid}}
            try:
                await self._client.delete(self.informer.resource.path(name=metadata.name), options)
            except ApiError as error:
                if error.code not in {404, 409}:
                    log.warning("Cannot delete a request", name=metadata.name, error=str(error))
