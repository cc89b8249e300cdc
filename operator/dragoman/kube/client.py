"""The client: JSON requests and watches over pooled connections to the API server."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import orjson

from dragoman import __version__, surroundings
from dragoman.kube.decoding import decode
from dragoman.kube.errors import ApiError
from dragoman.kube.http.pool import ConnectionPool, Pool
from dragoman.kube.http.request import Request, encode_headers
from dragoman.kube.http.response import HttpError, Response, StatusError
from dragoman.kube.http.stream import Predicate
from dragoman.kube.kubeconfig import Credentials, CredentialsUnavailableError, Headers
from dragoman.kube.tls import ReloadingTLSContext

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON = "application/json"
FIELD_MANAGER = "dragoman"
WRITING = urlencode({"fieldManager": FIELD_MANAGER, "fieldValidation": "Ignore"})
"""The query of writes. The API server need not search for unknown fields: bodies are built here, or
copied from its own responses."""
WRITING_STRICTLY = urlencode({"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"})
"""The query of writes whose body users wrote: the API server would drop misspelled fields."""
PAGE = 500
"""Objects per page of a list."""
LONGEST_RETRY_AFTER = 300.0
"""Longest delay in seconds before a retry, whatever Retry-After a server or proxy sends."""


@dataclass
class Client:
    """A thin JSON client; an async context manager that owns its connections."""

    credentials: Credentials  # Where the API server is, and who asks
    timeout: float = 0.0  # Seconds until a request without an answer fails; 0 for RESPONSE_TIMEOUT
    # Carries the requests instead of sockets
    transport: Pool | None = None
    _pool: Pool = field(init=False, repr=False)
    _prefix: str = field(init=False, repr=False)
    _renewing: asyncio.Lock = field(init=False, repr=False, default_factory=asyncio.Lock)
    # How many requests and watches had no answer, as while the API server restarts
    unanswered: int = field(init=False, default=0)
    _head: tuple[tuple[Any, ...], bytes] = field(init=False, repr=False, default=((), b""))

    async def __aenter__(self) -> Self:
        server = self.credentials.server
        self._pool = self.transport or ConnectionPool(
            server,
            ReloadingTLSContext(self.credentials).context,
            self.timeout,
            server_name=self.credentials.server_name,
            proxy=self.credentials.proxy,
        )
        self._pool.reload_tls()  # fails now, not with the first request, if files are unreadable
        self._prefix = urlsplit(server).path.rstrip("/")
        return self

    def acting_as(self, account: str) -> "Client":
        """Return a client of the same server that impersonates a user."""
        return Client(self.credentials.acting_as(account), self.timeout, self.transport)

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """GET an object or a list."""
        return await self.request("GET", path, query=query)

    async def post(
        self, path: str, body: Mapping[str, Any], *, dry_run: bool = False, strict: bool = False
    ) -> dict[str, Any]:
        """POST an object; its manager becomes FIELD_MANAGER.

        Args:
            path: Of the collection.
            body: The object.
            dry_run: Whether nothing is stored.
            strict: Whether unknown fields are refused; they are dropped otherwise.
        """
        query = WRITING_STRICTLY if strict else WRITING
        return await self._ask("POST", path, query + "&dryRun=All" * dry_run, body)

    async def patch(self, path: str, body: Mapping[str, Any], kind: str) -> dict[str, Any]:
        """PATCH an object with a patch of this content type."""
        return await self._ask("PATCH", path, WRITING, body, kind)

    async def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """PUT an object; its resourceVersion is the precondition."""
        return await self._ask("PUT", path, WRITING, body)

    async def delete(self, path: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """DELETE an object; return it, or a Status where it was deleted at once."""
        return await self._ask("DELETE", path, "", options)

    async def lines(
        self, path: str, query: Mapping[str, str], wanted: Predicate = lambda _: True
    ) -> AsyncGenerator[bytes, None]:
        """GET a watch and yield its whole lines until the server ends it.

        Raise ApiError when it is refused, breaks, or is silent for too long. What a broken
        connection left unfinished is never yielded.

        Args:
            path: URL path of a collection.
            query: Of the watch.
            wanted: Looks at each line as soon as it is there, and may be called before the line
                ahead of it was yielded; what it refuses costs next to nothing.
        """
        request = Request("GET", self._target(path, urlencode(query)), await self._authorized())
        if metrics := _metrics():
            metrics.WATCHES_OPENED.inc()
        try:
            async with aclosing(self._pool.stream(request, wanted)) as batches:
                async for batch in batches:
                    for line in batch:
                        yield line
        except StatusError as refusal:
            if refusal.response.status == 401:
                await self._renew(None)
            _understand(refusal.response)
        except HttpError as error:
            self.unanswered += 1
            raise ApiError(0, "NoAnswer", f"watch {path}: {error}") from error

    async def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send one request, again only after a 401; raise ApiError where it fails."""
        return await self._ask(method, path, urlencode(query or {}), body, content_type)

    async def _ask(
        self,
        method: str,
        path: str,
        query: str,
        body: Mapping[str, Any] | None,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        content = None if body is None else orjson.dumps(body)
        target = self._target(path, query)
        try:
            return await self._send(method, target, content, content_type)
        except ApiError as error:
            if error.code != 401:
                raise
            await self._renew(error)
            return await self._send(method, target, content, content_type)

    async def _send(
        self, method: str, target: str, content: bytes | None, content_type: str
    ) -> dict[str, Any]:
        request = Request(method, target, await self._authorized(), content, content_type)
        began = surroundings.monotonic()
        code = 0
        try:
            response = await self._pool.send(request)
            code = response.status
        except HttpError as error:
            self.unanswered += 1
            raise ApiError(0, "NoAnswer", f"{method} {target}: {error}") from error
        finally:
            if metrics := _metrics():
                metrics.request_done(method, code, surroundings.monotonic() - began)
        return _understand(response)

    async def _renew(self, refusal: ApiError | None) -> None:
        try:
            # Of many requests that are refused together, one renews and the others wait.
            async with self._renewing:
                await self.credentials.renew()
        except CredentialsUnavailableError as error:
            raise refusal or ApiError(0, "NoCredentials", str(error)) from error
        self._pool.reload_tls()

    def _target(self, path: str, query: str) -> str:
        return f"{self._prefix}{path}?{query}" if query else self._prefix + path

    async def _authorized(self) -> bytes:
        """Return the header lines of all requests; they are rebuilt when the token changes."""
        try:
            who = (await self.credentials.authorization(), self.credentials.impersonation)
            if self._head[0] != who:
                self._head = (who, self._headers(*who))
        except (CredentialsUnavailableError, ValueError) as error:
            raise ApiError(0, "NoCredentials", str(error)) from error
        return self._head[1]

    def _headers(self, authorization: str | None, impersonation: Headers) -> bytes:
        values = {
            "Host": urlsplit(self.credentials.server).netloc.rpartition("@")[2],
            "User-Agent": f"dragoman/{__version__}",
            "Accept": JSON,
        }
        if authorization is not None:
            values["Authorization"] = authorization
        return encode_headers((*values.items(), *impersonation))


def _metrics() -> Any:
    """Return `dragoman.metrics` in processes that serve metrics; others need not load it.

    Its library takes as long to import as a whole command of `kubectl dra` may take to start.
    """
    return sys.modules.get("dragoman.metrics")


async def find(client: Client, path: str) -> dict[str, Any] | None:
    """GET an object; return None where it does not exist; raise ApiError for other failures."""
    try:
        return await client.get(path)
    except ApiError as error:
        if error.code == 404:
            return None
        raise


async def pages(client: Client, path: str, **query: str) -> AsyncIterator[dict[str, Any]]:
    """List a collection, and yield its pages one after the other; raise ApiError."""
    query["limit"] = str(PAGE)
    while True:
        page = await client.get(path, **query)
        yield page
        if not page["metadata"].get("continue"):
            return
        query["continue"] = page["metadata"]["continue"]


async def items(client: Client, path: str, **query: str) -> AsyncIterator[dict[str, Any]]:
    """List a collection, and yield its objects one after the other; raise ApiError."""
    async for page in pages(client, path, **query):
        for item in page["items"] or ():
            yield item


def _understand(response: Response) -> dict[str, Any]:
    code, retry_after = response.status, response.retry_after
    try:
        document = decode(response.body)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        document = {"message": response.body[:200].decode(errors="replace").strip()}
        code = code if code >= 400 else 0
    if 200 <= code < 300:
        return document
    raise ApiError(
        code,
        str(document.get("reason") or ("NoAnswer" if code == 0 else "Unknown")),
        str(document.get("message") or f"HTTP status {response.status}"),
        document.get("details"),
        _seconds(retry_after),
    )


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds of a Retry-After header; None where it holds a date."""
    if not retry_after or not retry_after.isdecimal():
        return None
    return min(float(retry_after), LONGEST_RETRY_AFTER)
