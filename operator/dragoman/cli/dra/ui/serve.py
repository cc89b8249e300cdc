"""The server of the page: loopback only, read only, and only with the token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from dragoman.cli.dra.ui import render
from dragoman.cli.dra.ui.live import Live

HOST: Final = "127.0.0.1"
STREAMS: Final = 16
"""Browser windows that follow the page at one time."""
TOKEN_BYTES: Final = 24
_NAMES: Final = frozenset({"127.0.0.1", "localhost"})
"""What a browser calls this server, whatever the port: `ssh -L` changes it."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{render.policy(live=True)}; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(live: Live, token: str) -> web.Application:
    """Return the application; every path begins with the token."""
    server = _Server(live, token)
    app = web.Application(middlewares=[server.guard])
    app.router.add_get("/{token}/", server.page)
    app.router.add_get("/{token}/events", server.events, allow_head=False)
    app.router.add_get("/{token}/explain", server.explanation, allow_head=False)
    return app


class _Server:
    def __init__(self, live: Live, token: str) -> None:
        self._live = live
        self._token = token.encode()
        self._streams = 0

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what is not a read with the token, under a name of this machine.

        A page of another site can reach a loopback address through a name that it makes resolve
        to it; the browser then sends that name, so it is compared.
        """
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
