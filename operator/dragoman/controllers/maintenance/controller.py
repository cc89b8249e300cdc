"""The DeviceMaintenance controller: does what `kubectl dra drain` does, and ends it again.

All state is in the cluster: after a restart the same plans follow from holds, claims and pods.
Claims, pods, slices and rules are those that the other controllers store.
"""

import asyncio
from collections import Counter

from dragoman import metrics, surroundings
from dragoman.cluster.published import Published
from dragoman.controllers.context import Context
from dragoman.controllers.maintenance.drainer import Order
from dragoman.controllers.maintenance.maintenances import Maintenances
from dragoman.controllers.maintenance.run import Run
from dragoman.controllers.maintenance.view import MaintenanceView, served_rules
from dragoman.controllers.maintenance.writer import Writer
from dragoman.kube.controller import Controller
from dragoman.kube.discovery import Served
from dragoman.kube.resources import Resource
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman.maintenance.devicemaintenance import FINALIZER, DeviceMaintenance, MaintenanceProgress
from dragoman.maintenance.holds import Hold, HoldKind
from dragoman.maintenance.manifests import Origin, selectors
from dragoman.maintenance.targets import TargetError
from dragoman.model.deviceid import DeviceID

ACTIVE_INTERVAL, SETTLED_INTERVAL = 2.0, 30.0
"""Seconds between looks at the slices, while devices are in use and after."""
REST = 10.0
"""How many times longer the pause is than a look."""
LATE = 60.0
"""Seconds for which the API server may still do a write whose answer was given up."""
RULES_INTERVAL = 60.0
"""Seconds between checks whether DeviceTaintRules are served."""

log = logger("dragoman.maintenance")


class MaintenanceController:
    """Carries out DeviceMaintenances.

    Args:
        context: Of the process.
        served: Which API versions the server has.
        view: Claims, pods and DeviceTaintRules of the cluster.
        published: Its devices.
        namespace: Where held claims are created.
        resync: Seconds between full passes.

    Attributes:
        objects: The DeviceMaintenances and what belongs to them.
        queue: Names that wait for a worker.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        context: Context,
        served: Served,
        view: MaintenanceView,
        published: Published,
        *,
        namespace: str = "default",
        resync: float = 600.0,
    ) -> None:
        self._context = context
        self._client = context.client
        self._served = served
        self._namespace = namespace
        self._runs: dict[str, Run] = {}
        self._view = view
        self._rules: Resource | None = None
        self._rules_looked_for = float("-inf")
        self.queue: WorkQueue[str] = WorkQueue("devicemaintenances")
        self.objects = Maintenances(
            context, served, view, published, enqueue=self.queue.add, namespace=namespace
        )
        self._controller = Controller(self.queue, self.reconcile, self.enqueue_all, resync=resync)

    async def run(self) -> None:
        """Reconcile until cancelled, once the objects are listed."""
        informers = (self.objects.informer, self._view.claims, self._view.pods)
        await asyncio.gather(*(one.synced.wait() for one in informers))
        try:
            await self._controller.run()
        finally:
            await self._stop_all()
            metrics.device_maintenances({})

    def enqueue_all(self) -> None:
        """Enqueue every DeviceMaintenance."""
        for one in self.objects.store:
            self.queue.add(one.metadata.name)

    async def reconcile(self, name: str) -> None:
        """Bring one DeviceMaintenance further; raise ApiError where the key must be retried."""
        if not self._context.leading():
            await self._stop_all()
            # The leader counts them; here they would stay as they were.
            metrics.device_maintenances({})
            return
        stored = self.objects.store.get("", name)
        if stored is None:
            await self._stop(name)
        elif stored.metadata.deleting:
            await self._end(stored)
        elif (left := stored.remaining(surroundings.now())) is not None and left <= 0:
            await self._expire(stored)
            if left > -LATE:
                self.queue.add_after(name, left + LATE)
        else:
            await self._carry_out(stored, left)
        self.queue.forget(name)
        metrics.device_maintenances(Counter(one.state for one in self.objects.store))

    async def _carry_out(self, stored: DeviceMaintenance, left: float | None) -> None:
        """Hold the devices and evict pods, and write how far it is."""
        name = stored.metadata.name
        began = surroundings.monotonic()
        if FINALIZER not in stored.finalizers:
            # First, so that a deletion leaves no hold behind.
            finalized = await self.objects.finalize(stored, (*stored.finalizers, FINALIZER))
            if finalized is None:
                return
            stored = finalized
        try:
            await self._ordered(stored)
            fault = ""
        except TargetError as error:
            await self._stop(name)
            fault = f"spec.target.where: {error}"
        run = self._runs.get(name)
        progress = MaintenanceProgress(fault=fault) if run is None else run.progress()
        await self.objects.write_status(stored, progress)
        plan = progress.plan
        done = plan is not None and plan.held and plan.idle and progress.settled
        pause = SETTLED_INTERVAL if done or fault else ACTIVE_INTERVAL
        # An expensive target must not take most of the time of other work.
        pause = max(pause, REST * (surroundings.monotonic() - began))
        self.queue.add_after(name, pause if left is None else min(pause, left + 0.05))

    async def _ordered(self, stored: DeviceMaintenance) -> None:
        """Start a run for the devices as they are published now, or give them to the present one.

        Raises:
            TargetError: The expression of the target does not compile, or takes too long.
            ApiError: Slices or holds cannot be listed.
        """
        name, target = stored.metadata.name, stored.target
        devices = await self.objects.devices(stored, await self._served_rules())
        whole = target.pool and not (target.device or target.node or target.where)
        order = Order(
            devices,
            selectors(devices, [(target.driver, target.pool)] if whole else ()),
            HoldKind.CLAIM if self._rules is None else HoldKind.RULE,
            stored.evict,
        )
        run = self._runs.get(name)
        if run is not None and run.fits(stored.evict, self._rules):
            run.update(order)
            return
        await self._stop(name)
        writer = Writer(
            self._client,
            self._served.claims,
            self._rules,
            self._namespace,
            _origin(stored),
            leading=self._context.leading,
        )
        self._runs[name] = Run(self._view, writer, order, lambda: self.queue.add(name))
        log.info("Taking devices out of service", name=name, devices=len(devices))

    async def _end(self, stored: DeviceMaintenance) -> None:
        """Put the devices back in service, then let the object be deleted."""
        await self._release(stored)
        if FINALIZER in stored.finalizers:
            left = tuple(one for one in stored.finalizers if one != FINALIZER)
            await self.objects.finalize(stored, left)

    async def _expire(self, stored: DeviceMaintenance) -> None:
        await self._release(stored)
        await self.objects.write_status(stored, MaintenanceProgress(expired=True))

    async def _release(self, stored: DeviceMaintenance) -> None:
        name = stored.metadata.name
        await self._stop(name)
        # Looked up now: rules that an upgrade serves in another version must not be overlooked.
        self._rules_looked_for = float("-inf")
        rules = await self._served_rules()
        writer = Writer(
            self._client,
            self._served.claims,
            rules,
            self._namespace,
            Origin(),
            leading=self._context.leading,
        )
        for hold in await self.objects.holds(name, rules):
            heir = self._heir(hold)
            if heir is not None:
                await writer.hand_over(hold, _origin(heir))
                continue
            if await writer.delete(hold):
                self._view.deleted(hold)
            log.info("Put devices back in service", name=name, hold=str(hold))

    def _heir(self, hold: Hold) -> DeviceMaintenance | None:
        """Return another DeviceMaintenance that needs a held claim; there is one per device."""
        if hold.kind is HoldKind.RULE:
            return None
        device = DeviceID(hold.selector.driver, hold.selector.pool, hold.selector.device)
        names = (name for name, run in self._runs.items() if device in run.devices)
        return next((self.objects.store.get("", name) for name in names), None)

    async def _served_rules(self) -> Resource | None:
        """Return DeviceTaintRules, which an upgrade may begin to serve, or in another version."""
        now = surroundings.monotonic()
        if now - self._rules_looked_for >= RULES_INTERVAL:
            self._rules = await served_rules(self._client)
            self._rules_looked_for = now
        return self._rules

    async def _stop(self, name: str) -> None:
        run = self._runs.pop(name, None)
        if run is not None:
            await run.stop()

    async def _stop_all(self) -> None:
        for name in [*self._runs]:
            await self._stop(name)


def _origin(stored: DeviceMaintenance) -> Origin:
    return Origin(stored.reason, "", stored.metadata.name, stored.owner)
