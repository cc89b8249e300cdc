"""The webhook's server: fail closed, and precisely.

Whatever is no review gets an HTTP error, never `allowed: true`; then the webhook's failurePolicy
decides.
"""

import asyncio
import secrets
import ssl
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from operator import attrgetter

import structlog

from dragoman.driverconfigs.registry import Registry
from dragoman_webhooks import metrics
from dragoman_webhooks.admission import Answer, UnreviewableError
from dragoman_webhooks.executor import AT_ONCE, Overload, Reviewer
from dragoman_webhooks.http.connection import Connection
from dragoman_webhooks.http.listener import Listener
from dragoman_webhooks.http.messages import JSON, Request, Response

PATH = "/validate"
BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of a review: an update carries the object twice, and etcd takes 1.5 MiB of one."""
SWITCH_INTERVAL = 0.0005
"""Seconds after which Python lets another thread go on: the wait of a review behind a long one."""
STOPPING = 10.0
"""Seconds for reviews under way when the server stops."""

log = structlog.get_logger(logger_name="dragoman.webhook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one webhook process takes on.

    Attributes:
        deadline: Seconds for a review; below the timeoutSeconds of the webhook configuration.
        reading: Seconds for a client to send its request.
        waiting: Reviews that are not made at once, at the same time; more are refused with 503.
        connections: Connections at the same time, of 270 KiB each; for one more, one is closed.
        held: Bytes of all bodies under way; large ones beyond it are refused with 503.
    """

    deadline: float = 4.0
    reading: float = 3.0
    waiting: int = 64
    connections: int = 512
    held: int = 32 * 1024 * 1024


class WebhookServer:
    """Serves reviews over TLS.

    Args:
        registry: Returns the schemas in force.
        ready: Returns None when all schemas are compiled, else a sentence.
        tls: The server's side of TLS; None for plain HTTP, in tests only.
        limits: What to take on.

    Attributes:
        body_limit: Bytes of a request's body.
        reading: Seconds for a client to send one request.
    """

    def __init__(
        self,
        registry: Callable[[], Registry],
        ready: Callable[[], str | None],
        *,
        tls: ssl.SSLContext | None,
        limits: Limits | None = None,
    ) -> None:
        self._registry = registry
        self._ready = ready
        self._limits = limits or Limits()
        self._reviewer = Reviewer(self._limits.deadline, self._limits.waiting)
        self._held = 0
        metrics.IN_FLIGHT.set_function(lambda: self._reviewer.waiting)
        metrics.REMEMBERED.set_function(lambda: len(self._reviewer.memories.judgements))
        self._connections: set[Connection] = set()
        self._quiet = asyncio.Event()
        self._listener = Listener(lambda: Connection(self), tls, self._limits.reading)
        self.body_limit = BODY_LIMIT
        self.reading = self._limits.reading

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the address in use."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        return await self._listener.start(host, port)

    async def stop(self) -> None:
        """Stop listening, after the reviews under way."""
        await self._listener.stop()
        for connection in tuple(self._connections):
            connection.finish()
        try:
            async with asyncio.timeout(STOPPING):
                while self._connections:
                    self._quiet.clear()
                    await self._quiet.wait()
        except TimeoutError:
            for connection in tuple(self._connections):
                connection.abort()
        self._reviewer.close()

    # What connections ask -------------------------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        """Take note of a connection; where it is one too many, one of them is closed."""
        self._connections.add(connection)
        if len(self._connections) > self._limits.connections:
            others = (one for one in self._connections if one is not connection and not one.busy)
            least = min(others, key=Connection.missed, default=connection)
            least.abort()
            self._connections.remove(least)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)
        self._quiet.set()

    def admit(self, request: Request) -> Response | None:
        """Say why a request is not served, or None."""
        refusal = self._misdirected(request)
        # Without all schemas a review would let in what one of them refuses.
        if refusal is None and request.path == PATH and (fault := self._ready()):
            return Response.later(fault)
        return refusal

    def hold(self, connection: Connection, size: int) -> bool:
        """Take note of so many more bytes of bodies; False where they are too many.

        Bodies of ordinary size are always taken: there are only so many connections. For a larger
        one, whoever holds most without being complete gives way.
        """
        own = connection.held + size
        while own > AT_ONCE and self._held + size > self._limits.held:
            most = max(self._connections, key=attrgetter("held"))
            if most.held <= own:
                return False
            most.abort()
        self._held += size
        return True

    def answer(self, request: Request) -> Response | asyncio.Future[Response]:
        """Answer what was admitted."""
        if request.path == PATH:
            return self._review(request.body)
        self._held -= len(request.body)
        fault = self._ready() if request.path == "/readyz" else None
        return Response.plain(503 if fault else 200, fault or "ok")

    def dropped(self, size: int) -> None:
        """Take note that so many bytes are held no more."""
        self._held -= size

    def refused(self, response: Response) -> Response:
        """Count an HTTP error; from 500 on it is a review that could not be made."""
        metrics.REFUSED.labels(str(response.status)).inc()
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            metrics.count("error", "")
        return response

    # Reviews --------------------------------------------------------------------------------------

    def _review(self, body: bytes) -> Response | asyncio.Future[Response]:
        began = time.perf_counter()
        registry = self._registry()
        try:
            given = self._reviewer.at_once(body, registry)
        except Exception as error:  # noqa: BLE001 — whatever it is must become an HTTP error
            self._held -= len(body)
            return self._mistake(error)
        if given is not None:
            self._held -= len(body)
            return _reviewed(given, began)
        later = asyncio.get_running_loop().create_task(self._review_later(body, registry, began))
        # Also where it is cancelled before it begins.
        later.add_done_callback(lambda _: self.dropped(len(body)))
        return later

    async def _review_later(self, body: bytes, registry: Registry, began: float) -> Response:
        try:
            return _reviewed(await self._reviewer.later(body, registry), began)
        except Exception as error:  # noqa: BLE001 — as above
            return self._mistake(error)

    def _mistake(self, error: Exception) -> Response:
        """Tell the client's mistakes to the client, and ours by an id for the logs."""
        if isinstance(error, UnreviewableError):
            return self.refused(Response.plain(400, str(error)))
        if isinstance(error, Overload):
            return self.refused(Response.later("too many reviews at the same time"))
        if isinstance(error, TimeoutError):
            return self.refused(Response.plain(503, "the review took too long"))
        identity = secrets.token_hex(8)
        log.error("Review failed", request=identity, exc_info=error)
        return self.refused(Response.plain(500, f"internal error; request {identity}"))

    def _misdirected(self, request: Request) -> Response | None:
        method = METHODS.get(request.path)
        if method is None:
            return Response.plain(404, f"expected one of {', '.join(METHODS)}")
        if request.method != method:
            return Response.plain(405, f"expected {method}")
        if request.path == PATH and request.content_type != JSON:
            return Response.plain(415, f"expected Content-Type: {JSON}")
        return None


METHODS = {PATH: "POST", "/livez": "GET", "/readyz": "GET"}


def _reviewed(given: Answer, began: float) -> Response:
    metrics.DURATION.observe(time.perf_counter() - began)
    metrics.count(given.verdict, given.resource)
    for driver in given.drivers:
        metrics.FINDINGS.labels(given.verdict, driver).inc()
    return Response(200, given.body, JSON)
