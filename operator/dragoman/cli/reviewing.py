"""Run the admission webhook in this process until it is told to stop."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import kopf

from dragoman import logs
from dragoman.controllers.driverconfigschemas.schemas import SchemaKeeper
from dragoman.health import HealthServer
from dragoman.kube.client import Client
from dragoman.kube.feed.session import Session
from dragoman.kube.kubeconfig import ConnectionSettingsError, Credentials
from dragoman.serving import Serving
from dragoman.serving_settings import ServingSettings
from dragoman.shell import configure_kopf
from dragoman_webhooks import metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """Settings of the webhook; see `dragoman webhook --help`."""

    kubeconfig: Path | None
    context: str | None
    serving: ServingSettings
    metrics_address: str
    log_format: str
    log_level: str


def run_webhook(settings: WebhookSettings) -> int:
    """Run the webhook; returns the exit status: 0 after a clean stop, 1 after a fault."""
    logs.configure(json=settings.log_format == "json", level=settings.log_level.upper())
    registry = kopf.OperatorRegistry()
    try:
        webhook = Webhook(settings, Credentials(settings.kubeconfig, settings.context))
    except ConnectionSettingsError as error:
        click.echo(f"dragoman: {error}", err=True)
        return 1
    webhook.register(registry)
    try:
        asyncio.run(kopf.operator(registry=registry, clusterwide=True, standalone=True))
    except Exception as error:  # noqa: BLE001 — whatever it was, a person reads one line
        click.echo(f"dragoman: {webhook.fault or error}", err=True)
        return 1
    return 0


class Webhook:
    """The webhook as a kopf operator: kopf owns start-up, signals and shutdown.

    Attributes:
        fault: Why it could not start, for people; empty when it could.
    """

    def __init__(self, settings: WebhookSettings, credentials: Credentials) -> None:
        self.fault = ""
        self._settings = settings
        self._credentials = credentials
        self._log = logs.logger("dragoman.webhook")
        self._tasks: list[asyncio.Task[None]] = []
        self._health: HealthServer | None = None

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """Register the activities."""
        kopf.on.startup(registry=registry, id="dragoman")(self.start)
        kopf.on.cleanup(registry=registry, id="dragoman")(self.stop)
        kopf.on.login(registry=registry, id="dragoman")(self.login)

    async def start(self, settings: kopf.OperatorSettings, **_: Any) -> None:
        """Read schemas and serve; raise kopf.PermanentError where that cannot work."""
        configure_kopf(settings)
        try:
            await self._start()
        except Exception as error:
            self.fault = str(error)
            await self.stop()
            raise kopf.PermanentError(self.fault) from error

    async def _start(self) -> None:
        self._api = await Client(self._credentials).__aenter__()
        keeper = SchemaKeeper(self._api)
        serving = Serving(self._settings.serving, self._api, keeper)
        await serving.start()
        if self._settings.metrics_address:
            self._health = HealthServer(
                self._settings.metrics_address,
                live=self._live,
                ready=serving.unready,
                registries=(metrics.REGISTRY,),
            )
            self._log.info("Serving probes and metrics", address=await self._health.start())
        self._tasks = [
            asyncio.create_task(keeper.run(), name="schemas"),
            asyncio.create_task(serving.run(), name="serving"),
        ]

    async def stop(self, **_: Any) -> None:
        """Finish reviews under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._health is not None:
            await self._health.stop()
        await self._api.__aexit__(None, None, None)

    def _live(self) -> str | None:
        ended = [task.get_name() for task in self._tasks if task.done()]
        return f"{', '.join(ended)} ended" if ended else None

    async def login(self, **_: Any) -> kopf.AiohttpSession:
        """Tell kopf how to reach the API server."""
        session = Session(self._credentials, {}).open()
        return kopf.AiohttpSession(server=self._credentials.server, aiohttp_session=session)
