"""The start of the webhook: a server with certificates, over the schemas that are compiled."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from dragoman import surroundings
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.cluster.published import ReviewedDevices
from dragoman.controllers.driverconfigschemas.schemas import Schemas
from dragoman.controllers.process import Process, Run
from dragoman.controllers.webhook.certificates import Home, SelfSigned
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client
from dragoman.kube.discovery import NotServedError, Served, discover
from dragoman.kube.errors import ApiError
from dragoman.logs import logger
from dragoman.settings import Address, WebhookSettings
from dragoman_webhooks.server import ServerLimits, WebhookServer
from dragoman_webhooks.targets import Matches
from dragoman_webhooks.tls.files import CertificateFiles, require_client_certificates
from dragoman_webhooks.tls.rotation import Lifetimes

LOOK_AGAIN = 60.0
"""Seconds of a failing watch of slices, after which their served version is looked for again."""
READY_INTERVAL = 0.5
"""Seconds between checks whether all schemas are compiled."""

log = logger("dragoman.webhook")


async def start(process: Process) -> Run:
    """Listen, and let slices be watched where targets are reviewed."""
    settings = process.settings.webhook
    assert settings is not None
    targets = ReviewedTargets(process) if settings.review_targets else None
    webhook = Webhook(settings, process.client, process.shared(Schemas), targets)
    address, port = await webhook.server.start(*Address.parse(settings.address))
    log.info("Serving reviews", address=f"{address}:{port}")
    process.manager.ready_checks.append(webhook.unready)
    return webhook.run


class ReviewedTargets:
    """What targets of DeviceMaintenances match, by the slices of the process.

    Args:
        process: Which one; that of the webhook has no slices before.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._devices: ReviewedDevices | None = None

    def count(self, target: Mapping[str, Any]) -> Matches | None:
        """Return what a target matches; None before the first list."""
        return self._devices.count(target) if self._devices is not None else None

    async def run(self) -> None:
        """Follow the slices until cancelled, once they are served."""
        process = self._process
        cluster = process.stored
        if cluster is None:
            cluster = ClusterStores(
                process.client, await _served(process.client), process.manager.watch
            )
            cluster.begin()
        devices = cluster.part(DeviceStores)
        self._devices = ReviewedDevices(cluster)
        await devices.require_content()
        cluster.require(devices.slices)
        if process.stored is not None:
            await self._devices.run()
            return
        # Reviews of driver configs go on without slices: targets are counted as they were.
        devices.slices.health.vital = False
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._devices.run())
            tasks.create_task(self._follow_version(devices))

    async def _follow_version(self, devices: DeviceStores) -> None:
        """Watch slices in the version that an upgrade of the API server serves."""
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            if devices.slices.health.failing_for() >= LOOK_AGAIN:
                served = await _served(self._process.client)
                devices.serve(served.slices)


async def _served(client: Client) -> Served:
    backoff = Backoff()
    while True:
        try:
            return await discover(client, "off")
        except (ApiError, NotServedError) as error:
            log.warning("Cannot look for ResourceSlices", error=str(error))
            await asyncio.sleep(backoff.next(getattr(error, "retry_after", None)))


class Webhook:
    """A webhook server with its certificates.

    Args:
        settings: How reviews are served.
        client: Where the certificates of a private CA are stored.
        schemas: What is compiled.
        targets: Counts the devices of targets; None where they are not reviewed.

    Attributes:
        server: Answers reviews once it is started.
    """

    def __init__(
        self,
        settings: WebhookSettings,
        client: Client,
        schemas: Schemas,
        targets: ReviewedTargets | None,
    ) -> None:
        self._schemas = schemas
        self._targets = targets
        self._certificates = _certificates(settings, client)
        if settings.client_ca is not None:
            require_client_certificates(self._certificates.context, settings.client_ca)
        self.server = WebhookServer(
            lambda: schemas.registry,
            self.unready,
            tls=self._certificates.context,
            limits=ServerLimits(deadline=settings.deadline),
            count_devices=targets.count if targets else None,
        )

    def unready(self) -> str | None:
        """Return None when reviews can be answered, else a sentence."""
        return self._schemas.unready() or self._certificates.unready()

    async def run(self) -> None:
        """Renew the certificate until cancelled, then finish the reviews under way."""
        tasks = [asyncio.create_task(self._freeze_when_ready())]
        if self._targets is not None:
            tasks.append(asyncio.create_task(self._targets.run()))
        try:
            await self._certificates.run()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.shield(self.server.stop())

    async def _freeze_when_ready(self) -> None:
        """Exempt what is there from garbage collection, when all schemas are compiled.

        They live as long as the process, and a full collection that visits them delays all reviews
        by a tenth of a second.
        """
        while self.unready():  # noqa: ASYNC110 — several parts decide, and none of them signals
            await asyncio.sleep(READY_INTERVAL)
        surroundings.spare_collector()


def _certificates(settings: WebhookSettings, client: Client) -> CertificateFiles | SelfSigned:
    if settings.tls == "files":
        assert settings.tls_certificate is not None
        assert settings.tls_key is not None
        return CertificateFiles(settings.tls_certificate, settings.tls_key)
    service = f"dragoman-webhook.{settings.namespace}.svc"
    return SelfSigned(
        client,
        Home(settings.namespace, settings.tls_secret, settings.webhook_configuration),
        frozenset(settings.tls_host or (service,)),
        Lifetimes.of(timedelta(days=settings.tls_lifetime)),
    )
