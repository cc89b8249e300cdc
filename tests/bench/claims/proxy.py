"""A loopback proxy that lets everything through at once but for the watches of one resource."""

import asyncio
import ssl
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import free_ports

CHUNK = 1 << 16


class Proxy:
    """Stand between a controller and the API server, and hold back what watches say.

    It speaks HTTP/1.1 only, where a connection carries one request at a time: the first line of
    what the client sends tells which one.

    Args:
        plane: Whose API server.
        path: Of the resource whose watches are held back.
        delay: By how many seconds.

    Attributes:
        url: Where it listens.
        delayed: How many bytes it has held back so far.
    """

    def __init__(self, plane: ControlPlane, path: str, delay: float) -> None:
        (self._port,) = free_ports(1)
        self.url = f"https://127.0.0.1:{self._port}"
        self.delayed = 0
        self._target = urlsplit(plane.server)
        self._keys = plane.credentials.keys
        self._mark = f"{path.rpartition('/')[2]}?".encode()
        self._delay = delay
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread.start()
        self._call(self._listen()).result(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cut all connections."""
        self._call(self._close()).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _listen(self) -> None:
        front = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        front.load_cert_chain(self._keys.serving.certificate, self._keys.serving.key)
        self._back = ssl.create_default_context(cafile=str(self._keys.authority))
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self._port, ssl=front, limit=CHUNK
        )

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            with suppress(OSError, ssl.SSLError, asyncio.CancelledError):
                upstream = await asyncio.open_connection(
                    self._target.hostname, self._target.port, ssl=self._back
                )
                await _Connection(self, (reader, writer), upstream).run()
        finally:
            writer.transport.abort()

    def holds_back(self, request: bytes) -> bool:
        """Whether the answer to a request is a watch to be held back."""
        first = request.partition(b"\r\n")[0]
        return self._mark in first and b"watch=" in first

    @property
    def delay(self) -> float:
        """Seconds by which watches are held back."""
        return self._delay


Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Connection:
    def __init__(self, proxy: Proxy, client: Pipe, server: Pipe) -> None:
        self._proxy = proxy
        self._client, self._server = client, server
        self._held = False

    async def run(self) -> None:
        """Pass bytes both ways until one side ends."""
        ways = [asyncio.create_task(way) for way in (self._upwards(), self._downwards())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Before the first await, which the end of the proxy may cancel, and at once: the loop
            # ends soon, and a polite end of TLS would outlive it.
            for _, writer in (self._client, self._server):
                writer.transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for _, writer in (self._client, self._server):
                with suppress(OSError, ssl.SSLError):
                    await writer.wait_closed()

    async def _upwards(self) -> None:
        while chunk := await self._client[0].read(CHUNK):
            if chunk.startswith((b"GET ", b"POST ", b"PATCH ", b"PUT ", b"DELETE ")):
                self._held = self._proxy.holds_back(chunk)
            self._server[1].write(chunk)
            await self._server[1].drain()

    async def _downwards(self) -> None:
        loop = asyncio.get_running_loop()
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        slow = loop.create_task(self._deliver(late))
        try:
            while chunk := await self._server[0].read(CHUNK):
                if self._held:
                    self._proxy.delayed += len(chunk)
                    late.put_nowait((loop.time() + self._proxy.delay, chunk))
                else:
                    self._client[1].write(chunk)
                    await self._client[1].drain()
        finally:
            slow.cancel()

    async def _deliver(self, late: asyncio.Queue[tuple[float, bytes]]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, chunk = await late.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            self._client[1].write(chunk)
            await self._client[1].drain()
