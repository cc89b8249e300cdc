"""What the operator tells about itself over HTTP: /livez, /readyz and /metrics."""

from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from dragoman.address import Address
from dragoman.metrics import REGISTRY

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Check = Callable[[], str | None]
"""Returns None when all is well, else a sentence."""


class HealthServer:
    """An HTTP server for probes and scrapes.

    Args:
        address: `HOST:PORT`; port 0 for any free one.
        live: Fails when only a restart helps.
        ready: Fails while the operator cannot do its work.
        registries: Whose metrics are served beside the operator's own.
    """

    def __init__(
        self,
        address: str,
        *,
        live: Check,
        ready: Check,
        registries: Sequence[CollectorRegistry] = (),
    ) -> None:
        self._address = Address.parse(address)
        application = web.Application()
        application.router.add_get("/livez", _probe(live))
        application.router.add_get("/healthz", _probe(live))
        application.router.add_get("/readyz", _probe(ready))
        application.router.add_get("/metrics", _metrics((REGISTRY, *registries)))
        self._runner = web.AppRunner(application, access_log=None)

    async def start(self) -> str:
        """Listen; returns the address in use."""
        await self._runner.setup()
        # None is every interface of both families: some clusters have IPv6 alone.
        site = web.TCPSite(self._runner, self._address.host or None, self._address.port)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        return f"{host}:{port}"

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()


def _probe(check: Check) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        fault = check()
        return web.Response(text=fault or "ok", status=503 if fault else 200)

    return answer


def _metrics(registries: Sequence[CollectorRegistry]) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        body = b"".join(generate_latest(registry) for registry in registries)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    return answer
