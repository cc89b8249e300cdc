"""Liveness, readiness and metrics over HTTP: /livez, /readyz and /metrics."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from dragoman import metrics
from dragoman.kube.reflector import WatchHealth
from dragoman.settings import Address

LAG_LIMIT = 10.0
"""Seconds that the event loop may be late."""
SILENCE_LIMIT = 300.0
"""Seconds for which a watch may receive nothing: bookmarks arrive every minute."""
STUCK_LIMIT = 180.0
"""Seconds for which one key may occupy a worker: no request takes longer than 30."""
UNREACHABLE_AFTER = 30.0
"""Seconds of failing lists and watches after which the operator is not ready."""
BEAT = 1.0
"""Seconds between measurements of the event loop's lag."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Check = Callable[[], str | None]
"""Returns None when all is well, else a sentence."""


class Liveness:
    """Whether only a restart helps: the loop stalls, a watch is silent or a worker is stuck.

    Args:
        watches: The health of each watch.
        longest_running: Seconds for which the slowest worker has had its key.
    """

    def __init__(
        self, watches: Sequence[WatchHealth], longest_running: Callable[[], float]
    ) -> None:
        self._watches = watches
        self._longest_running = longest_running
        self._beat = time.monotonic()

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            await asyncio.sleep(BEAT)
            now = time.monotonic()
            metrics.LOOP_LAG.observe(max(0.0, now - self._beat - BEAT))
            self._beat = now

    def fault(self) -> str | None:
        """Return the fault that only a restart mends, or None."""
        now = time.monotonic()
        lag = now - self._beat - BEAT
        if lag > LAG_LIMIT:
            return f"the event loop is {lag:.0f} s late"
        silence = max((watch.silent_for() for watch in self._watches), default=0.0)
        if silence > SILENCE_LIMIT:
            return f"a watch has received nothing for {silence:.0f} s"
        if self._longest_running() > STUCK_LIMIT:
            return f"a worker has had one key for {self._longest_running():.0f} s"
        return None

    def unreachable(self) -> bool:
        """Whether a list or watch has been failing for longer than UNREACHABLE_AFTER."""
        return any(watch.failing_for() > UNREACHABLE_AFTER for watch in self._watches)


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
        application.router.add_get("/metrics", _metrics((metrics.REGISTRY, *registries)))
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
