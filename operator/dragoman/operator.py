"""The operator: builds, starts, supervises and stops the components of either process."""

import asyncio
import gc
from collections.abc import Coroutine, Iterable, Mapping
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dragoman import __version__
from dragoman.controllers.claims.controller import ClaimController
from dragoman.controllers.claims.mode import CONFIGURED_ANNOTATION, MODE_ANNOTATION, ClaimMode
from dragoman.controllers.clustertemplates.controller import (
    ClusterTemplateController,
    templates_informer,
)
from dragoman.controllers.maintenance.controller import MaintenanceController
from dragoman.health import HealthServer, Liveness
from dragoman.kube.client import Client
from dragoman.kube.discovery import (
    Served,
    discover,
    discover_devices,
    has_pool_views,
    retried,
    wait_optional,
    wait_served,
)
from dragoman.kube.events import EventRecorder
from dragoman.kube.informer import Informer
from dragoman.kube.kubeconfig import Credentials
from dragoman.kube.leaderelection import LeaderElectionConfig, LeaderElector
from dragoman.kube.reflector import Reflector, WatchHealth
from dragoman.kube.resources import CLUSTERTEMPLATES, DEVICEMAINTENANCES, DRIVERCONFIGSCHEMAS
from dragoman.kube.sharedinformer import SharedInformer
from dragoman.logs import logger
from dragoman.model import Template
from dragoman.settings import Settings
from dragoman_webhooks import metrics as webhook_metrics

if TYPE_CHECKING:
    from dragoman.admission import Webhook
    from dragoman.controllers.devices.informers import DeviceInformers
    from dragoman.controllers.driverconfigschemas.controller import SchemaController
    from dragoman.controllers.evictions.controller import EvictionController
    from dragoman.controllers.explain.controller import ExplainController
    from dragoman.controllers.poolstatus.controller import PoolStatusController
    from dragoman.controllers.poolstatus.reports import PoolReports

LEASE_NAME = "dragoman-operator"
OPTIONAL_INTERVAL = 30.0
"""Seconds between checks for APIs that clusters need not serve."""
ONCE = "start of a controller"
"""Name of the tasks that end by themselves."""

log = logger("dragoman")


class Operator:
    """The components of `dragoman operator`, or of `dragoman webhook`, which only serves reviews.

    Args:
        settings: Which components run, and how.
        handlers: kopf's event handlers, called by reflectors; without them kopf itself watches,
            and the informers only list.

    Attributes:
        client: The connections to the API server.
        claims: The claim controller; it also stores pods and claims for other controllers, and is
            None where no controller needs them.
        devices: Stored ResourceSlices and DeviceTaintRules; None where no controller needs them.
        evictions: The eviction controller; None with `--evictions=off`.
        explain: The explain controller; None unless a setting asks for it.
        reports: Writes DevicePoolReports; None without `--inventory-reports`.
        pool_status: The controller of ResourcePoolStatusRequests; None until its API is served.
        schemas: The DriverConfigSchema controller; None until its API is served.
        cluster_templates: The ClusterResourceClaimTemplate controller; None until its API is
            served.
        maintenance: The DeviceMaintenance controller; None until its API is served.
        templates: The informer of ResourceClaimTemplates; None while no controller reads them.
        fault: Why the operator cannot start or continue; empty while it can.
        stopping: Set when it cannot continue; kopf's stop flag.
    """

    client: Client
    _recorder: EventRecorder

    def __init__(self, settings: Settings, handlers: Iterable[Any] = ()) -> None:
        self.claims: ClaimController | None = None
        self.devices: DeviceInformers | None = None
        self.evictions: EvictionController | None = None
        self.explain: ExplainController | None = None
        self.pool_status: PoolStatusController | None = None
        self.reports: PoolReports | None = None
        self.schemas: SchemaController | None = None
        self.cluster_templates: ClusterTemplateController | None = None
        self.maintenance: MaintenanceController | None = None
        self.templates: Informer[Template] | None = None
        self.fault = ""
        self.stopping = asyncio.Event()
        self._settings = settings
        self._handlers = {(one.selector.group, one.selector.any_name): one for one in handlers}
        self._memo: Any = None
        self._elector: LeaderElector | None = None
        self._mode: ClaimMode | None = None
        self._webhook: Webhook | None = None
        self._health: HealthServer | None = None
        self._watches: list[WatchHealth] = []
        self._liveness: Liveness | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, memo: Any) -> None:
        """Find out what the API server serves, and start the components.

        Args:
            memo: kopf's memo, which the event handlers receive.

        Raises:
            Exception: A component cannot start; `fault` says why, and nothing is left running.
        """
        self._memo = memo
        try:
            await self._start()
        except asyncio.CancelledError:
            self.stopping.set()
            raise
        except Exception as error:
            self.fault = str(error)
            await self.stop()
            raise

    async def stop(self) -> None:
        """Finish requests in flight, then stop every component."""
        self.stopping.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        if self.claims is not None:
            self.claims.unregister_metrics()
            self.claims = None
        if self.explain is not None:
            self.explain.unregister_metrics()
            self.explain.stop()
            self.explain = None
        if self._health is not None:
            await self._health.stop()
        if hasattr(self, "client"):
            await self.client.__aexit__(None, None, None)
        log.info("Stopped")

    async def _start(self) -> None:
        settings = self._settings
        credentials = Credentials(settings.kubeconfig, settings.context)
        self.client = await Client(credentials).__aenter__()
        await self._serve_health()
        log.info("Starting", version=__version__, server=credentials.server)
        if not settings.controllers:
            await self._start_schemas(None)
        else:
            served = await retried(
                "Cannot reach the API server", discover, self.client, settings.podgroup_claims
            )
            if settings.leader_elect:
                self._elector = self._leader_elector()
            if settings.requires_schemas or not self._handlers:
                await self._start_schemas(served)
            else:
                self._spawn(ONCE, self._start_schemas_when_served(served))
            self._recorder = EventRecorder(self.client)
            self._spawn("events", self._recorder.run())
            if settings.claims != "off" or settings.requires_devices:
                self._start_claims(served)
            if settings.requires_devices:
                await self._start_devices(served)
            if settings.explains:
                await self._start_explain(served)
            self._watch_all()
            await self._start_optional(served)
            self._spawn("leader election", self._lead())
        self._liveness = Liveness(self._watches, self._longest_running)
        self._spawn("liveness", self._liveness.run())

    async def _start_optional(self, served: Served) -> None:
        """Start the controllers that run beside the others, some once their API is served."""
        settings = self._settings
        if settings.pool_status != "off":
            self._spawn(ONCE, self._start_pool_status_when_served(served))
        if settings.cluster_templates:
            self._spawn(ONCE, self._start_cluster_templates_when_served(served))
        if settings.findings:
            await self._start_findings()
        if settings.maintenance:
            self._spawn(ONCE, self._start_maintenance_when_served(served))

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

    def _start_claims(self, served: Served) -> None:
        settings, elector = self._settings, self._elector
        self._mode = ClaimMode(
            settings.claims,
            grace=settings.grace,
            takeover_after=settings.takeover_after,
            keep=lambda mode: elector.annotate(MODE_ANNOTATION, mode.value) if elector else None,
        )
        self.claims = ClaimController(
            self.client,
            served,
            self._recorder,
            self._mode,
            may_write=self._leading,
            active=settings.claims != "off",
            by_device=settings.requires_devices,
            workers=settings.workers,
            resync=settings.resync,
        )
        self.claims.register_metrics()
        log.info(
            "Controlling claims",
            mode=settings.claims,
            api_version=served.claims.api_version,
            podgroups=served.groups.api_version if served.groups else "have no claims",
        )
        self.templates = self.claims.informers.templates

    async def _start_explain(self, served: Served) -> None:
        # In a thread: the allocator and CEL take a fifth of the start.
        controller = await asyncio.to_thread(_import_explain)
        settings = self._settings
        devices = await retried("Cannot look for devices", discover_devices, self.client, served)
        self.explain = controller.ExplainController(
            self.client,
            served,
            devices,
            self._recorder if settings.explain_events else None,
            infos=settings.device_metrics,
            resync=settings.resync,
            wait=settings.explain_after,
            interval=settings.explain_interval,
        )
        self.explain.register_metrics()
        log.info("Explaining pods that wait for devices", events=settings.explain_events)

    def _watch_all(self) -> None:
        """Watch what the controllers need, each resource once."""
        shared: dict[str, list[Informer[Any]]] = {}
        informers = [
            *(self.claims.informers if self.claims else ()),
            *([self.devices.slices] if self.devices else ()),
            *(self.explain.informers if self.explain else ()),
        ]
        for informer in informers:
            shared.setdefault(informer.path, []).append(informer)
        for group in shared.values():
            self._watch(*group)

    async def _start_devices(self, served: Served) -> "DeviceInformers":
        """Store slices and rules; controllers observe them."""
        if self.devices is None:
            # In a thread: claims are reconciled while the allocator and CEL load.
            module = await asyncio.to_thread(_import, "dragoman.controllers.devices.informers")
            self.devices = devices = module.DeviceInformers(self.client, served.slices)
            if self._settings.evictions != "off":
                self._start_evictions(served, devices)
            if self._settings.inventory_reports:
                await self._start_reports(devices)
            self._spawn(ONCE, self._watch_rules_when_served(devices))
        return self.devices

    def _start_evictions(self, served: Served, devices: "DeviceInformers") -> None:
        settings = self._settings
        assert self.claims is not None
        module = _import("dragoman.controllers.evictions.controller")
        self.evictions = module.EvictionController(
            self.client,
            served,
            self._recorder,
            self.claims,
            devices,
            assist=settings.evictions == "assist",
            may_write=self._leading,
            workers=settings.workers,
            resync=settings.resync,
        )
        log.info("Evicting pods from tainted devices", mode=settings.evictions)

    async def _start_reports(self, devices: "DeviceInformers") -> None:
        assert self.claims is not None
        await devices.require_content()
        module = await asyncio.to_thread(_import, "dragoman.controllers.poolstatus.reports")
        self.reports = module.PoolReports(
            self.client,
            devices,
            self.claims.state,
            holders=self._settings.inventory_holders,
            may_write=self._leading,
        )
        self.claims.handlers.observers.append(self.reports)
        log.info("Writing DevicePoolReports", holders=self._settings.inventory_holders)

    async def _start_pool_status_when_served(self, served: Served) -> None:
        settings = self._settings
        requests = "resourcepoolstatusrequests"
        resource = await wait_optional(self.client, requests, OPTIONAL_INTERVAL)
        late = [] if self.devices else ["devices"]
        if self.claims is None:
            self._start_claims(served)
            late.append("claims")
        assert self.claims is not None
        devices = await self._start_devices(served)
        if "claims" in late:
            for informer in self.claims.informers:
                self._watch(informer)
        if "devices" in late:
            self._watch(devices.slices)
        await devices.require_content()
        module = await asyncio.to_thread(_import, "dragoman.controllers.poolstatus.controller")
        self.pool_status = controller = module.PoolStatusController(
            self.client,
            resource,
            devices,
            self.claims.state,
            own=settings.pool_status == "own",
            grace=settings.pool_status_grace,
            views=await has_pool_views(self.client),
            may_write=self._leading,
        )
        log.info("Answering ResourcePoolStatusRequests", mode=settings.pool_status)
        self._watch(controller.informer)
        self._spawn("pool status", controller.run())

    async def _watch_rules_when_served(self, devices: "DeviceInformers") -> None:
        resource = await wait_optional(self.client, "devicetaintrules", OPTIONAL_INTERVAL)
        log.info("Watching DeviceTaintRules", api_version=resource.api_version)
        self._watch(devices.serve_rules(resource))

    async def _start_cluster_templates_when_served(self, served: Served) -> None:
        await wait_served(self.client, CLUSTERTEMPLATES)
        if self.templates is None:
            self.templates = templates_informer(self.client, served)
            self._watch(self.templates)
        self.cluster_templates = ClusterTemplateController(
            self.client, self.templates, may_write=self._leading, resync=self._settings.resync
        )
        for informer in self.cluster_templates.informers:
            self._watch(informer)
        self._spawn("cluster templates", self.cluster_templates.run())

    async def _start_findings(self) -> None:
        # In a thread: claims are reconciled while the allocator and CEL load.
        controller = await asyncio.to_thread(_import_findings)
        interval = self._settings.findings_interval
        findings = controller.FindingsController(self.client, self._leading, interval)
        log.info("Looking for findings", seconds=interval)
        self._spawn("findings", findings.run())

    async def _start_maintenance_when_served(self, served: Served) -> None:
        await wait_served(self.client, DEVICEMAINTENANCES)
        self.maintenance = MaintenanceController(
            self.client,
            served,
            may_write=self._leading,
            namespace=self._settings.namespace,
            resync=self._settings.resync,
        )
        self._watch(self.maintenance.objects.informer)
        self._spawn("maintenance", self.maintenance.run())

    async def _start_schemas_when_served(self, served: Served) -> None:
        await wait_served(self.client, DRIVERCONFIGSCHEMAS)
        await self._start_schemas(served)

    async def _start_schemas(self, served: Served | None) -> None:
        """Start the schema controller, and the webhook server where reviews are served.

        Args:
            served: Which API versions the server has; None in the webhook's process, whose
                schema controller compiles and never writes.
        """
        # In a thread: claims are reconciled while the CEL and JSON Schema machinery loads.
        admission = await asyncio.to_thread(_import_admission)
        self.schemas = admission.schema_controller(
            self.client, self._settings, served, self._leading
        )
        if self._settings.webhook is not None:
            self._webhook = admission.Webhook(self._settings.webhook, self.client, self.schemas)
            await self._webhook.start()
            self._spawn("webhook", self._webhook.run())
        self._spawn("schemas", self._run_schemas())

    async def _run_schemas(self) -> None:
        assert self.schemas is not None
        # The controller runs before its API is served: it reports wrong settings of the catalogue.
        self._spawn(ONCE, self._watch_schemas_when_served(self.schemas))
        await self.schemas.run()

    async def _watch_schemas_when_served(self, controller: "SchemaController") -> None:
        await wait_served(self.client, DRIVERCONFIGSCHEMAS)
        self._watch(controller.schemas.informer)

    def _watch(self, *informers: Informer[Any]) -> None:
        """Feed informers of one resource: by a reflector that calls kopf's event handler, or kopf.

        kopf says neither what was deleted during an outage nor when a list ends: see `resync`.
        """
        resource = informers[0].resource
        handler = self._handlers.get((resource.group, resource.plural))
        if handler is None:
            for informer in informers:
                resync = informer.resync_periodically(self._settings.resync)
                self._spawn(resource.plural, resync)
            return
        reflector = Reflector(SharedInformer(informers), partial(_call, handler.fn, self._memo))
        self._watches.append(reflector.health)
        self._spawn(resource.plural, reflector.run())

    async def _lead(self) -> None:
        """Run the controllers that write, while this process holds the Lease."""
        if self.claims is not None:
            await self.claims.wait_synced()
            # Listed facts live as long as the process: the collector need not visit them again.
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 50, 100)
        if self._elector is None:
            await self._run_as_leader()
        else:
            await self._elector.run(self._run_as_leader)

    async def _run_as_leader(self) -> None:
        for found in (self.schemas, self.cluster_templates, self.maintenance):
            if found is not None:
                found.enqueue_all()
        if self._elector is not None and self._mode is not None:
            self._resume(self._elector, self._mode)
        async with asyncio.TaskGroup() as running:
            # While no other controller runs, this one keeps the Lease.
            running.create_task(asyncio.Event().wait())
            for controller in (self.claims, self.evictions, self.reports, self.explain):
                if controller is not None:
                    running.create_task(controller.run())

    def _resume(self, elector: LeaderElector, mode: ClaimMode) -> None:
        """Continue in the mode of the previous leader, unless it was configured differently."""
        configured = self._settings.claims
        previous = elector.annotations.get(CONFIGURED_ANNOTATION)
        mode.resume(elector.annotations.get(MODE_ANNOTATION) if previous == configured else None)
        elector.annotate(CONFIGURED_ANNOTATION, configured)

    def _leading(self) -> bool:
        return self._settings.controllers and (self._elector is None or self._elector.leading)

    def _longest_running(self) -> float:
        found = [one for one in (self.claims, self.evictions) if one is not None]
        return max((one.queue.longest_running() for one in found), default=0.0)

    def _spawn(self, name: str, component: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(component, name=name)
        task.add_done_callback(self._component_ended)
        self._tasks.add(task)

    def _component_ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (task.get_name() == ONCE and task.exception() is None):
            return
        error = task.exception()
        self.fault = f"{task.get_name()} ended: {error!r}"
        # Set before the line is logged: exit also where the log cannot be written, so that a
        # partly running operator is restarted.
        self.stopping.set()
        log.critical("A component ended", component=task.get_name(), exc_info=error)

    def _live(self) -> str | None:
        return self.fault or (self._liveness.fault() if self._liveness else None)

    def _ready(self) -> str | None:
        if self.fault:
            return self.fault
        if self._liveness is None:
            return "the API server has not said yet what it serves"
        if self._liveness.unreachable():
            return "the API server cannot be reached"
        for component in (self.claims, self.evictions, self._webhook):
            if component is not None and (reason := component.unready()):
                return str(reason)
        return None


async def _call(handler: Any, memo: Any, event: Mapping[str, Any]) -> None:
    await handler(event=event, memo=memo)


def _import_findings() -> ModuleType:
    """Import the allocator only where it is needed: it takes 20 MiB."""
    from dragoman.controllers.findings import controller  # noqa: PLC0415 — see above

    return controller


def _import_explain() -> ModuleType:
    from dragoman.controllers.explain import controller  # noqa: PLC0415 — see above

    return controller


def _import(name: str) -> ModuleType:
    """Import a controller that not every process runs."""
    return import_module(name)


def _import_admission() -> ModuleType:
    """Import what costs a fifth of the start, and what claims never need."""
    from dragoman import admission  # noqa: PLC0415 — see above

    return admission
