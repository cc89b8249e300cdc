"""The claim controller: its parts, and how they are put together."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from dragoman.claims.mode import Activity
from dragoman.controllers.claims.applier import Applier
from dragoman.controllers.claims.collector import ClaimCollector
from dragoman.controllers.claims.enqueue import LANES, EventHandlers, Key, lane
from dragoman.controllers.claims.events import ClaimEvents
from dragoman.controllers.claims.informers import Informers
from dragoman.controllers.claims.mode import ClaimMode
from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.controllers.claims.reconciler import Reconciler
from dragoman.controllers.claims.saferelease import SafeReleaseOptions, SafeReleaser
from dragoman.controllers.claims.state import ClusterState
from dragoman.kube.client import Client
from dragoman.kube.controller import Controller
from dragoman.kube.discovery import Served
from dragoman.kube.events import EventRecorder
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman.metrics import REGISTRY

MODE_INTERVAL = 1.0
"""Seconds between checks whether `auto` takes over."""

log = logger("dragoman.claims")


class ClaimController:
    """Creates, publishes, reserves and releases ResourceClaims.

    Args:
        client: Where to read and write.
        served: Which API versions the server has.
        recorder: Where Events go.
        mode: The claim mode.
        may_write: Whether this process leads.
        active: Whether claims are reconciled; otherwise they are only stored for other controllers.
        by_device: Whether claims are also found by the devices that they were allocated.
        workers: How many keys of each lane are reconciled at the same time.
        resync: Seconds between full passes over everything that is stored.
        safe_release: Whether claims stay reserved for pods that left before their containers ended.

    Attributes:
        state: The stored facts.
        queue: The keys that wait for a worker.
        handlers: Event handlers, which store facts and enqueue keys.
        informers: Where the event handlers are fed.
        active: Whether claims are reconciled.
        safe: Remembers how pods left; None without safe release.
        other: Observes another claim controller.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        client: Client,
        served: Served,
        recorder: EventRecorder,
        mode: ClaimMode,
        *,
        may_write: Callable[[], bool] = lambda: True,
        active: bool = True,
        by_device: bool = False,
        workers: int = 32,
        resync: float = 600.0,
        safe_release: SafeReleaseOptions | None = None,
    ) -> None:
        self.state = ClusterState(groups_served=served.groups is not None, by_device=by_device)
        self.queue: WorkQueue[Key] = WorkQueue(
            "claims", lane, namespace=lambda key: key.namespace, share=max(1, workers // 2)
        )
        events = ClaimEvents(self.state, served, recorder, may_write)
        self.other = OtherController(self.state, self._other_seen, events.fault)
        self.handlers = EventHandlers(self.state, self.queue, self.other)
        self.informers = Informers.of(self.handlers, client, served)
        self.safe: SafeReleaser | None = None
        if safe_release is not None:
            self.safe = SafeReleaser(client, self.handlers, events.unsafe, safe_release)
            self.informers = replace(self.informers, nodes=self.safe.nodes)
        reconciler = Reconciler(
            self.state,
            self.queue,
            self.informers,
            mode=mode,
            applier=Applier(client, served, self.handlers, self.informers.claims, may_write),
            events=events,
            safe=self.safe,
        )
        self._mode = mode
        self.active = active
        self._controller = Controller(
            self.queue,
            reconciler.reconcile,
            self.handlers.enqueue_all,
            lanes=LANES,
            workers=workers,
            resync=resync,
            describe=Key._asdict,
        )
        self._collector = ClaimCollector(self.state, self.safe)

    def unready(self) -> str | None:
        """Return None once the informers have listed everything, else a sentence."""
        if all(informer.synced.is_set() for informer in self.informers):
            return None
        return "pods, claims and templates are not listed yet"

    async def wait_synced(self) -> None:
        """Wait until the informers have listed everything; what comes later is news."""
        await asyncio.gather(*(informer.synced.wait() for informer in self.informers))
        if self.active:
            self.other.begin()
        state = self.state
        log.info(
            "Synced", pods=len(state.pods), claims=len(state.claims), templates=len(state.templates)
        )

    def _other_seen(self, activity: Activity) -> None:
        self._mode.other_seen(activity, namespaces=self.state.pods.namespaces)

    async def run(self) -> None:
        """Reconcile until cancelled; call it only while this process leads."""
        if not self.active:
            return
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(self._follow_mode())]
            if self.safe is not None:
                beside.append(tasks.create_task(self.safe.run()))
            try:
                await self._controller.run()
            finally:
                for task in beside:
                    task.cancel()

    async def _follow_mode(self) -> None:
        while True:
            await asyncio.sleep(MODE_INTERVAL)
            if self._mode.tick():
                self.handlers.enqueue_all()

    def register_metrics(self) -> None:
        """Add the collector to the registry."""
        REGISTRY.register(self._collector)

    def unregister_metrics(self) -> None:
        """Remove the collector from the registry."""
        REGISTRY.unregister(self._collector)
