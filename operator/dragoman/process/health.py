"""Liveness, readiness and metrics over HTTP: /livez, /readyz and /metrics."""

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from dragoman import metrics, surroundings
from dragoman.kube.watchhealth import WatchHealth
from dragoman.process.httpserver import TEXT, HttpServer, encode
from dragoman.settings import Address

LAG_LIMIT = 10.0
"""Seconds that the event loop may be late."""
SILENCE_LIMIT = 300.0
"""Seconds for which a watch may receive nothing: bookmarks arrive every minute."""
STUCK_LIMIT = 180.0
"""Seconds for which one key may occupy a worker: no request takes longer than 30."""
MISSING_LIMIT = 60.0
"""Seconds for which the server may not know a resource that it served: a start finds the version
that an upgrade serves in its place."""
UNREACHABLE_AFTER = 30.0
"""Seconds of failing lists and watches after which the operator is not ready."""
BEAT = 1.0
"""Seconds between measurements of the event loop's lag."""

METRICS_AGE = 1.0
"""Seconds for which the page of metrics is sent again: to build it takes some milliseconds."""

Check = Callable[[], str | None]
"""Returns None when all is well, else a sentence."""


class Liveness:
    """Whether only a restart helps: a silent watch, a stuck loop or worker, an API that is gone.

    Args:
        watches: The health of each watch.
        longest_running: Seconds for which the slowest worker has had its key.
    """

    def __init__(
        self, watches: Sequence[WatchHealth], longest_running: Callable[[], float]
    ) -> None:
        self._watches = watches
        self._longest_running = longest_running
        self._beat = surroundings.monotonic()

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            await asyncio.sleep(BEAT)
            now = surroundings.monotonic()
            metrics.LOOP_LAG.observe(max(0.0, now - self._beat - BEAT))
            self._beat = now

    def fault(self) -> str | None:
        """Return the fault that only a restart fixes, or None."""
        now = surroundings.monotonic()
        lag = now - self._beat - BEAT
        if lag > LAG_LIMIT:
            return f"the event loop is {lag:.0f} s late"
        silence = max((watch.silent_for() for watch in self._watches), default=0.0)
        if silence > SILENCE_LIMIT:
            return f"a watch has received nothing for {silence:.0f} s"
        if any(one.vital and one.missing_for() > MISSING_LIMIT for one in self._watches):
            return "the API server no longer serves a resource that is watched"
        if self._longest_running() > STUCK_LIMIT:
            return f"a worker has had one key for {self._longest_running():.0f} s"
        return None

    def unreachable(self) -> bool:
        """Whether a vital list or watch has been failing for longer than UNREACHABLE_AFTER."""
        return any(one.vital and one.failing_for() > UNREACHABLE_AFTER for one in self._watches)


class HealthServer:
    """Serves probes and scrapes.

    Args:
        address: `HOST:PORT`; port 0 for any free one.
        live: Fails when only a restart helps.
        ready: Fails while the operator cannot do its work.
        registries: What is served at /metrics.
    """

    def __init__(
        self,
        address: str,
        *,
        live: Check,
        ready: Check,
        registries: Sequence[CollectorRegistry],
    ) -> None:
        self._checks = {b"/livez": live, b"/healthz": live, b"/readyz": ready}
        self._metrics = MetricsPage(registries)
        self._server = HttpServer(Address.parse(address), self.respond)

    async def start(self) -> str:
        """Listen; returns the address in use."""
        return await self._server.start()

    async def stop(self) -> None:
        """Stop listening, and close all connections."""
        await self._server.stop()

    def respond(self, method: bytes, path: bytes) -> bytes:
        """Return the response to a request, encoded."""
        if method not in {b"GET", b"HEAD"}:
            return encode(HTTPStatus.METHOD_NOT_ALLOWED, b"use GET")
        if path == b"/metrics":
            status, body, kind = HTTPStatus.OK, self._metrics.read(), CONTENT_TYPE_LATEST
        elif path in self._checks:
            fault = self._checks[path]()
            status = HTTPStatus.SERVICE_UNAVAILABLE if fault else HTTPStatus.OK
            body, kind = (fault or "ok").encode(), TEXT
        else:
            status, body, kind = HTTPStatus.NOT_FOUND, b"not found", TEXT
        return encode(status, body, kind, head_only=method == b"HEAD")


class MetricsPage:
    """The page of metrics, built at most once in METRICS_AGE seconds.

    Args:
        registries: Registries whose metrics are on the page.
        clock: Returns seconds that never run backwards; the event loop's by default.
    """

    def __init__(
        self, registries: Sequence[CollectorRegistry], clock: Callable[[], float] | None = None
    ) -> None:
        self._registries = registries
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._page = b""
        self._built_at = -METRICS_AGE

    def read(self) -> bytes:
        """Return the page in the text format of Prometheus."""
        now = self._clock()
        if now - self._built_at >= METRICS_AGE:
            self._page = b"".join(generate_latest(registry) for registry in self._registries)
            self._built_at = now
        return self._page
