"""The operator: builds, starts and stops the components of either process."""

import asyncio
import ctypes
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry

from dragoman import __version__, surroundings
from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.claims.collector import ClaimCollector
from dragoman.controllers.claims.mode import say_off
from dragoman.controllers.process import Process
from dragoman.kube.client import Client
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.discovery import discover, retried
from dragoman.kube.events import EventRecorder
from dragoman.kube.kubeconfig import Credentials
from dragoman.kube.leaderelection import LeaderElectionConfig, LeaderElector
from dragoman.kube.manager import Informers, Manager
from dragoman.logs import logger
from dragoman.metrics import OF_EACH_PROCESS, REGISTRY
from dragoman.process.controllers import CONTROLLERS, Row, load, start_controllers
from dragoman.process.health import HealthServer, Liveness
from dragoman.settings import Settings
from dragoman_webhooks import metrics as webhook_metrics

LEASE_NAME = "dragoman-operator"
TRIM = 60.0
"""Seconds between two returns of memory."""

log = logger("dragoman")


class Operator:
    """The components of `dragoman operator`, or of `dragoman webhook`, which only serves reviews.

    Args:
        settings: Which components run, and how.
        handlers: The event handlers of kopf, called by reflectors; without them kopf itself
            watches, and the informers only list.
        client: The connections to the API server, not opened yet; those of the settings without it.
        rows: The controllers there are.
    """

    client: Client  # The connections to the API server

    def __init__(
        self,
        settings: Settings,
        handlers: Iterable[Any] = (),
        client: Client | None = None,
        rows: Sequence[Row] = CONTROLLERS,
    ) -> None:
        self._settings = settings
        self._unopened = client
        self._rows = rows
        self._manager = Manager(handlers, settings.resync)
        self._health: HealthServer | None = None
        self._liveness: Liveness | None = None

    @property
    def informers(self) -> Informers:
        """The informers that receive raw events."""
        return self._manager.informers

    @property
    def fault(self) -> str:
        """Why the operator cannot start or continue; empty while it can."""
        return self._manager.fault

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the operator cannot continue, or stops; kopf's stop flag."""
        return self._manager.stopping

    async def start(self, memo: Any) -> None:
        """Find out what the API server serves, and start the components.

        Args:
            memo: The memo of kopf, which the event handlers receive.

        Raises:
            Exception: A component cannot start; `fault` says why, and nothing is left running.
        """
        self._manager.memo = memo
        try:
            await self._start()
        except asyncio.CancelledError:
            self.stopping.set()
            raise
        except Exception as error:
            self._manager.fault = str(error)
            await self.stop()
            raise

    async def stop(self) -> None:
        """Finish requests in flight, then stop every component."""
        await self._manager.stop()
        if self._health is not None:
            await self._health.stop()
        if hasattr(self, "client"):
            await self.client.__aexit__(None, None, None)
        log.info("Stopped")

    async def _start(self) -> None:
        settings, manager = self._settings, self._manager
        given = self._unopened
        credentials = (
            given.credentials
            if given
            else Credentials(ConnectionOptions(settings.kubeconfig, settings.context))
        )
        self.client = await (given or Client(credentials)).__aenter__()
        recorder = EventRecorder(self.client)
        manager.spawn("events", recorder.run())
        await self._serve_health()
        log.info("Starting", version=__version__, server=credentials.server)
        process = Process(self.client, settings, manager, recorder)
        if settings.controllers:
            await self._join(process)
        await start_controllers(process, self._rows)
        if process.stored is not None:
            process.stored.begin()
            manager.spawn("leader election", self._lead(process))
        self._liveness = Liveness(
            manager.watches, lambda: max((one() for one in process.busy), default=0.0)
        )
        manager.spawn("liveness", self._liveness.run())
        if surroundings.current().alone and sys.platform != "win32":
            manager.spawn("memory", return_memory())

    async def _join(self, process: Process) -> None:
        """Prepare a process for controllers that write, while it holds the Lease."""
        settings, manager = self._settings, self._manager
        served = await retried(
            "Cannot reach the API server", discover, self.client, settings.podgroup_claims
        )
        if settings.leader_elect:
            process.elector = self._leader_elector()
        cluster = ClusterStores(self.client, served, manager.watch, manager.spawn_once)
        process.stored = cluster
        await cluster.kubernetes()  # the log says where the server is newer than what is known
        if settings.requires_waiting:
            documents = await load("dragoman.inventory.snapshots.documents")
            cluster.keep_waiting(partial(documents.reduced, "pods"))
        manager.ready_checks.append(cluster.unready)
        collector = ClaimCollector(cluster.state)
        process.share(collector)
        if surroundings.current().alone:
            REGISTRY.register(collector)
            manager.on_stop.append(partial(REGISTRY.unregister, collector))
        if settings.claims == "off":
            manager.on_leading.append(partial(say_off, process))

    async def _serve_health(self) -> None:
        if not self._settings.metrics_address:
            return
        self._health = HealthServer(
            self._settings.metrics_address,
            live=self._live,
            ready=self._ready,
            registries=_registries(self._settings),
        )
        log.info("Serving probes and metrics", address=await self._health.start())

    def _leader_elector(self) -> LeaderElector:
        settings = self._settings
        config = LeaderElectionConfig(
            settings.lease_duration, settings.renew_deadline, settings.retry_period
        )
        return LeaderElector(self.client, settings.namespace, LEASE_NAME, config)

    async def _lead(self, process: Process) -> None:
        """Run the controllers that write, while this process holds the Lease."""
        if process.cluster.required:
            await process.cluster.wait_synced()
        if surroundings.current().alone:
            surroundings.spare_collector()
        if process.elector is None:
            await self._manager.lead()
        else:
            await process.elector.run(self._manager.lead)

    def _live(self) -> str | None:
        return self.fault or (self._liveness.fault() if self._liveness else None)

    def _ready(self) -> str | None:
        if self.fault:
            return self.fault
        if self._liveness is None:
            return "the API server has not said yet what it serves"
        if self._liveness.unreachable():
            return "the API server cannot be reached"
        return self._manager.unready()


async def return_memory() -> None:
    """Return freed memory to the system: glibc keeps what lies between live objects for good.

    That grows for hours while objects come and go; to return it takes milliseconds.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)  # of glibc alone
    while True:
        await asyncio.sleep(TRIM)
        trim(0)


def _registries(settings: Settings) -> tuple[CollectorRegistry, ...]:
    """Return what the process counts: nothing of controllers that it does not run."""
    own = REGISTRY if settings.controllers else OF_EACH_PROCESS
    return (own, webhook_metrics.REGISTRY) if settings.webhook else (own,)
