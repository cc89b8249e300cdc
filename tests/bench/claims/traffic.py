"""Send many requests to an API server at once, as cheaply as Python can."""

import asyncio
import ssl
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import aiohttp
import orjson
import yaml

STRATEGIC, MERGE = "application/strategic-merge-patch+json", "application/merge-patch+json"
CONCURRENCY = 24
"""Requests in flight; more make no more requests a second against a server on the same machine."""


class Request(NamedTuple):
    """One request: its body is encoded when it is sent."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests go, and as whom.

    Attributes:
        url: Of the API server.
        authority: Certificate of the authority that signed the server's.
        token: Of the user.
    """

    url: str
    authority: Path
    token: str

    @classmethod
    def of(cls, kubeconfig: str) -> Self:
        """Read a kubeconfig as the control plane writes it."""
        document = yaml.safe_load(Path(kubeconfig).read_text())
        cluster = document["clusters"][0]["cluster"]
        authority = Path(cluster["certificate-authority"])
        return cls(cluster["server"], authority, document["users"][0]["user"]["token"])


class RefusedError(RuntimeError):
    """A request that the server did not do.

    Attributes:
        status: HTTP status of the response.
    """

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Session:
    """An open session; an async context manager."""

    def __init__(self, server: Server) -> None:
        self._url = server.url
        context = ssl.create_default_context(cafile=str(server.authority))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=context),
            headers={"Authorization": f"Bearer {server.token}", "Accept": "application/json"},
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def send(self, request: Request) -> bytes:
        """Send one request and return the body of the answer.

        Raises:
            RefusedError: The server did not do it: a measurement with errors is none.
        """
        async with self._session.request(
            request.method,
            self._url + request.path,
            data=None if request.body is None else orjson.dumps(request.body),
            headers={"Content-Type": request.content_type} if request.body is not None else None,
        ) as response:
            body = await response.read()
            if response.status >= 400:
                text = body[:500].decode(errors="replace")
                text = f"{request.method} {request.path}: {response.status} {text}"
                raise RefusedError(text, response.status)
            return body


def send(
    server: Server,
    requests: Iterable[Request],
    *,
    concurrency: int = CONCURRENCY,
    pace: float | None = None,
) -> int:
    """Send all requests, in about their order, and return how many there were.

    Args:
        server: Where to.
        requests: May be a generator: one is taken when a connection is free.
        concurrency: Requests in flight at most.
        pace: Requests a second at most; as fast as possible when None.
    """
    return asyncio.run(_send(server, iter(requests), concurrency, pace))


async def _send(
    server: Server, requests: Iterator[Request], concurrency: int, pace: float | None
) -> int:
    began, count = time.monotonic(), 0

    async def work() -> None:
        nonlocal count
        for request in requests:
            due = began + count / pace if pace else 0.0
            count += 1
            if (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            await session.send(request)

    async with Session(server) as session, asyncio.TaskGroup() as workers:
        for _ in range(concurrency):
            workers.create_task(work())
    return count
