"""A server on loopback that says the bytes it is told to, as answers or not."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from dragoman.kube.http.pool import Pool

Say = Callable[[asyncio.StreamWriter], Awaitable[None]]
GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


@dataclass
class Speaker:
    """Gives out what it was told to say, one piece a request, in order; then it is silent.

    Attributes:
        script: What is still to be said.
        requests: What came in: each request with its body.
        connections: How many there have been.
        port: Where it listens.
    """

    script: list[Say]
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak on one connection."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(asyncio.IncompleteReadError, OSError):
                while not writer.is_closing():
                    self.requests.append(await whole(reader))
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


async def whole(reader: asyncio.StreamReader) -> bytes:
    """Read one request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return head + await reader.readexactly(int(length or 0))


@asynccontextmanager
async def speaking(
    *script: Say | bytes,
    server: ssl.SSLContext | None = None,
    client: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
    address: str = "127.0.0.1",
) -> AsyncIterator[tuple[Speaker, Pool]]:
    """Run a server with this script, and a pool of connections to it."""
    speaker = Speaker([say(one) if isinstance(one, bytes) else one for one in script])
    listening = await asyncio.start_server(speaker.serve, address, 0, ssl=server)
    speaker.port = listening.sockets[0].getsockname()[1]
    scheme = "http" if client is None else "https"
    pool = Pool(f"{scheme}://{host}:{speaker.port}", lambda: client)
    try:
        yield speaker, pool
    finally:
        await pool.close()
        listening.close()
        await speaker.stop()


def say(*pieces: bytes, apart: float = 0.0) -> Say:
    """Say pieces, one after the other."""

    async def to(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(apart)

    return to


def then_close(*pieces: bytes) -> Say:
    """Say pieces, and end the connection as one should."""

    async def to(writer: asyncio.StreamWriter) -> None:
        await say(*pieces)(writer)
        writer.close()

    return to


def then_break(*pieces: bytes) -> Say:
    """Say pieces, and end the connection as one should not."""

    async def to(writer: asyncio.StreamWriter) -> None:
        await say(*pieces)(writer)
        writer.transport.abort()

    return to


def endlessly(start: bytes, piece: bytes) -> Say:
    """Begin, and go on without an end."""

    async def to(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(piece)
            await writer.drain()

    return to


async def silent(_: asyncio.StreamWriter) -> None:
    """Say nothing."""
    await asyncio.sleep(60)


def answer(content: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """Return an answer as servers send it."""
    lines = [b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(content)]
    return b"\r\n".join([*lines, b"", content])


def chunk(content: bytes) -> bytes:
    """Return one chunk."""
    return b"%x\r\n%b\r\n" % (len(content), content)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
