"""The kopf operator: start-up, shutdown, and what it says of its health.

`dragoman operator` runs it; so do `kopf run -A --standalone -m dragoman.handlers` and kopf's
KopfRunner.
"""

import asyncio
import importlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import kopf

from dragoman import __version__
from dragoman.controllers.claims.claiming import Claiming
from dragoman.health import HealthServer
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import ApiError, Client, Resource
from dragoman.kube.discovery import Served, discover
from dragoman.kube.feed.kopf_feed import Handler
from dragoman.kube.feed.session import Session
from dragoman.kube.kubeconfig import Credentials
from dragoman.kube.leaderelection import LeaderElectionConfig, LeaderElector
from dragoman.kube.schema_api import wait_served
from dragoman.logs import logger
from dragoman.settings import Settings
from dragoman.shell import cancel_forgotten, configure_kopf
from dragoman.vitals import Liveness
from dragoman_webhooks import metrics as reviews

LEASE_NAME = "dragoman-operator"

log = logger("dragoman")


class Operator:
    """Everything that lives as long as the operator runs.

    Args:
        settings: What to do, and how.

    Attributes:
        fault: Why it could not start or go on, for people; empty when it could.
        stopping: Set when it cannot go on; to be given to kopf as its stop flag.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.fault = ""
        self.stopping = asyncio.Event()
        self._registry: kopf.OperatorRegistry | None = None
        self._credentials: Credentials | None = None
        self._api: Client | None = None
        self._session: Session | None = None
        self._handlers: dict[Resource, Handler] = {}
        self._health: HealthServer | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._claiming: Claiming | None = None
        self._vitals: Liveness | None = None
        self._reviews_unready: Callable[[], str | None] = lambda: None

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """Register the operator's activities; what it watches follows at start-up."""
        self._registry = registry
        kopf.on.startup(registry=registry, id="dragoman")(self.start)
        kopf.on.cleanup(registry=registry, id="dragoman")(self.stop)
        kopf.on.login(registry=registry, id="dragoman")(self.login)

    async def start(self, settings: kopf.OperatorSettings, **_: Any) -> None:
        """Find out what the API server has, and start to watch and to work.

        Raises:
            kopf.PermanentError: It cannot start, and `fault` says why; kopf would take anything
                else for a fault that passes, and try again each minute.
        """
        configure_kopf(settings)
        try:
            await self._start()
        except asyncio.CancelledError:
            # Stopped before it had begun; see stop.
            self.stopping.set()
            raise
        except Exception as error:
            self.fault = str(error)
            await self.stop()
            raise kopf.PermanentError(self.fault) from error

    async def _start(self) -> None:
        settings = self.settings
        self.fault, self._claiming, self._vitals = "", None, None
        self.stopping.clear()
        self._credentials = Credentials(settings.kubeconfig, settings.context)
        self._api = api = await Client(self._credentials).__aenter__()
        await self._serve_probes()
        log.info("Starting", version=__version__, server=self._credentials.server)
        served = await _discovered(api)
        leader_elector = _leader_elector(api, settings) if settings.leader_elect else None
        await self._control_schemas(api, served, leader_elector)
        if settings.claims != "off":
            self._claiming = Claiming(settings, api, served, leader_elector)
            self._route(self._claiming.handlers)
            self._vitals = Liveness(self._claiming.pulses, self._claiming.longest_running)
            self._spawn_all(self._claiming.works())
        else:
            self._vitals = Liveness((), lambda: 0.0)
            if leader_elector is not None:
                self._spawn("election", leader_elector.run(_stay))
        listings = self._claiming.listings if self._claiming else {}
        self._session = Session(self._credentials, listings)
        self._spawn("vitals", self._vitals.run())

    async def stop(self, **_: Any) -> None:
        """Finish writes in flight, then leave nothing behind."""
        # Whoever still waits for it would hold kopf up for five seconds.
        self.stopping.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        cancel_forgotten()
        if self._claiming is not None:
            self._claiming.close()
            self._claiming = None
        if self._health is not None:
            await self._health.stop()
        if self._api is not None:
            await self._api.__aexit__(None, None, None)
        log.info("Stopped")

    async def login(self, **_: Any) -> kopf.AiohttpSession:
        """Give kopf a session that outlives tokens and faults."""
        assert self._credentials is not None
        assert self._session is not None
        return kopf.AiohttpSession(
            server=self._credentials.server, aiohttp_session=self._session.open()
        )

    async def _serve_probes(self) -> None:
        if not self.settings.metrics_address:
            return
        self._health = HealthServer(
            self.settings.metrics_address,
            live=self._live,
            ready=self._ready,
            registries=(reviews.REGISTRY,) if self.settings.serving else (),
        )
        log.info("Serving probes and metrics", address=await self._health.start())

    async def _control_schemas(
        self, api: Client, served: Served, leader_elector: LeaderElector | None
    ) -> None:
        """Begin at once where it must be known to work, else when there is anything to do."""
        leading = (lambda: leader_elector.leading) if leader_elector else (lambda: True)
        if not self.settings.asks_for_schemas:
            self._spawn("schemas", self._control_schemas_later(api, served, leading))
            return
        legislation = await self._legislation(api, served, leading)
        await legislation.start()
        self._reviews_unready = legislation.unready
        self._spawn_all(legislation.works())

    async def _control_schemas_later(
        self, api: Client, served: Served, leading: Callable[[], bool]
    ) -> None:
        await wait_served(api)
        legislation = await self._legislation(api, served, leading)
        async with asyncio.TaskGroup() as tasks:
            for work in legislation.works().values():
                tasks.create_task(work)

    async def _legislation(self, api: Client, served: Served, leading: Callable[[], bool]) -> Any:
        """Load it beside the loop: claims need not wait for machinery that is not theirs."""
        module = await asyncio.to_thread(
            importlib.import_module, "dragoman.controllers.driverconfigschemas.legislation"
        )
        return module.Legislation(self.settings, api, served, leading)

    def _route(self, handlers: Mapping[Resource, Handler]) -> None:
        """Register for each resource once, whatever number of times the operator is started."""
        assert self._registry is not None
        for resource in handlers.keys() - self._handlers.keys():
            names = (resource.group, resource.version, resource.plural)
            kopf.on.event(*names, id="dragoman", registry=self._registry)(self._to(resource))
        self._handlers = {**self._handlers, **handlers}

    def _to(self, watched: Resource) -> Handler:
        async def handle(**event: Any) -> None:
            await self._handlers[watched](**event)

        return handle

    def _spawn_all(self, works: Mapping[str, Coroutine[Any, Any, None]]) -> None:
        for name, work in works.items():
            self._spawn(name, work)

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks.add(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        self.fault = f"{task.get_name()} ended: {error!r}"
        log.critical("A part of the operator ended", part=task.get_name(), exc_info=error)
        # Half an operator helps nobody: whatever restarts it, shall.
        self.stopping.set()

    def _live(self) -> str | None:
        return self.fault or (self._vitals.fault() if self._vitals else None)

    def _ready(self) -> str | None:
        if self.fault:
            return self.fault
        if self._vitals is None:
            return "the API server was not asked yet what it serves"
        if self._vitals.unreachable():
            return "the API server cannot be reached"
        return (self._claiming.unready() if self._claiming else None) or self._reviews_unready()


async def _discovered(api: Client) -> Served:
    pauses = Backoff()
    while True:
        try:
            return await discover(api)
        except ApiError as error:
            log.warning("Cannot ask the API server yet", error=str(error), code=error.code)
            await asyncio.sleep(pauses.next(error.retry_after))


def _leader_elector(api: Client, settings: Settings) -> LeaderElector:
    terms = LeaderElectionConfig(
        settings.lease_duration, settings.renew_deadline, settings.retry_period
    )
    return LeaderElector(api, settings.namespace, LEASE_NAME, terms)


async def _stay() -> None:
    """Hold an office that brings no work of its own."""
    await asyncio.Event().wait()
