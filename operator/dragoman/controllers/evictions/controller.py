"""The eviction controller: its parts, and how they are put together."""

import asyncio

from dragoman import metrics, surroundings
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.context import Context
from dragoman.controllers.evictions.applier import EvictionApplier
from dragoman.controllers.evictions.enqueue import (
    ALL_CLAIMS,
    LANES,
    EvictionKey,
    EvictionObserver,
    lane,
    rule_key,
)
from dragoman.controllers.evictions.evictionstate import EvictionState
from dragoman.controllers.evictions.faults import FaultReporter
from dragoman.controllers.evictions.reconciler import EvictionReconciler
from dragoman.kube.controller import Controller
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman.model.timestamps import unix
from dragoman_base.versions import Release

ASSIST_DELAY = 30.0
"""Seconds that the stock controller has for an eviction before `assist` does it."""
STOCK_ACTIVE = 300.0
"""Seconds after its last write during which the stock controller counts as active."""
BLOCKED_INTERVAL = 5.0
"""Seconds between checks whether the stock controller still blocks evictions."""

log = logger("dragoman.evictions")


class EvictionController:
    """Evicts pods from devices with NoExecute taints.

    Args:
        context: Of the process.
        cluster: What is stored of the cluster.
        stock: The release of the stock controller, to evict only what that forgets; None to evict
            all.
        workers: How many pods are evicted at the same time.
        resync: Seconds between full passes.

    Attributes:
        queue: The keys that wait for a worker.
        state: What is known.
    """

    def __init__(
        self,
        context: Context,
        cluster: ClusterStores,
        *,
        stock: Release | None = None,
        workers: int = 32,
        resync: float = 600.0,
    ) -> None:
        cluster.state.index_devices()
        assist = stock is not None
        devices = cluster.part(DeviceStores)
        self.state = EvictionState(cluster.state)
        self.queue: WorkQueue[EvictionKey] = WorkQueue(
            "evictions", lane, namespace=lambda key: key.namespace, share=max(1, workers // 2)
        )
        applier = EvictionApplier(context)
        faults = FaultReporter(context, self.state, cluster.served.claims, stock)
        self._observer = EvictionObserver(
            self.state,
            self.queue,
            cancelled=applier.cancelled,
            checked=faults.claim,
            concerns=(lambda pod: pod.extended_claim is not None) if assist else (lambda _: True),
            delay=ASSIST_DELAY if assist else 0.0,
        )
        cluster.pods.observe(self._observer.pod_changed)
        cluster.claims.observe(self._observer.claim_changed)
        devices.slices.observe(self._observer.slice_changed)
        devices.rules.observe(self._observer.rule_changed)
        self._devices = devices
        self._assist = assist
        self._controller = Controller(
            self.queue,
            EvictionReconciler(
                self.state,
                self.queue,
                self._observer,
                devices,
                applier=applier,
                faults=faults,
                claims=cluster.claims if assist else None,
            ).reconcile,
            self._enqueue_all,
            lanes=LANES,
            workers=workers,
            resync=resync,
            describe=EvictionKey._asdict,
        )
        metrics.PODS_TO_EVICT.set_function(self.state.planned.__len__)
        metrics.TAINT_RULES_SERVED.set_function(lambda: float(devices.rules_served is not None))

    def unready(self) -> str | None:
        """Return None once slices and rules are listed, else a sentence."""
        return None if self._devices.synced else "slices and rules are not listed yet"

    async def run(self) -> None:
        """Evict until cancelled; call it only while this process leads."""
        await self._devices.slices.synced.wait()
        await self._wait_alone()
        self._observer.active = True
        try:
            await self._controller.run()
        finally:
            self._observer.active = False
            self.state.clear()

    def _enqueue_all(self) -> None:
        self.queue.add(ALL_CLAIMS)
        for rule in self._devices.rules.store:
            self.queue.add(rule_key(rule.metadata.name))
        for uid in list(self.state.planned):
            self._observer.enqueue(uid)

    async def _wait_alone(self) -> None:
        """Wait until the stock controller has been silent: two of them would delete twice."""
        if not self._assist:
            # The rules show what the stock controller wrote.
            await self._devices.wait_rules()
        logged = False
        while not self._assist and (rule := self._stock_rule()):
            metrics.EVICTIONS_BLOCKED.set(1)
            if not logged:
                log.error(
                    "kube-controller-manager evicts pods too, so --evictions=own does nothing",
                    devicetaintrule=rule,
                    remedy="use --evictions=assist, or start kube-controller-manager with "
                    "--controllers=*,-device-taint-eviction-controller",
                )
            logged = True
            await asyncio.sleep(BLOCKED_INTERVAL)
        metrics.EVICTIONS_BLOCKED.set(0)

    def _stock_rule(self) -> str | None:
        """Return a rule whose status the stock controller wrote lately, None if it did not."""
        since = surroundings.now().timestamp() - STOCK_ACTIVE
        for rule in self._devices.rules.store:
            if rule.stock_stamp and unix(rule.stock_stamp) > since:
                return rule.metadata.name
        return None
