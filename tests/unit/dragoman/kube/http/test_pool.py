"""The pool uses connections again where that is safe, and leaves none behind."""

import asyncio
import gc
import socket
import ssl
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dragoman.kube.http import pool as pools
from dragoman.kube.http.pool import ConnectionPool
from dragoman.kube.http.request import Request
from dragoman.kube.http.response import ConnectError, ConnectionLostError, HttpError
from tests.support.certificates import Authority
from tests.support.scriptedserver import PATIENCE, eventually
from tests.unit.dragoman.kube.http.fakes import (
    CHUNKED,
    GET,
    HEADERS,
    LAST,
    POST,
    Reply,
    chunk,
    fake_server,
    response,
    send,
    silent,
    then_close,
    then_reset,
)
from tests.unit.dragoman.kube.http.harness import client_context, resetting_server, server_context


async def bodies(pool: ConnectionPool, count: int) -> list[bytes]:
    """Send so many requests, one after the other, and return the bodies of the responses."""
    return [(await pool.send(POST)).body for _ in range(count)]


async def test_one_connection_carries_one_request_after_the_other() -> None:
    script = response(b"1"), CHUNKED + chunk(b"2") + LAST, response(b"3", status=b"404 Not Found")
    async with fake_server(*script) as (fake, pool):
        assert await bodies(pool, 3) == [b"1", b"2", b"3"]
        assert fake.connections == 1


async def test_requests_at_the_same_time_use_connections_of_their_own() -> None:
    async with fake_server(*[response(b"x")] * 8) as (fake, pool):
        await asyncio.gather(*(pool.send(POST) for _ in range(4)))
        await asyncio.gather(*(pool.send(POST) for _ in range(4)))
        assert fake.connections == 4


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(then_close(response(b"1")), id="the server closes"),
        pytest.param(response(b"1", b"Connection: close"), id="the server announces to close"),
        pytest.param(
            then_close(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n1"), id="speaks HTTP/1.0"
        ),
        pytest.param(
            send(response(b"1"), response(b"unsolicited"), apart=0.05),
            id="brings an unsolicited response",
        ),
        pytest.param(response(b"1") + response(b"unsolicited"), id="brings two responses at once"),
    ],
)
async def test_a_connection_is_not_used_again_that(first: Reply | bytes) -> None:
    async with fake_server(first, response(b"2")) as (fake, pool):
        assert (await pool.send(POST)).body == b"1"
        await eventually(lambda: not pool._open)
        assert (await pool.send(POST)).body == b"2"
        assert fake.connections == 2


@pytest.mark.parametrize(
    "ends", [pytest.param(then_reset(), id="resets"), pytest.param(then_close(), id="closes")]
)
async def test_a_read_is_repeated_when_its_kept_connection(ends: Reply) -> None:
    async with fake_server(response(b"1"), ends, response(b"2")) as (fake, pool):
        assert await bodies(pool, 1) == [b"1"]
        assert (await pool.send(GET)).body == b"2"
        assert fake.connections == 2


@pytest.mark.parametrize(
    ("ends", "error"),
    [
        pytest.param(then_reset(), ConnectionLostError, id="before a response"),
        pytest.param(then_reset(b"HTTP/1.1 2"), HttpError, id="in the middle of a response"),
    ],
)
async def test_a_write_whose_connection_ends_is_not_repeated(
    ends: Reply, error: type[HttpError]
) -> None:
    async with fake_server(response(b"1"), ends, response(b"2")) as (fake, pool):
        assert await bodies(pool, 1) == [b"1"]
        with pytest.raises(error):
            await pool.send(POST)
        assert len(fake.requests) == 2


async def test_a_read_that_fails_on_a_fresh_connection_is_not_repeated() -> None:
    async with fake_server(then_reset(), then_reset(), response(b"late")) as (fake, pool):
        with pytest.raises(HttpError):
            await pool.send(GET)
        assert len(fake.requests) == 1


async def test_the_response_to_a_cancelled_request_reaches_no_other_request() -> None:
    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        await send(response(b"late"))(writer)

    async with fake_server(late, response(b"second")) as (fake, pool):
        cancelled = asyncio.create_task(pool.send(POST))
        await eventually(lambda: len(fake.requests) == 1)
        cancelled.cancel()
        assert (await pool.send(POST)).body == b"second"
        assert fake.connections == 2


async def test_idle_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "IDLE_TIMEOUT", 0.2)
    monkeypatch.setattr(pools, "TICK", 0.05)
    async with fake_server(response(b"1"), response(b"2")) as (fake, pool):
        assert await bodies(pool, 1) == [b"1"]
        await eventually(lambda: not pool._open)
        assert await bodies(pool, 1) == [b"2"]
        assert fake.connections == 2


async def test_the_number_of_idle_connections_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "IDLE_LIMIT", 2)
    async with fake_server(*[response(b"x")] * 10) as (fake, pool):
        await asyncio.gather(*(pool.send(POST) for _ in range(5)))
        await asyncio.gather(*(pool.send(POST) for _ in range(5)))
        assert fake.connections == 8


@pytest.mark.parametrize(
    "server",
    [
        pytest.param("http://127.0.0.1:9", id="a port without a listener"),
        pytest.param("http://no.such.host.invalid", id="an unknown name"),
        pytest.param("http://127.0.0.1:99999", id="an invalid port"),
        pytest.param("http://" + "x" * 70, id="a name that is too long"),
        pytest.param("http://", id="an empty name"),
    ],
)
async def test_an_unreachable_server_is_a_connect_error_that_names_it(server: str) -> None:
    pool = ConnectionPool(server, lambda: None)
    with pytest.raises(ConnectError, match=f"no connection to {server}: "):
        await pool.send(GET)
    await pool.close()


async def test_unreadable_certificates_are_a_connect_error() -> None:
    def unreadable() -> ssl.SSLContext:
        raise FileNotFoundError("no such file: ca.crt")

    pool = ConnectionPool("https://127.0.0.1:9", unreadable)
    with pytest.raises(ConnectError, match=r"ca\.crt"):
        await pool.send(GET)
    await pool.close()


async def test_closing_ends_requests_in_flight_and_idle_connections() -> None:
    async with fake_server(response(b"1"), silent, response(b"2")) as (fake, pool):
        assert await bodies(pool, 1) == [b"1"]
        waiting = asyncio.create_task(pool.send(GET))
        await eventually(lambda: len(fake.requests) == 2)
        await pool.close()
        with pytest.raises(HttpError):
            await waiting
        with pytest.raises(ConnectError, match="closed"):
            await pool.send(GET)
        assert fake.connections == 1


class SlowContext(ssl.SSLContext):
    """Takes the time in which a server can reset the connection that it is for."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        time.sleep(0.01)
        return super().wrap_bio(*args, **kwargs)


async def test_a_pool_closes_after_resets_in_handshakes() -> None:
    with resetting_server() as port:
        pool = ConnectionPool(
            f"https://127.0.0.1:{port}", partial(SlowContext, ssl.PROTOCOL_TLS_CLIENT)
        )
        for _ in range(5):
            with pytest.raises(ConnectError):
                await pool.send(GET)
        async with asyncio.timeout(PATIENCE):
            await pool.close()


async def test_a_request_that_is_cancelled_in_a_handshake_leaves_nothing() -> None:
    reports: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
    with resetting_server() as port:
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        pool = ConnectionPool(f"https://127.0.0.1:{port}", lambda: trust)
        for turns in range(30):
            sending = asyncio.create_task(pool.send(GET))
            for _ in range(turns):
                await asyncio.sleep(0)
            sending.cancel()
            await asyncio.wait({sending})
            with suppress(asyncio.CancelledError):
                sending.exception()
        async with asyncio.timeout(PATIENCE):
            await pool.close()
    await asyncio.sleep(0.05)
    gc.collect()
    assert reports == []


async def test_a_reset_in_the_middle_of_a_write_is_an_error_and_the_pool_goes_on() -> None:
    async def resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(100)
        writer.transport.abort()

    async with await asyncio.start_server(resets, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        pool = ConnectionPool(f"http://127.0.0.1:{port}", lambda: None)
        for _ in range(2):
            with pytest.raises(HttpError):
                await pool.send(Request("POST", "/", HEADERS, bytes(9_000_000), "text/plain"))
        await pool.close()


async def test_a_server_that_stalls_in_the_handshake_is_given_up_and_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "CONNECT_TIMEOUT", 0.3)
    ended = asyncio.Event()

    async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while await reader.read(1000):
                pass
        writer.close()
        ended.set()

    async with (
        asyncio.timeout(PATIENCE),
        await asyncio.start_server(stall, "127.0.0.1", 0) as server,
    ):
        port = server.sockets[0].getsockname()[1]
        pool = ConnectionPool(f"https://127.0.0.1:{port}", ssl.create_default_context)
        with pytest.raises(ConnectError, match=rf"no connection to {pool.server} within 0\.3 s"):
            await pool.send(GET)
        await ended.wait()
        await pool.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Return addresses by name, for the test to fill: it needs no DNS server."""
    known: dict[str, list[str]] = {}
    resolve = socket.getaddrinfo

    def look_up(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        found = known.get(host, [host])
        return [one for address in found for one in resolve(address, port, *args, **kwargs)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


async def test_one_reachable_address_of_a_name_suffices(names: dict[str, list[str]]) -> None:
    # 127.0.0.2 refuses connections; on 127.0.0.3 they hang, because the backlog is full.
    names["several.example"] = ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
    async with fake_server(response(b"reached"), host="several.example") as (fake, pool):
        with socket.socket() as hanging, socket.socket() as fills, socket.socket() as fills_too:
            hanging.bind(("127.0.0.3", fake.port))
            hanging.listen(0)
            for filling in (fills, fills_too):
                filling.setblocking(False)
                filling.connect_ex(("127.0.0.3", fake.port))
            assert (await pool.send(GET)).body == b"reached"


async def test_a_server_name_may_end_in_a_dot(tmp_path: Path, names: dict[str, list[str]]) -> None:
    authority = Authority(tmp_path)
    names["api.example."] = ["127.0.0.1"]
    server = server_context(authority.serving("server", ("api.example",)))
    async with fake_server(
        response(b"reached"),
        server=server,
        client=client_context(authority),
        host="api.example.",
    ) as (_, pool):
        assert (await pool.send(GET)).body == b"reached"
