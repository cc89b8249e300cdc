"""Reviews served by a process that keeps schemas: the webhook's own, or the operator's."""

import asyncio
from datetime import timedelta

from dragoman.address import Address
from dragoman.controllers.certificates import Home, SelfSigned
from dragoman.controllers.driverconfigschemas.schemas import SchemaKeeper
from dragoman.kube.client import Client
from dragoman.logs import logger
from dragoman.serving_settings import ServingSettings
from dragoman_webhooks.server import Limits, WebhookServer
from dragoman_webhooks.tls.files import CertificateFiles
from dragoman_webhooks.tls.rotation import Terms

log = logger("dragoman.webhook")


class Serving:
    """A webhook server with its certificates.

    Args:
        settings: How to serve.
        api: Where certificates of its own are kept.
        keeper: The schemas; somebody else runs it.
    """

    def __init__(self, settings: ServingSettings, api: Client, keeper: SchemaKeeper) -> None:
        self._settings = settings
        self._keeper = keeper
        self._certificates = _certificates(settings, api)
        self._server = WebhookServer(
            lambda: keeper.registry,
            self.unready,
            tls=self._certificates.context,
            limits=Limits(deadline=settings.deadline),
        )

    def unready(self) -> str | None:
        """Return None when reviews can be answered, else a sentence."""
        return self._keeper.unready() or self._certificates.unready()

    async def start(self) -> None:
        """Listen."""
        address, bound = await self._server.start(*Address.parse(self._settings.address))
        log.info("Serving reviews", address=f"{address}:{bound}")

    async def run(self) -> None:
        """Keep the certificate fresh until cancelled, then finish reviews under way."""
        try:
            await self._certificates.run()
        finally:
            await asyncio.shield(self._server.stop())


def _certificates(settings: ServingSettings, api: Client) -> CertificateFiles | SelfSigned:
    if settings.tls == "files":
        assert settings.tls_certificate is not None
        assert settings.tls_key is not None
        return CertificateFiles(settings.tls_certificate, settings.tls_key)
    service = f"dragoman-webhook.{settings.namespace}.svc"
    return SelfSigned(
        api,
        Home(settings.namespace, settings.tls_secret, settings.webhook_configuration),
        frozenset(settings.tls_host or (service,)),
        Terms.of(timedelta(days=settings.tls_lifetime)),
    )
