"""A server on loopback that sends scripted bytes, valid HTTP or not."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from dragoman.kube.http.pool import ConnectionPool
from dragoman.kube.http.request import Request

Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]
HEADERS = b"Host: here\r\n"
GET = Request("GET", "/", HEADERS)
POST = Request("POST", "/", HEADERS, b"{}", "application/json")


@dataclass
class FakeServer:
    """Sends one scripted reply for each request, in order; then it is silent.

    Attributes:
        script: The replies that it has not sent.
        requests: Every request with its body.
        connections: How many it has accepted.
        port: Where it listens.
    """

    script: list[Reply]
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reply on one connection."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(asyncio.IncompleteReadError, OSError):
                while not writer.is_closing():
                    self.requests.append(await read_request(reader))
                    await (self.script.pop(0) if self.script else silent)(writer)
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            writer.close()

    async def stop(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Transports close in later turns of the loop.
        await asyncio.sleep(0.01)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """Read one request with its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return head + await reader.readexactly(int(length or 0))


@asynccontextmanager
async def fake_server(
    *script: Reply | bytes,
    server: ssl.SSLContext | None = None,
    client: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
    address: str = "127.0.0.1",
) -> AsyncIterator[tuple[FakeServer, ConnectionPool]]:
    """Run a server with this script, and give it with a pool of connections to it."""
    fake = FakeServer([send(one) if isinstance(one, bytes) else one for one in script])
    listening = await asyncio.start_server(fake.serve, address, 0, ssl=server)
    fake.port = listening.sockets[0].getsockname()[1]
    scheme = "http" if client is None else "https"
    pool = ConnectionPool(f"{scheme}://{host}:{fake.port}", lambda: client)
    try:
        yield fake, pool
    finally:
        await pool.close()
        listening.close()
        await fake.stop()


def send(*pieces: bytes, apart: float = 0.0) -> Reply:
    """Send pieces, one after the other."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(apart)

    return reply


def then_close(*pieces: bytes) -> Reply:
    """Send pieces, and close the connection in order."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        await send(*pieces)(writer)
        writer.close()

    return reply


def then_reset(*pieces: bytes) -> Reply:
    """Send pieces, and drop the connection."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        await send(*pieces)(writer)
        writer.transport.abort()

    return reply


def endless(start: bytes, piece: bytes) -> Reply:
    """Send a start, and then one piece again and again."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(piece)
            await writer.drain()

    return reply


async def silent(_: asyncio.StreamWriter) -> None:
    """Send nothing."""
    await asyncio.sleep(60)


def response(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """Return a response as servers send it."""
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, b"", body])


def chunk(content: bytes) -> bytes:
    """Return one chunk."""
    return b"%x\r\n%b\r\n" % (len(content), content)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
