"""One DeviceMaintenance that is carried out: a drain that goes on until it is stopped."""

import asyncio
from collections.abc import Callable
from typing import Any

from dragoman import metrics
from dragoman.controllers.maintenance.drainer import Drainer, DrainStep, News, Order
from dragoman.controllers.maintenance.view import MaintenanceView
from dragoman.controllers.maintenance.writer import Writer
from dragoman.kube.backoff import Backoff
from dragoman.kube.controller import NotLeadingError
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.logs import logger
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.devicemaintenance import MaintenanceProgress
from dragoman.maintenance.plan import MaintenancePlan
from dragoman.model.deviceid import DeviceID

log = logger("dragoman.maintenance")


class Run:
    """Holds devices and evicts pods in the background.

    Args:
        view: Claims and pods, followed by the caller.
        writer: Writes for this DeviceMaintenance.
        order: What is drained.
        changed: Called when the progress may have changed.
    """

    def __init__(
        self, view: MaintenanceView, writer: Writer, order: Order, changed: Callable[[], None]
    ) -> None:
        self._evict = order.evict
        self._rules = writer.rules
        self._changed = changed
        self._drainer = Drainer(view, writer, order, _count)
        self._reported: Any = None
        self._fault = ""
        self._task = asyncio.create_task(self._run(), name="devicemaintenance")

    def fits(self, evict: EvictionMode, rules: Resource | None) -> bool:
        """Whether it goes on, treats pods like this, and writes these DeviceTaintRules.

        It ends when it would have to write without the Lease, which this process may get again.
        """
        return not self._task.done() and self._evict is evict and self._rules == rules

    @property
    def devices(self) -> tuple[DeviceID, ...]:
        """The devices that are to be out of service now."""
        return self._drainer.order.devices

    def update(self, order: Order) -> None:
        """Take another order from the next plan on."""
        if order != self._drainer.order:
            self._drainer.plan = None
        self._drainer.order = order

    def progress(self) -> MaintenanceProgress:
        """Return how far it is."""
        drainer = self._drainer
        return MaintenanceProgress(
            devices=len(drainer.order.devices),
            plan=drainer.plan,
            settled=drainer.settled(),
            refusals=drainer.refusals(),
            fault=self._fault,
        )

    async def stop(self) -> None:
        """Stop; holds stay."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        backoff = Backoff()
        while True:
            try:
                await self._drainer.run(self._noted)
            except NotLeadingError:
                return
            except ApiError as error:
                log.warning("Cannot hold devices", error=str(error), code=error.code)
                await self._failed(error, backoff.next(error.retry_after))
            except Exception as error:
                # No caller waits for this task: without a retry the devices would be forgotten.
                log.exception("Cannot hold devices")
                await self._failed(error, backoff.next())

    async def _failed(self, error: Exception, pause: float) -> None:
        self._fault = str(error) or type(error).__name__
        self._changed()
        await asyncio.sleep(pause)

    def _noted(self, plan: MaintenancePlan) -> bool:
        """Note a plan; it is never the last one, because claims may come back."""
        self._fault = ""
        state = (plan.unheld, plan.busy, len(plan.pods), self._drainer.refusals())
        if state != self._reported:
            self._reported = state
            self._changed()
        return False


def _count(news: News) -> None:
    """Count evictions; holds are objects, which can be counted in the cluster."""
    if news.step in {DrainStep.EVICTED, DrainStep.REFUSED}:
        metrics.MAINTENANCE_EVICTIONS.labels(news.step.value).inc()
