"""The operator: builds, starts and stops the components of either process."""

import asyncio
import gc
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman import __version__
from dragoman.composition import Controllers
from dragoman.health import HealthServer, Liveness
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served, discover, retried, wait_served
from dragoman.kube.events import EventRecorder
from dragoman.kube.kubeconfig import Credentials
from dragoman.kube.leaderelection import LeaderElectionConfig, LeaderElector
from dragoman.kube.manager import Manager
from dragoman.kube.resources import DRIVERCONFIGSCHEMAS
from dragoman.kube.sharedinformer import SharedInformers
from dragoman.logs import logger
from dragoman.settings import Settings
from dragoman_webhooks import metrics as webhook_metrics

if TYPE_CHECKING:
    from dragoman.controllers.driverconfigschemas.controller import SchemaController

LEASE_NAME = "dragoman-operator"

log = logger("dragoman")


class Operator:
    """The components of `dragoman operator`, or of `dragoman webhook`, which only serves reviews.

    Args:
        settings: Which components run, and how.
        handlers: kopf's event handlers, called by reflectors; without them kopf itself watches,
            and the informers only list.

    Attributes:
        client: The connections to the API server.
        controllers: The controllers that write; None in the webhook's process.
    """

    client: Client

    def __init__(self, settings: Settings, handlers: Iterable[Any] = ()) -> None:
        self.controllers: Controllers | None = None
        self._settings = settings
        self._manager = Manager(handlers, settings.resync)
        self._elector: LeaderElector | None = None
        self._health: HealthServer | None = None
        self._liveness: Liveness | None = None

    @property
    def informers(self) -> SharedInformers:
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
            memo: kopf's memo, which the event handlers receive.

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
        credentials = Credentials(settings.kubeconfig, settings.context)
        self.client = await Client(credentials).__aenter__()
        self._recorder = EventRecorder(self.client)
        manager.spawn("events", self._recorder.run())
        await self._serve_health()
        log.info("Starting", version=__version__, server=credentials.server)
        if settings.controllers:
            await self._start_controllers()
        else:
            await self._start_schemas(None)
        self._liveness = Liveness(manager.watches, self._longest_running)
        manager.spawn("liveness", self._liveness.run())

    async def _start_controllers(self) -> None:
        settings, manager = self._settings, self._manager
        served = await retried(
            "Cannot reach the API server", discover, self.client, settings.podgroup_claims
        )
        if settings.leader_elect:
            self._elector = self._leader_elector()
        if settings.requires_schemas or manager.kopf_watches:
            await self._start_schemas(served)
        else:
            manager.spawn_once(self._start_schemas_when_served(served))
        self.controllers = Controllers(
            self.client, settings, served, manager, self._recorder, self._elector
        )
        manager.on_leading.append(self.controllers.resume)
        await self.controllers.start()
        manager.spawn("leader election", self._lead(self.controllers))

    async def _serve_health(self) -> None:
        if not self._settings.metrics_address:
            return
        self._health = HealthServer(
            self._settings.metrics_address,
            live=self._live,
            ready=self._ready,
            registries=(webhook_metrics.REGISTRY,) if self._settings.webhook else (),
        )
        log.info("Serving probes and metrics", address=await self._health.start())

    def _leader_elector(self) -> LeaderElector:
        settings = self._settings
        config = LeaderElectionConfig(
            settings.lease_duration, settings.renew_deadline, settings.retry_period
        )
        return LeaderElector(self.client, settings.namespace, LEASE_NAME, config)

    async def _start_schemas_when_served(self, served: Served) -> None:
        await wait_served(self.client, DRIVERCONFIGSCHEMAS)
        await self._start_schemas(served)

    async def _start_schemas(self, served: Served | None) -> None:
        """Start the schema controller, and the webhook server where reviews are served.

        Args:
            served: Which API versions the server has; None in the webhook's process, whose
                schema controller compiles and never writes.
        """
        # In a thread: claims are reconciled while the CEL and JSON Schema machinery loads, which
        # costs a fifth of the start.
        await asyncio.to_thread(import_module, "dragoman.admission")
        from dragoman import admission  # noqa: PLC0415 — see above

        manager = self._manager
        schemas = admission.schema_controller(
            self.client, self._recorder, self._settings, served, self._leading
        )
        if self._settings.webhook is not None:
            webhook = admission.Webhook(self._settings.webhook, self.client, schemas)
            await webhook.start()
            manager.spawn("webhook", webhook.run())
            manager.ready_checks.append(webhook.unready)
        manager.on_leading.append(schemas.enqueue_all)
        # The controller runs before its API is served: it reports wrong settings of the catalog.
        manager.spawn_once(self._watch_schemas_when_served(schemas))
        manager.spawn("schemas", schemas.run())

    async def _watch_schemas_when_served(self, controller: "SchemaController") -> None:
        await wait_served(self.client, DRIVERCONFIGSCHEMAS)
        self._manager.watch(controller.schemas.informer)

    async def _lead(self, controllers: Controllers) -> None:
        """Run the controllers that write, while this process holds the Lease."""
        if controllers.claims is not None:
            await controllers.claims.wait_synced()
            # Listed facts live as long as the process: the collector need not visit them again.
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 50, 100)
        if self._elector is None:
            await self._manager.lead()
        else:
            await self._elector.run(self._manager.lead)

    def _leading(self) -> bool:
        return self._settings.controllers and (self._elector is None or self._elector.leading)

    def _longest_running(self) -> float:
        return self.controllers.longest_running() if self.controllers is not None else 0.0

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
