"""A session for kopf whose lists and watches survive what ends or blinds kopf's own.

kopf 1.45 ends the process on HTTP 410, on an in-stream ERROR of another code and on a cut line, and
never tells about objects that vanished while a watch was down. Middlewares of the aiohttp session,
which kopf accepts through `kopf.AiohttpSession`, turn each of these into something that it handles:
a relist, a retry, or a DELETED event.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from dragoman import metrics
from dragoman.kube.backoff import Backoff
from dragoman.kube.http.stream import LINE_LIMIT
from dragoman.kube.kubeconfig import Credentials, CredentialsUnavailableError
from dragoman.kube.pulse import WatchHealth
from dragoman.logs import logger
from dragoman.model.metadata import is_older

EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},'
    b'"status":"Failure","reason":"Expired","code":410}}\n'
)
log = logger("dragoman.feed")

Keep = Callable[[bytes], bool]


@dataclass
class Listing:
    """What one list-and-watch has told so far, across relists and new logins.

    Attributes:
        keep: Whether a watch line or list item, as bytes, is wanted at all.
        known: Objects that were told and not deleted, by UID: just enough for a tombstone.
        synced: Set when handlers have seen all objects of the first complete list.
        pulse: Whether it is alive.
        rewound: Called when a list is older than what was told: etcd was restored from a backup.
        broken: Whether a watch may not go on where it was, but must list anew.
    """

    keep: Keep = field(default=lambda _: True)
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    pulse: WatchHealth = field(default_factory=WatchHealth)
    rewound: Callable[[], None] = lambda: None
    broken: bool = False
    _newest: str = ""
    _undelivered: set[str] | None = None
    _early: set[str] = field(default_factory=set)
    _pages: dict[str, dict[str, Any]] = field(default_factory=dict)
    _vanished: list[dict[str, Any]] = field(default_factory=list)
    _pauses: Backoff = field(default_factory=Backoff)
    _due: float = 0.0

    def delivered(self, uid: str) -> None:
        """Note that a handler has seen the object; the last one of the first list syncs."""
        if self.synced.is_set():
            return
        if self._undelivered is None:
            # kopf hands out a page before it asks for the next.
            self._early.add(uid)
        else:
            self._undelivered.discard(uid)
            self._check()

    def page(self, document: dict[str, Any], *, first: bool) -> None:
        """Take in a page of a list; its unwanted items are removed from it."""
        version = str((document.get("metadata") or {}).get("resourceVersion"))
        if is_older(version, self._newest):
            log.warning("The API server went back in time", kind=document.get("kind"))
            self.rewound()
        self._newest = version
        self.broken = False
        if first:
            self._pages.clear()
        wanted = [item for item in document["items"] or [] if self.keep(orjson.dumps(item))]
        document["items"] = wanted
        for item in wanted:
            stump = stub(document, item)
            uid = stump["metadata"]["uid"]
            # Known at once: kopf hands a page out before it asks for the next, which may fail.
            self._pages[uid] = self.known[uid] = stump
        if not (document.get("metadata") or {}).get("continue"):
            self._complete()

    def _complete(self) -> None:
        gone = [told for uid, told in self.known.items() if uid not in self._pages]
        self._vanished += gone
        self.known, self._pages = self._pages, {}
        if self._undelivered is None:
            self._undelivered = self.known.keys() - self._early
            self._early.clear()
            self._check()

    def _check(self) -> None:
        if not self._undelivered:
            self.synced.set()

    def vanished(self) -> bytes:
        """Return, once, the DELETED lines of objects that the last relist did not have."""
        lines = [orjson.dumps({"type": "DELETED", "object": told}) for told in self._vanished]
        self._vanished.clear()
        return b"".join(line + b"\n" for line in lines)

    def line(self, line: bytes) -> bytes:
        """Return what kopf is to see of a watch line: itself, an expiry, or nothing."""
        if line.startswith((b'{"type":"ERROR"', b'{"type": "ERROR"')):
            self.failed("error")
            return EXPIRED
        if b'"BOOKMARK"' in line[:24]:
            return line + b"\n"
        if not self.keep(line):
            metrics.WATCH_DROPPED.inc()
            return b""
        try:
            event = orjson.loads(line)
            stump = stub(event["object"], event["object"])
            uid, kind = stump["metadata"]["uid"], event["type"]
        except (ValueError, KeyError, TypeError, AttributeError):
            # No JSON, or not the API's: kopf would end the process over it.
            self.failed("garbled")
            return EXPIRED
        if kind == "DELETED":
            self.known.pop(uid, None)
        else:
            self.known[uid] = stump
            self._newest = stump["metadata"].get("resourceVersion", self._newest)
        return line + b"\n"

    def failed(self, cause: str) -> None:
        """Note that a watch ended with an error: the next list waits longer each time."""
        metrics.WATCH_RESTARTS.labels(cause).inc()
        self.pulse.fails()
        self._due = self._pauses.next()

    def broke(self) -> None:
        """Note that the server was away: whoever comes back may be another, and older, one."""
        self.pulse.fails()
        self.broken = True

    async def pause(self) -> None:
        """Wait before a relist, so that a lasting fault does not become a storm of lists."""
        due, self._due = self._due, 0.0
        await asyncio.sleep(due)


class Session:
    """Makes hardened sessions, and remembers between them.

    Args:
        credentials: Where the Authorization header comes from, for every request anew.
        listings: The lists and watches to look after, by URL path.
    """

    def __init__(self, credentials: Credentials, listings: dict[str, Listing]) -> None:
        self._credentials = credentials
        self._listings = listings

    def open(self) -> aiohttp.ClientSession:
        """Return a session for kopf; it closes it."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._credentials.ssl_context()),
            middlewares=(self._harden, self._authorize),
            json_serialize=lambda value: orjson.dumps(value).decode(),
        )

    async def _authorize(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        try:
            await self._sign(request)
            response = await handler(request)
            if response.status != 401:
                return response
            response.close()
            await self._credentials.renew()
            await self._sign(request)
        except CredentialsUnavailableError as error:
            # kopf tries again after what looks like a broken line.
            raise aiohttp.ClientConnectionError(str(error)) from error
        return await handler(request)

    async def _sign(self, request: aiohttp.ClientRequest) -> None:
        header = await self._credentials.authorization()
        if header is not None:
            request.headers["Authorization"] = header
        for name, _ in self._credentials.impersonation:
            request.headers.popall(name, None)
        request.headers.extend(self._credentials.impersonation)

    async def _harden(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        listing = self._listings.get(request.url.path)
        if listing is None or request.method != "GET":
            return await handler(request)
        watches = request.url.query.get("watch") == "true"
        first = not watches and not request.url.query.get("continue")
        if first:
            await listing.pause()
        try:
            response = await handler(request)
        except (aiohttp.ClientError, TimeoutError, OSError):
            listing.broke()
            raise
        (listing.pulse.works if response.status == 200 else listing.pulse.fails)()
        if watches:
            return await _watch(listing, response)
        return await _list(listing, response, first=first)


async def _watch(listing: Listing, response: aiohttp.ClientResponse) -> aiohttp.ClientResponse:
    if response.status == 410:
        listing.failed("gone")
        await response.read()
        response.status = 200
        response.content = _Told(response.content, EXPIRED)  # type: ignore[assignment]  # a proxy
    elif response.status == 200 and listing.broken:
        response.content = _Told(response.content, EXPIRED)  # type: ignore[assignment]  # a proxy
    elif response.status == 200:
        response.content = _Lines(listing, response.content)  # type: ignore[assignment]  # a proxy
    return response


async def _list(
    listing: Listing, response: aiohttp.ClientResponse, *, first: bool
) -> aiohttp.ClientResponse:
    if response.status == 410:
        listing.failed("continue-expired")
        response.close()
        # kopf gives this list up and starts a new one.
        raise aiohttp.ClientPayloadError("the list's continue token has expired")
    if response.status == 200:
        try:
            document = orjson.loads(await response.read())
            listing.page(document, first=first)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            listing.failed("garbled")
            raise aiohttp.ClientPayloadError(f"no list of the API: {error}") from error

        async def read(**_: Any) -> dict[str, Any]:
            return dict(document)

        response.json = read  # type: ignore[method-assign]  # parsed once, by orjson
    return response


class _Stream:
    """Another stream's stand-in: it is that stream but for what kopf reads from it."""

    def __init__(self, stream: aiohttp.StreamReader) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """Be the stream itself for whatever aiohttp does with it."""
        return getattr(self._stream, name)


class _Told(_Stream):
    """A stream that says this, whatever was in it."""

    def __init__(self, stream: aiohttp.StreamReader, content: bytes) -> None:
        super().__init__(stream)
        self._content = content

    async def iter_chunked(self, _: int) -> AsyncIterator[bytes]:
        yield self._content


class _Lines(_Stream):
    """A stream cut into whole lines; what a broken connection left unfinished is dropped."""

    def __init__(self, listing: Listing, stream: aiohttp.StreamReader) -> None:
        super().__init__(stream)
        self._listing = listing

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        vanished = self._listing.vanished()
        if vanished:
            yield vanished
        rest = bytearray()
        try:
            async for chunk in self._stream.iter_chunked(size):
                self._listing.pulse.works()
                *lines, last = chunk.split(b"\n")
                if lines:
                    lines[0] = bytes(rest) + lines[0]
                    rest.clear()
                rest += last
                if len(rest) > LINE_LIMIT:
                    raise aiohttp.ClientPayloadError("a line without an end")
                told = b"".join(self._listing.line(line) for line in lines if line)
                if told:
                    yield told
        except (aiohttp.ClientError, TimeoutError, OSError):
            self._listing.broke()
            raise


def stub(parent: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """Return as much of an object as a tombstone needs."""
    metadata = item["metadata"]
    kept = {
        k: metadata[k] for k in ("name", "namespace", "uid", "resourceVersion") if k in metadata
    }
    return {
        "apiVersion": item.get("apiVersion") or parent.get("apiVersion"),
        "kind": item.get("kind") or str(parent.get("kind")).removesuffix("List"),
        "metadata": kept,
    }
