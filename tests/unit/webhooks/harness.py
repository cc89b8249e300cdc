"""A webhook on loopback, and clients that talk to it."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from dragoman_configs.compile.registry import Registry
from dragoman_webhooks.server import PATH, ServerLimits, WebhookServer
from dragoman_webhooks.targets import CountDevices
from tests.support.worlds.reviews import REGISTRY, Json

Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]
"""A bare connection."""


@dataclass
class Client:
    """Sends requests to one webhook.

    Attributes:
        url: Where it listens.
        session: Carries the requests.
    """

    url: str
    session: aiohttp.ClientSession

    async def post(self, body: Any, path: str = PATH, **headers: str) -> tuple[int, str]:
        """POST a body, bytes as they are; returns status and text."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        async with self.session.post(
            self.url + path, data=io.BytesIO(content), headers=given
        ) as response:
            return response.status, await response.text()

    async def reviewed(self, body: Any) -> Json:
        """POST a review that must be answered; returns the response in it."""
        status, text = await self.post(body)
        assert status == 200, text
        answer = json.loads(text)
        assert answer["kind"] == "AdmissionReview"
        assert answer["response"]["uid"] == "0a1b"
        response: Json = answer["response"]
        return response


@asynccontextmanager
async def serving(
    registry: Registry | Callable[[], Registry] = REGISTRY,
    limits: ServerLimits | None = None,
    ready: Callable[[], str | None] = lambda: None,
    count_devices: CountDevices | None = None,
    **tls: Any,
) -> AsyncIterator[Client]:
    """Run a webhook on loopback, over plain HTTP."""
    current = registry if callable(registry) else lambda: registry
    server = WebhookServer(
        current, ready, tls=tls.get("tls"), limits=limits, count_devices=count_devices
    )
    host, port = await server.start("127.0.0.1", 0)
    scheme = "https" if tls else "http"
    try:
        async with aiohttp.ClientSession() as session:
            yield Client(f"{scheme}://{host}:{port}", session)
    finally:
        await server.stop()


def field(response: Mapping[str, Any]) -> str:
    """Return the first path that a refusal names."""
    return str(response["status"]["details"]["causes"][0]["field"])


def address(client: Client) -> tuple[str, int]:
    """Return where the webhook listens."""
    parts = urlsplit(client.url)
    return str(parts.hostname), int(parts.port or 0)


@asynccontextmanager
async def wire(client: Client) -> AsyncIterator[Wire]:
    """Open a bare connection."""
    reader, writer = await asyncio.open_connection(*address(client))
    try:
        yield reader, writer
    finally:
        writer.close()


async def turns(count: int = 10) -> None:
    """Let the event loop turn, so that both ends have read all that was sent.

    On a busy machine, one long sleep may be as short as one turn.
    """
    for _ in range(count):
        await asyncio.sleep(0.005)


async def response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read one response."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    [length] = [
        int(line.split(":")[1]) for line in head.splitlines() if line.startswith("Content-Length")
    ]
    return int(head.split()[1]), await reader.readexactly(length)


async def exchange(client: Client, sent: bytes) -> bytes:
    """Send bytes and read until the server closes."""
    async with wire(client) as (reader, writer):
        writer.write(sent)
        return await asyncio.wait_for(reader.read(), 30)
