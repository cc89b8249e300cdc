"""Admission: the webhook server with its certificates, and the schemas that it validates with.

Importing it loads the CEL and JSON Schema machinery, a fifth of what the operator's start costs.
"""

import asyncio
import gc
from collections.abc import Callable
from datetime import timedelta

from yaml import YAMLError

from dragoman.controllers.certificates import Home, SelfSigned
from dragoman.controllers.driverconfigschemas import catalog
from dragoman.controllers.driverconfigschemas.controller import SchemaController, audited_resources
from dragoman.controllers.driverconfigschemas.selection import NONE, Fault, Selection, select
from dragoman.controllers.maintenance.published import PublishedDevices
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served
from dragoman.kube.events import EventRecorder
from dragoman.logs import logger
from dragoman.settings import Address, Settings, WebhookSettings
from dragoman_webhooks.server import Limits, WebhookServer
from dragoman_webhooks.tls.files import CertificateFiles, require_client_certificates
from dragoman_webhooks.tls.rotation import Lifetimes

READY_INTERVAL = 0.5
"""Seconds between checks whether all schemas are compiled."""

log = logger("dragoman.webhook")


def schema_controller(
    client: Client,
    recorder: EventRecorder,
    settings: Settings,
    served: Served | None,
    leading: Callable[[], bool],
) -> SchemaController:
    """Return the schema controller of a process.

    Args:
        client: Where to read and write.
        recorder: Where Events go.
        settings: What of the catalog is applied.
        served: Which API versions the server has; None where nothing is written or audited.
        leading: Whether this process may write now.

    A setting that the catalog does not have, or an object of it that the API server refuses, is
    reported and left out: neither stops the operator.
    """
    if served is None:
        return SchemaController(client, recorder, leading=lambda: False, resync=settings.resync)
    return SchemaController(
        client,
        recorder,
        audited=audited_resources(served.claims),
        catalog=_selection(settings),
        leading=leading,
        resync=settings.resync,
    )


def _selection(settings: Settings) -> Selection:
    """Read and choose the catalog's objects; an unreadable catalog is a fault as well."""
    if settings.catalog == NONE:
        return Selection()
    try:
        documents, releases = catalog.schemas(), catalog.releases()
    except (OSError, TypeError, ValueError, YAMLError) as error:
        return Selection((), (Fault("", f"the catalog is unreadable: {error}"),))
    return select(
        documents,
        settings.catalog,
        settings.catalog_mode,
        settings.catalog_variable,
        releases,
    )


class Webhook:
    """A webhook server with its certificates.

    Args:
        settings: How reviews are served.
        client: Where the certificates of a private CA are stored.
        controller: Keeps the schemas.
    """

    def __init__(
        self, settings: WebhookSettings, client: Client, controller: SchemaController
    ) -> None:
        self._settings = settings
        self._schemas = schemas = controller.schemas
        self._certificates = _certificates(settings, client)
        if settings.client_ca is not None:
            require_client_certificates(self._certificates.context, settings.client_ca)
        self._devices = PublishedDevices(client) if settings.review_targets else None
        self._server = WebhookServer(
            lambda: schemas.registry,
            self.unready,
            tls=self._certificates.context,
            limits=Limits(deadline=settings.deadline),
            count_devices=self._devices.count if self._devices else None,
        )

    def unready(self) -> str | None:
        """Return None when reviews can be answered, else a sentence."""
        return self._schemas.unready() or self._certificates.unready()

    async def start(self) -> None:
        """Listen."""
        address, port = await self._server.start(*Address.parse(self._settings.address))
        log.info("Serving reviews", address=f"{address}:{port}")

    async def run(self) -> None:
        """Renew the certificate until cancelled, then finish the reviews under way."""
        tasks = [asyncio.create_task(self._freeze_when_ready())]
        if self._devices is not None:
            tasks.append(asyncio.create_task(self._devices.run()))
        try:
            await self._certificates.run()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.shield(self._server.stop())

    async def _freeze_when_ready(self) -> None:
        """Exempt what is there from garbage collection, when all schemas are compiled.

        They live as long as the process, and a full collection that visits them delays all reviews
        by a tenth of a second.
        """
        while self.unready():  # noqa: ASYNC110 — several parts decide, and none of them signals
            await asyncio.sleep(READY_INTERVAL)
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)


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
