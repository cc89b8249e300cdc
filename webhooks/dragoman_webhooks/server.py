"""The webhook's server: fail closed, and precisely.

Whatever is no review gets an HTTP error, never `allowed: true`; then the webhook's failurePolicy
decides. A review that takes few steps is answered at once. One that does not is begun again in a
thread, with all steps of a review, so that an expensive schema does not hold up the others.
"""

import asyncio
import secrets
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus

import structlog

from dragoman.configs.registry import Registry
from dragoman_webhooks import metrics
from dragoman_webhooks.connection import Connection
from dragoman_webhooks.exchange import JSON, Request, Response
from dragoman_webhooks.listener import Listener
from dragoman_webhooks.memory import Memories
from dragoman_webhooks.review import Answer, UnreviewableError, answer, quick_answer

PATH = "/validate"
BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of a review: an update carries the object twice, and etcd takes 1.5 MiB of one."""
AT_ONCE = 64 * 1024
"""Bytes of a body that is looked at at once; a claim with 32 ordinary configs has 12 KiB."""
THREADS = 1
"""Expensive reviews at the same time: more would finish no earlier, and hold up all others."""
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
        in_flight: Reviews at the same time; more are refused with 503 at once.
        connections: Connections at the same time, of 270 KiB each; for one more, one is closed.
        held: Bytes of all bodies under way; more are refused with 503.
    """

    deadline: float = 4.0
    reading: float = 3.0
    in_flight: int = 128
    connections: int = 512
    held: int = 64 * 1024 * 1024


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
        self._memories = Memories()
        self._in_flight = 0
        self._held = 0
        metrics.IN_FLIGHT.set_function(lambda: self._in_flight)
        metrics.REMEMBERED.set_function(lambda: len(self._memories.judgements))
        self._connections: set[Connection] = set()
        self._quiet = asyncio.Event()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="review")
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
        self._threads.shutdown(wait=False, cancel_futures=True)

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
        """Say why a request is not served, or count it as under way."""
        refusal = self._misdirected(request)
        if refusal is None and request.path == PATH:
            # Without all schemas a review would let in what one of them refuses.
            if fault := self._ready():
                return Response.plain(503, fault)
            if self._in_flight >= self._limits.in_flight:
                return Response.plain(503, "too many reviews at the same time")
            self._in_flight += 1
        return refusal

    def hold(self, size: int) -> bool:
        """Take note of so many more bytes of bodies; False where they are too many."""
        if self._held + size > self._limits.held:
            return False
        self._held += size
        return True

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """Answer what was admitted."""
        if request.path == PATH:
            return self._answer_review(request.body)
        self._held -= len(request.body)
        fault = self._ready() if request.path == "/readyz" else None
        return Response.plain(503 if fault else 200, fault or "ok")

    def dropped(self, request: Request, size: int) -> None:
        """Take note that a request that was admitted, with so many bytes, will not be answered."""
        self._in_flight -= request.path == PATH
        self._held -= size

    def refused(self, response: Response) -> Response:
        """Count an HTTP error; from 500 on it is a review that could not be made."""
        metrics.REFUSED.labels(str(response.status)).inc()
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            metrics.count("error", "")
        return response

    # Reviews --------------------------------------------------------------------------------------

    def _answer_review(self, body: bytes) -> Response | Awaitable[Response]:
        began = time.perf_counter()
        registry = self._registry()
        given = None
        if len(body) <= AT_ONCE:
            try:
                given = quick_answer(body, registry, self._memories)
            except Exception as error:  # noqa: BLE001 — whatever it is must become an HTTP error
                self._done(body)
                return self._mistake(error)
        if given is None:
            return self._answer_later(body, registry, began)
        self._done(body)
        return _reviewed(given, began)

    async def _answer_later(self, body: bytes, registry: Registry, began: float) -> Response:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._limits.deadline):
                given = await loop.run_in_executor(
                    self._threads, answer, body, registry, self._memories
                )
        except TimeoutError:
            return self.refused(Response.plain(503, "the review took too long"))
        except Exception as error:  # noqa: BLE001 — as above
            return self._mistake(error)
        finally:
            self._done(body)
        return _reviewed(given, began)

    def _done(self, body: bytes) -> None:
        self._in_flight -= 1
        self._held -= len(body)

    def _mistake(self, error: Exception) -> Response:
        """Tell the client's mistakes to the client, and ours by an id for the logs."""
        if isinstance(error, UnreviewableError):
            return self.refused(Response.plain(400, str(error)))
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
