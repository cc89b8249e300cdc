"""The claim controller: its parts, and how they are put together."""

import asyncio

from dragoman.claims.mode import Activity
from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.claims.applier import ClaimApplier
from dragoman.controllers.claims.enqueue import LANES, EventHandlers, ObjectKey, lane
from dragoman.controllers.claims.events import ClaimEvents
from dragoman.controllers.claims.mode import ClaimMode
from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.controllers.claims.reconciler import ClaimReconciler
from dragoman.controllers.claims.saferelease import SafeReleaseOptions, SafeReleaser
from dragoman.controllers.context import Context
from dragoman.kube.controller import Controller
from dragoman.kube.workqueue import WorkQueue

MODE_INTERVAL = 1.0
"""Seconds between checks whether `auto` takes over."""


class ClaimController:
    """Creates, publishes, reserves and releases ResourceClaims.

    Args:
        context: Of the process.
        cluster: What is stored of the cluster.
        mode: The claim mode.
        workers: How many keys of each lane are reconciled at the same time.
        resync: Seconds between full passes over everything that is stored.
        safe_release: Whether claims stay reserved for pods that left before their containers ended.

    Attributes:
        state: The stored facts.
        queue: The keys that wait for a worker.
        safe: Remembers how pods left; None without safe release.
        other: Observes another claim controller.
    """

    def __init__(  # noqa: PLR0913 — its start names each part
        self,
        context: Context,
        cluster: ClusterStores,
        mode: ClaimMode,
        *,
        workers: int = 32,
        resync: float = 600.0,
        safe_release: SafeReleaseOptions | None = None,
    ) -> None:
        state = self.state = cluster.state
        self._cluster = cluster
        self.queue: WorkQueue[ObjectKey] = WorkQueue(
            "claims", lane, namespace=lambda key: key.namespace, share=max(1, workers // 2)
        )
        events = ClaimEvents(state, cluster.served, context)
        self.other = OtherController(state, self._other_seen, events.fault)
        self._handlers = EventHandlers(state, self.queue, self.other)
        self._handlers.observe(cluster)
        self.safe: SafeReleaser | None = None
        if safe_release is not None:
            self.safe = SafeReleaser(
                cluster, self._handlers, events.unsafe, safe_release, context.leading
            )
        reconciler = ClaimReconciler(
            cluster,
            self.queue,
            mode=mode,
            applier=ClaimApplier(context, cluster, self._handlers, mode.contested),
            events=events,
            safe=self.safe,
        )
        self._mode = mode
        self._controller = Controller(
            self.queue,
            reconciler.reconcile,
            self._handlers.enqueue_all,
            lanes=LANES,
            workers=workers,
            resync=resync,
            describe=ObjectKey._asdict,
        )

    async def observe(self) -> None:
        """Observe another claim controller, once everything is listed: what comes then is news."""
        await self._cluster.wait_synced()
        self.other.begin()

    def _other_seen(self, activity: Activity) -> None:
        self._mode.other_seen(activity, namespaces=len(self._handlers.pods_with_claims))

    async def run(self) -> None:
        """Reconcile until cancelled; call it only while this process leads."""
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
                self._handlers.enqueue_all()
