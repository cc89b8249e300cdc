"""A proxy on loopback, as `proxy-url` of kubeconfigs names one."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address


class Tunnels:
    """A proxy that speaks CONNECT and SOCKS 5, both with user and password where it has some."""

    def __init__(self, password: bytes = b"") -> None:
        self.password = password
        self.targets: list[str] = []
        self.numbers = 0  # Targets that were addresses, not names
        self.refuses = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            first = await reader.readexactly(1)
            asked = await (self.socks if first == b"\x05" else self.connect)(reader, writer)
            if asked is not None:
                self.targets.append("{}:{}".format(*asked))
                await self.carry(asked, reader, writer)
        writer.close()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks)
        await asyncio.sleep(0.01)  # transports close in later turns of the loop

    async def connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int] | None:
        head = b"C" + (await reader.readuntil(b"\r\n\r\n"))
        wanted = b": Basic " + self.password + b"\r\n"
        if self.refuses or (self.password and wanted not in head):
            status = b"403 Forbidden" if self.refuses else b"407 Proxy Authentication Required"
            writer.write(b"HTTP/1.1 " + status + b"\r\n\r\n")
            return None
        # In two pieces, as slow proxies answer.
        writer.write(b"HTTP/1.1 200 Connection est")
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(b"ablished\r\nVia: 1.1 test\r\n\r\n")
        host, _, port = head.split()[1].decode().rpartition(":")
        return host.strip("[]"), int(port)

    async def socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int] | None:
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        method = b"\x02" if self.password else b"\x00"
        writer.write(b"\x05" + (method if method in methods else b"\xff"))
        if method not in methods:
            return None
        if self.password:
            await reader.readexactly(1)
            pair = [await reader.readexactly((await reader.readexactly(1))[0]) for _ in "ab"]
            fine = b":".join(pair) == self.password
            writer.write(b"\x01" + (b"\x00" if fine else b"\x01"))
            if not fine:
                return None
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ip_address(await reader.readexactly({1: 4, 4: 16}[kind])))
            self.numbers += 1
        port = int.from_bytes(await reader.readexactly(2), "big")
        writer.write(b"\x05" + (b"\x02" if self.refuses else b"\x00") + b"\x00\x01" + bytes(6))
        return None if self.refuses else (host, port)

    async def carry(
        self, target: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        there, back = await asyncio.open_connection(*target)

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            try:
                while data := await source.read(1 << 16):
                    sink.write(data)
                    await sink.drain()
            finally:
                sink.close()

        await asyncio.gather(copy(reader, back), copy(there, writer))


@asynccontextmanager
async def listening(tunnels: Tunnels, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    server = await asyncio.start_server(tunnels.serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await tunnels.stop()
