"""An API server on loopback that answers lists and watches from a script, then stays silent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

Json = dict[str, Any]
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
PATIENCE = 30
END = {"k8s.io/initial-events-end": "true"}
CLOSING = web.AppKey("closing", asyncio.Event)
TOLD = web.AppKey("told", dict[str, Any])
"""Objects by the end of their URL path, as the lines of watches have told them."""
GONE = web.AppKey("gone", dict[str, Any])
"""Those that were told of as deleted, likewise."""


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 — nobody tells when facts change
            await asyncio.sleep(0.01)


@dataclass
class ScriptedServer:
    """Gives out the answers of its script, one a request, in their order.

    Attributes:
        script: What is still to be answered; what comes after it hears nothing.
        requests: The queries that came in, with the token of each under `token`.
        url: Where it listens.
        version: What it answers to those who only ask how far it has come.
        refusals: How often it refuses to say so.
        count: How many objects it says that it had; None for as many as it told of.
        lost: Names of objects that it never had, as after a restore, whatever it told.
    """

    script: list[Answer] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    url: str = ""
    version: int = 1_000_000
    refusals: int = 0
    count: int | None = None
    lost: set[str] = field(default_factory=set)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["ScriptedServer"]:
        """Listen on a free port."""
        application = web.Application()
        application[CLOSING] = self._closing
        application[TOLD], application[GONE] = {}, {}
        application.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = "http://{}:{}".format(*runner.addresses[0][:2])
        try:
            yield self
        finally:
            self._closing.set()
            await runner.cleanup()
            # Transports close in later turns of the loop.
            await asyncio.sleep(0.01)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("limit") == "1":
            if "resourceVersionMatch" in request.query:
                count = len(request.app[TOLD]) if self.count is None else self.count
                metadata = {"continue": "more", "remainingItemCount": count}
                return await plain(200, {"items": [], "metadata": metadata})(request)
            self.refusals -= 1
            answer = refused(403) if self.refusals >= 0 else page((), self.version)
            return await answer(request)
        if (
            request.query.get("resourceVersionMatch") == "Exact"
            and "fieldSelector" in request.query
        ):
            name = request.query["fieldSelector"].rpartition("=")[2]
            known = request.app[TOLD].get(name)
            gone = request.app[GONE].get(name)
            at = int(request.query["resourceVersion"])
            if gone is not None and at < int(gone["metadata"]["resourceVersion"]):
                known = gone
            found = [] if known is None or name in self.lost else [known]
            return await page(found, self.version)(request)
        known = request.app[TOLD].get(request.path.rsplit("/", 1)[-1])
        if known is not None and not request.query:
            return await plain(200, known)(request)
        token = request.headers.get("Authorization", "")
        self.requests.append({**request.query, "token": token})
        if self.script:
            return await self.script.pop(0)(request)
        return await told()(request)

    @property
    def lists(self) -> list[Json]:
        """The requests that asked for everything."""
        return [one for one in self.requests if "watch" not in one or "sendInitialEvents" in one]


def event(kind: str, item: Json) -> bytes:
    """Return a watch line."""
    return orjson.dumps({"type": kind, "object": item}) + b"\n"


def error(code: int, reason: str) -> bytes:
    """Return the line by which a watch ends in an error."""
    return event("ERROR", {"kind": "Status", "code": code, "reason": reason, "message": reason})


def bookmark(version: int, annotations: Json | None = None) -> bytes:
    """Return a bookmark."""
    metadata = {"resourceVersion": str(version), "annotations": annotations or {}}
    return event("BOOKMARK", {"kind": "Pod", "metadata": metadata})


def told(*lines: bytes, ends: bool = False) -> Answer:
    """Stream lines, and then end, or stay silent for ever."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for line in lines:
            _note(request, line)
            await response.write(line)
        if not ends:
            await request.app[CLOSING].wait()
        return response

    return answer


def torn(*lines: bytes) -> Answer:
    """Stream lines, and let the connection break."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for line in lines:
            _note(request, line)
            await response.write(line)
        assert request.transport is not None
        request.transport.abort()
        return response

    return answer


def _note(request: web.Request, line: bytes) -> None:
    try:
        told_event = orjson.loads(line)
        item = told_event["object"]
        name = item["metadata"]["name"]
    except (ValueError, KeyError, TypeError):
        return  # one of the faults
    if told_event["type"] == "DELETED":
        request.app[TOLD].pop(name, None)
        request.app[GONE][name] = item
    else:
        request.app[TOLD][name] = item


def streamed(*items: Json, version: int) -> Answer:
    """Answer a streaming list; the same connection hears nothing afterwards."""
    return told(*(event("ADDED", item) for item in items), bookmark(version, END))


def page(items: Sequence[Json] | None, version: int, more: str = "") -> Answer:
    """Answer a list, or one page of it."""
    return plain(
        200,
        {"items": items, "metadata": {"resourceVersion": str(version), "continue": more}},
    )


def refused(code: int, reason: str = "Unknown", **headers: str) -> Answer:
    """Answer with an error."""
    status = {"kind": "Status", "code": code, "reason": reason, "message": reason}
    return plain(code, status, {key.replace("_", "-"): value for key, value in headers.items()})


def plain(code: int, body: Json, headers: Json | None = None) -> Answer:
    """Answer with a document."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=code, headers=headers)

    return answer
