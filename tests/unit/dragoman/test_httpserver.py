"""A server for anyone: bounded connections, whatever clients do."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any

import pytest

from dragoman.process import httpserver
from dragoman.process.httpserver import HttpServer, encode
from dragoman.settings import Address

pytestmark = pytest.mark.hostile("floods")

PAGE = b"page"


@asynccontextmanager
async def serving(page: bytes = PAGE) -> AsyncIterator[str]:
    """Serve one page at all paths; gives the URL."""

    def respond(method: bytes, _: bytes) -> bytes:
        if method not in {b"GET", b"HEAD"}:
            return encode(HTTPStatus.METHOD_NOT_ALLOWED, b"use GET")
        return encode(HTTPStatus.OK, page, head_only=method == b"HEAD")

    server = HttpServer(Address("127.0.0.1", 0), respond)
    url = await server.start()
    try:
        yield url
    finally:
        await server.stop()


async def got(url: str) -> bytes:
    """Return the page."""
    return (await raw(url, b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")).partition(b"\r\n\r\n")[2]


async def raw(url: str, request: bytes) -> bytes:
    """Send bytes, and return everything up to the end of the connection."""
    reader, writer = await connected(url)
    writer.write(request)
    try:
        return await reader.read()
    finally:
        writer.close()


async def connected(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection that is silent."""
    host, port = url.split(":")
    return await asyncio.open_connection(host, int(port))


async def ended(reader: asyncio.StreamReader) -> bool:
    """Wait until the server ends the connection."""
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


async def test_a_connection_carries_one_response() -> None:
    async with serving() as url:
        sent = await raw(url, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
    assert sent.count(b"HTTP/1.1 200 OK") == 1
    assert b"Connection: close\r\n" in sent


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        pytest.param(b"HEAD /livez HTTP/1.1\r\n\r\n", b"200", id="HEAD"),
        pytest.param(b"POST /livez HTTP/1.1\r\n\r\n", b"405", id="POST"),
        pytest.param(b"\x16\x03\x01\x02\r\n\r\n", b"405", id="another protocol"),
        pytest.param(b"GET\r\n\r\n", b"405", id="a method only"),
        pytest.param(b"GET /livez HTTP/1.1\r\nX: " + b"y" * 9000, b"431", id="long headers"),
    ],
)
async def test_unusual_requests_get_a_status(request_: bytes, status: bytes) -> None:
    async with serving() as url:
        sent = await raw(url, request_)
    assert sent.split(b" ")[1] == status
    assert request_[:4] != b"HEAD" or sent.endswith(b"\r\n\r\n")


async def test_a_connection_without_a_complete_request_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(httpserver, "REQUEST_TIMEOUT", 0.2)
    async with asyncio.timeout(5), serving() as url:
        silent, slow = await connected(url), await connected(url)

        async def drip() -> None:
            with suppress(ConnectionError):
                while True:
                    slow[1].write(b"G")
                    await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        assert await ended(silent[0])
        assert await ended(slow[0])
        dripping.cancel()
        for _, writer in (silent, slow):
            writer.close()


async def test_a_client_that_does_not_read_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(httpserver, "RESPONSE_TIMEOUT", 0.2)
    async with asyncio.timeout(10), serving(bytes(30_000_000)) as url:
        reader, writer = await connected(url)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is a ReadTransport
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        await asyncio.sleep(0.5)
        writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
        try:
            received = len(await reader.read())
        except ConnectionResetError:
            received = 0
        assert received < 30_000_000
        writer.close()


async def test_silent_connections_give_way_to_a_probe() -> None:
    async with asyncio.timeout(20), serving() as url:
        silent = [await connected(url) for _ in range(3 * httpserver.CONNECTION_LIMIT)]
        assert await got(url) == PAGE
        # The oldest ones were closed, the limit's worth of newest ones are open.
        for reader, _ in silent[: httpserver.CONNECTION_LIMIT]:
            assert await ended(reader)
        for _, writer in silent:
            writer.close()


async def test_a_probe_is_answered_during_a_flood() -> None:
    counted = 0
    async with asyncio.timeout(20), serving() as url:

        async def flood() -> None:
            nonlocal counted
            while True:
                with suppress(ConnectionError):
                    await raw(url, b"GET /metrics HTTP/1.1\r\n\r\n")
                    counted += 1

        async with asyncio.TaskGroup() as tasks:
            floods = [tasks.create_task(flood()) for _ in range(100)]
            for _ in range(5):
                assert await got(url) == PAGE
            for one in floods:
                one.cancel()
    assert counted > 0


async def test_the_rate_of_connections_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpserver, "ACCEPT_RATE", 100.0)
    loop = asyncio.get_running_loop()
    async with serving() as url:
        began = loop.time()
        await asyncio.gather(*(raw(url, b"GET /livez HTTP/1.1\r\n\r\n") for _ in range(51)))
        assert loop.time() - began >= 0.5


async def test_a_process_without_descriptors_accepts_the_connection_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(httpserver, "ACCEPT_RETRY", 0.1)
    accept, failures = socket.socket.accept, 3

    def failing(listening: socket.socket) -> tuple[socket.socket, Any]:
        nonlocal failures
        if failures:
            failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", failing)
    async with serving() as url:
        assert await got(url) == PAGE
    assert failures == 0


async def test_no_task_waits_for_connections() -> None:
    """kopf waits five seconds for such a task where it stops before it has started."""
    before = asyncio.all_tasks()
    async with serving() as url:
        assert await got(url) == PAGE
        assert asyncio.all_tasks() == before


async def test_connections_that_read_metrics_give_way_to_probes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(httpserver, "REQUEST_TIMEOUT", 60.0)
    monkeypatch.setattr(httpserver, "RESPONSE_TIMEOUT", 60.0)
    long = bytes(4 * httpserver.SHORT)
    limit = httpserver.CONNECTION_LIMIT

    def respond(_: bytes, path: bytes) -> bytes:
        return encode(HTTPStatus.OK, long * 400 if path == b"/metrics" else b"ok")

    server = HttpServer(Address("127.0.0.1", 0), respond)
    url = await server.start()
    async with asyncio.timeout(30):
        probe = await connected(url)  # silent, and the oldest of all
        readers = []
        for _ in range(limit + 72):
            reader, writer = await connected(url)
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is a ReadTransport
            writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
            readers.append((reader, writer))
        await asyncio.sleep(0.5)
        probe[1].write(b"GET /livez HTTP/1.1\r\n\r\n")
        assert (await probe[0].read()).endswith(b"ok")
        for _, writer in (*readers, probe):
            writer.close()
        await server.stop()
