"""Routes requests to reviews and probes; fail closed.

A request that cannot be reviewed gets an HTTP error, never `allowed: true`; the webhook's
failurePolicy then decides.
"""

import asyncio
import secrets
import ssl
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from http import HTTPStatus

import structlog

from dragoman_configs.compile.registry import Registry
from dragoman_webhooks import metrics
from dragoman_webhooks.admission import ReviewResult
from dragoman_webhooks.executor import INLINE_BYTES, ReviewExecutor
from dragoman_webhooks.http.bodies import BodyBudget
from dragoman_webhooks.http.connections import Connections
from dragoman_webhooks.http.listener import Listener
from dragoman_webhooks.http.messages import JSON, Request, Response
from dragoman_webhooks.request import UnreviewableError
from dragoman_webhooks.targets import CountDevices
from dragoman_webhooks.turns import OverloadedError

PATH = "/validate"
METHODS = {PATH: "POST", "/livez": "GET", "/readyz": "GET"}
STOP_TIMEOUT = 10.0
"""Seconds for reviews under way when the server stops."""

log = structlog.get_logger(logger_name="dragoman.webhook")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Limits of one webhook process."""

    # Seconds for a review; less than timeoutSeconds of the webhook configuration
    deadline: float = 4.0
    read_timeout: float = 3.0  # Seconds for a client to send its request
    queued_reviews: int = 64  # Reviews that wait for a thread; more are refused with 503
    connections: int = 512  # Connections at the same time, 80 KiB each; one more closes another
    # Bytes of all bodies in memory; large bodies beyond it are refused with 503
    body_bytes: int = 32 * 1024 * 1024


class WebhookServer:
    """Serves reviews over TLS.

    Args:
        registry: Returns the active schemas.
        ready: Returns None once all schemas are compiled, else the reason why they are not.
        tls: The server's side of TLS; None for plain HTTP, in tests only.
        limits: The limits of the process.
        count_devices: What reviews of targets need of the cluster; None where they do without.
    """

    def __init__(
        self,
        registry: Callable[[], Registry],
        ready: Callable[[], str | None],
        *,
        tls: ssl.SSLContext | None,
        limits: ServerLimits | None = None,
        count_devices: CountDevices | None = None,
    ) -> None:
        limits = limits or ServerLimits()
        self._registry = registry
        self._known = Registry()
        self._ready = ready
        self._executor = ReviewExecutor(limits.deadline, limits.queued_reviews, count_devices)
        bodies = BodyBudget(limits.body_bytes, guaranteed=INLINE_BYTES)
        self._connections = Connections(self, bodies, limits.connections, limits.read_timeout)
        self._listener = Listener(self._connections.make, tls, limits.read_timeout)
        metrics.IN_FLIGHT.set_function(
            lambda: self._executor.waiting + self._executor.targets.waiting
        )
        metrics.CACHED.set_function(lambda: len(self._executor.caches.results))

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen, and return the address in use."""
        return await self._listener.start(host, port)

    async def stop(self) -> None:
        """Stop listening, then answer the requests that have begun."""
        await self._listener.stop()
        await self._connections.drain(STOP_TIMEOUT)
        self._executor.close()

    # Called by connections ------------------------------------------------------------------------

    def route(self, request: Request) -> Response | None:
        """Refuse a request by its headers, or return None."""
        method = METHODS.get(request.path)
        if method is None:
            return Response.plain(404, f"expected one of {', '.join(METHODS)}")
        if request.method != method:
            return Response.plain(405, f"expected {method}")
        if request.path != PATH:
            return None
        if request.content_type != JSON:
            return Response.plain(415, f"expected Content-Type: {JSON}")
        # Reviewed without all schemas, an object could pass that one of them denies.
        reason = self._ready()
        return Response.unavailable(reason) if reason else None

    def respond(self, request: Request) -> Response | asyncio.Future[Response]:
        """Answer a routed request; an error becomes a response."""
        if request.path == PATH:
            return self._review(request)
        reason = self._ready() if request.path == "/readyz" else None
        return Response.plain(503 if reason else 200, reason or "ok")

    def refused(self, response: Response) -> Response:
        """Count an HTTP error; a 5xx also counts as a failed review."""
        metrics.REFUSED.labels(str(response.status)).inc()
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            metrics.count("error", "")
        return response

    # Reviews --------------------------------------------------------------------------------------

    def _review(self, request: Request) -> Response | asyncio.Future[Response]:
        began = time.perf_counter()
        body = request.body
        registry = self._current()
        try:
            result = self._executor.inline(body, registry)
        except Exception as error:  # noqa: BLE001 — every error must become an HTTP error
            return self._failed(error)
        if isinstance(result, ReviewResult):
            return _reviewed(result, began)
        queued = self._executor.queued(body, registry, result, request.peer)
        return asyncio.get_running_loop().create_task(self._respond_later(queued, began))

    def _current(self) -> Registry:
        """Return the schemas; of those that are gone, nothing is kept."""
        registry = self._registry()
        if registry is not self._known:
            for driver in self._known.drivers.keys() - registry.drivers.keys():
                metrics.forget(driver)
            self._executor.caches.forget(registry)
            self._known = registry
        return registry

    async def _respond_later(
        self, queued: Coroutine[None, None, ReviewResult], began: float
    ) -> Response:
        try:
            return _reviewed(await queued, began)
        except Exception as error:  # noqa: BLE001 — as above
            return self._failed(error)

    def _failed(self, error: Exception) -> Response:
        """Name the client's errors to the client, and internal ones only by an id in the logs."""
        match error:
            case UnreviewableError():
                response = Response.plain(400, str(error))
            case OverloadedError():
                response = Response.unavailable(str(error))
            case TimeoutError():
                response = Response.plain(503, "the review took too long")
            case _:
                identity = secrets.token_hex(8)
                log.error("Review failed", request=identity, exc_info=error)
                response = Response.plain(500, f"internal error; request {identity}")
        return self.refused(response)


def _reviewed(result: ReviewResult, began: float) -> Response:
    metrics.DURATION.observe(time.perf_counter() - began)
    metrics.count(result.verdict, result.resource)
    for driver in result.drivers:
        metrics.FINDINGS.labels(result.verdict, driver).inc()
    return Response(200, result.body, JSON)
