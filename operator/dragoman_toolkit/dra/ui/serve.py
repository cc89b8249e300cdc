"""The server of the page: loopback only, read only, and only with the token."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.dra.ui import render
from dragoman_toolkit.dra.ui.connections import PageConnections
from dragoman_toolkit.dra.ui.live import Live

HOST = "127.0.0.1"
STREAMS = 16
"""Browser windows that follow the page at one time."""
TOKEN_BYTES = 24
_GOODBYE = 0.5
"""Seconds that connections have to end after Ctrl-C."""
_NAMES = frozenset({"127.0.0.1", "localhost"})
"""What a browser calls this server, whatever the port: `ssh -L` changes it."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{render.policy(live=True)}; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_OBJECT = ("kind", "namespace", "name")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def listening(live: Live, token: str, port: int) -> AsyncIterator[str]:
    """Serve the page; yield its address.

    Args:
        live: What is served.
        token: Which every path begins with.
        port: Where to listen; 0 for any free one.

    Raises:
        Unusable: The port cannot be used.
    """
    # What clients send wrong is theirs to know; a terminal is no place for traces of it.
    log = logging.getLogger("dragoman.ui")
    log.setLevel(logging.CRITICAL)
    server = _PageServer(live, token)
    runner = web.AppRunner(
        _application(server),
        access_log=None,
        handler_cancellation=True,
        logger=log,
        shutdown_timeout=_GOODBYE,
    )
    await runner.setup()
    assert runner.server is not None
    server.connections = PageConnections(runner.server)
    try:
        listener = await asyncio.get_running_loop().create_server(server.connections, HOST, port)
    except OSError as error:
        await runner.cleanup()
        raise Unusable(f"--port {port}: {error.strerror}; 0 chooses a free one") from error
    try:
        yield f"http://{HOST}:{listener.sockets[0].getsockname()[1]}/{token}/"
    finally:
        listener.close()
        await runner.cleanup()


def application(live: Live, token: str) -> web.Application:
    """Return the application; every path begins with the token."""
    return _application(_PageServer(live, token))


def _application(server: _PageServer) -> web.Application:
    app = web.Application(middlewares=[server.guard])
    app.router.add_get("/{token}/", server.page)
    app.router.add_get("/{token}/events", server.events, allow_head=False)
    app.router.add_get("/{token}/explain", server.explanation, allow_head=False)
    app.router.add_get("/{token}/object", server.object, allow_head=False)
    return app


class _PageServer:
    def __init__(self, live: Live, token: str) -> None:
        self._live = live
        self._token = token.encode()
        self._streams = 0
        self.connections: PageConnections | None = None

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what is not a read with the token, under a name of this machine.

        A page of another site can reach a loopback address through a name that it makes resolve
        to it; the browser then sends that name, so it is compared.
        """
        if self.connections is not None:
            self.connections.requested(request.transport)
        response = await self._guarded(request, handler)
        # One request for each connection: an idle one then is one without a request.
        response.force_close()
        return response

    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        name = request.headers.get("Host", "").partition(":")[0]
        if name not in _NAMES:
            return _refusal(421, "The page is served as 127.0.0.1 and localhost only.")
        first = request.path.lstrip("/").partition("/")[0].encode()
        if not hmac.compare_digest(first, self._token):
            return _refusal(403, "The address lacks the token; kubectl dra ui has printed it.")
        try:
            response = await handler(request)
        except web.HTTPException as error:
            return _refusal(error.status, error.reason)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    async def page(self, _: web.Request) -> web.StreamResponse:
        """Answer with the whole page."""
        return web.Response(
            body=await self._live.whole(), content_type="text/html", charset="utf-8"
        )

    async def explanation(self, request: web.Request) -> web.StreamResponse:
        """Answer with what `explain` says about a pod."""
        try:
            text = await self._live.explain(request.query.get("pod", ""))
        except KeyError:
            return _refusal(404, "The pod does not wait any more.")
        return web.Response(text=text, content_type="text/html")

    async def object(self, request: web.Request) -> web.StreamResponse:
        """Answer with an object as YAML, and its Events."""
        query = request.query
        try:
            text = await self._live.object(*(query.get(one, "") for one in _OBJECT))
        except KeyError:
            return _refusal(404, "The page has no such object.")
        except Unusable as error:
            return _refusal(502, str(error))
        return web.Response(text=text, content_type="text/plain")

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer with server-sent events: what is newer than the browser's revision."""
        if self._streams >= STREAMS:
            return _refusal(503, f"The page is open in {STREAMS} windows already.")
        since = request.query.get("since", "")
        revision = int(since) if since.isdecimal() and len(since) < 16 else 0
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        self._streams += 1
        try:
            await response.prepare(request)
            async for message in self._live.messages(revision):
                await response.write(message)
        except ConnectionError:
            pass  # the browser went away
        finally:
            self._streams -= 1
        return response


def _refusal(status: int, reason: str) -> web.Response:
    return web.Response(status=status, text=f"{reason}\n", headers=_HEADERS)
