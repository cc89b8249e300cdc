"""The controllers that observe published devices: evictions, pool status and reports."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from dragoman.controllers.claims.controller import ClaimController
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served, has_pool_views, retried, server_version, wait_optional
from dragoman.kube.events import EventRecorder
from dragoman.kube.manager import Manager
from dragoman.logs import logger
from dragoman.settings import Settings
from dragoman.versions import name as version_name

if TYPE_CHECKING:
    from dragoman.controllers.devices.informers import DeviceInformers

log = logger("dragoman")


@dataclass
class DeviceControllers:
    """Starts what observes ResourceSlices and DeviceTaintRules, and stores those once for all.

    Attributes:
        client: The connections to the API server.
        settings: Which controllers run, and how.
        served: Which API versions the server has.
        manager: Runs the controllers and their watches.
        recorder: Posts Events.
        leading: Whether this process may write now.
    """

    client: Client
    settings: Settings
    served: Served
    manager: Manager
    recorder: EventRecorder
    leading: Callable[[], bool]
    _devices: "DeviceInformers | None" = None
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _busy: list[Callable[[], float]] = field(default_factory=list)

    def longest_running(self) -> float:
        """Return for how many seconds a worker has been busy with one key."""
        return max((seconds() for seconds in self._busy), default=0.0)

    async def start(self, claims: ClaimController) -> "DeviceInformers":
        """Store slices and rules, and start the controllers that need them all the time.

        Args:
            claims: Has the stored pods and claims.

        Returns:
            The informers; the caller watches slices.
        """
        if self._devices is not None:
            return self._devices
        # In a thread: claims are reconciled while the allocator and CEL load, which not every
        # process needs.
        await asyncio.to_thread(import_module, "dragoman.controllers.devices.informers")
        from dragoman.controllers.devices import informers  # noqa: PLC0415 — see above

        devices = self._devices = informers.DeviceInformers(self.client, self.served.slices)
        if self.settings.evictions != "off":
            self._start_evictions(claims, devices)
        if self.settings.inventory_reports:
            await self._start_reports(claims, devices)
        self.manager.spawn_once(self._watch_rules(devices))
        return devices

    async def watched(self, claims: ClaimController) -> "DeviceInformers":
        """Return the stored slices and rules; watch them where no controller needed them before."""
        async with self._starting:
            first = self._devices is None
            devices = await self.start(claims)
            if first:
                self.manager.watch(devices.slices)
            return devices

    async def start_pool_status(self, claims: Callable[[], ClaimController]) -> None:
        """Answer ResourcePoolStatusRequests once they are served.

        Args:
            claims: Returns the stored pods and claims, and starts to store them where none does.
        """
        settings = self.settings
        resource = await wait_optional(self.client, "resourcepoolstatusrequests")
        stored = claims()
        devices = await self.watched(stored)
        await devices.require_content()
        await asyncio.to_thread(import_module, "dragoman.controllers.poolstatus.controller")
        from dragoman.controllers.poolstatus import controller  # noqa: PLC0415 — as above

        answers = controller.PoolStatusController(
            self.client,
            resource,
            devices,
            stored.state,
            own=settings.pool_status == "own",
            grace=settings.pool_status_grace,
            views=await has_pool_views(self.client),
            may_write=self.leading,
        )
        log.info("Answering ResourcePoolStatusRequests", mode=settings.pool_status)
        self.manager.watch(answers.informer)
        self.manager.spawn("pool status", answers.run())

    def _start_evictions(self, claims: ClaimController, devices: "DeviceInformers") -> None:
        from dragoman.controllers.evictions import controller  # noqa: PLC0415 — as above

        settings = self.settings
        evictions = controller.EvictionController(
            self.client,
            self.served,
            self.recorder,
            claims,
            devices,
            assist=settings.evictions == "assist",
            may_write=self.leading,
            workers=settings.workers,
            resync=settings.resync,
        )
        self._busy.append(evictions.queue.longest_running)
        self.manager.ready_checks.append(evictions.unready)
        self.manager.leaders.append(evictions.run)
        log.info("Evicting pods from tainted devices", mode=settings.evictions)

    async def _start_reports(self, claims: ClaimController, devices: "DeviceInformers") -> None:
        await devices.require_content()
        await asyncio.to_thread(import_module, "dragoman.controllers.poolstatus.reports")
        from dragoman.controllers.poolstatus.reports import PoolReports  # noqa: PLC0415 — as above
        from dragoman.inventory.facts.profiles import observed_profile  # noqa: PLC0415

        holders = self.settings.inventory_holders
        version = await retried("Cannot read the server's version", server_version, self.client)
        profile, _ = observed_profile(version_name(version), rules=True)
        reports = PoolReports(
            self.client,
            devices,
            claims.state,
            holders=holders,
            profile=profile,
            may_write=self.leading,
        )
        claims.handlers.observers.append(reports)
        self.manager.leaders.append(reports.run)
        log.info("Writing DevicePoolReports", holders=holders)

    async def _watch_rules(self, devices: "DeviceInformers") -> None:
        resource = await wait_optional(self.client, "devicetaintrules", devices.rules_known.set)
        log.info("Watching DeviceTaintRules", api_version=resource.api_version)
        self.manager.watch(devices.serve_rules(resource))
