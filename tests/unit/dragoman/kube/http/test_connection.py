"""One connection: deadlines, back-pressure, and no second request where that is unsafe."""

import asyncio
from contextlib import aclosing

import pytest

from dragoman.kube.http import connection as connections
from dragoman.kube.http import pool as pools
from dragoman.kube.http.connection import Connection
from dragoman.kube.http.response import BufferedResponse, ConnectionLostError, HttpError
from tests.support.scriptedserver import PATIENCE
from tests.unit.dragoman.kube.http.fakes import (
    CHUNKED,
    GET,
    LAST,
    Reply,
    chunk,
    fake_server,
    send,
    silent,
    then_close,
)


async def opened(port: int) -> tuple[asyncio.Transport, Connection]:
    """Return a connection to this port, and asyncio's transport below it."""
    return await asyncio.get_running_loop().create_connection(
        lambda: Connection(None, "", lambda _: None), "127.0.0.1", port
    )


async def test_a_connection_is_closing_from_the_moment_its_socket_is() -> None:
    """The next request would otherwise be lost on it, in the turn of the loop that is left."""
    async with fake_server(then_close()) as (fake, _):
        transport, connection = await opened(fake.port)
        connection.write(GET.encode())
        while not transport.is_closing():  # noqa: ASYNC110 — exactly this turn matters
            await asyncio.sleep(0)
        assert connection.closing


async def test_a_closing_connection_refuses_a_request_at_once() -> None:
    async with fake_server() as (fake, _):
        _, connection = await opened(fake.port)
        connection.close()
        with pytest.raises(ConnectionLostError):
            connection.send(GET, BufferedResponse(), timeout=30)
        await connection.wait_closed()
        assert fake.requests == []


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(silent, id="silence"),
        pytest.param(send(*[b"H", b"T", b"T", b"P"] * 50, apart=0.1), id="single bytes"),
        pytest.param(send(CHUNKED, *[chunk(b"y")] * 100, apart=0.1), id="small pieces"),
    ],
)
async def test_a_response_must_be_complete_in_time(
    reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "RESPONSE_TIMEOUT", 0.3)
    monkeypatch.setattr(pools, "TICK", 0.1)
    async with asyncio.timeout(PATIENCE), fake_server(reply) as (_, pool):
        with pytest.raises(HttpError):
            await pool.send(GET)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(silent, id="before the head"),
        pytest.param(send(CHUNKED, chunk(b"one\n")), id="after some lines"),
        pytest.param(
            send(*[b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * 200], apart=0.05),
            id="a head in small pieces",
        ),
        pytest.param(send(CHUNKED, *[chunk(b"x")] * 200, apart=0.05), id="a line in small pieces"),
        pytest.param(
            send(CHUNKED.replace(b"200", b"500"), *[chunk(b"x")] * 200, apart=0.05),
            id="a refusal in small pieces",
        ),
    ],
)
async def test_a_stream_that_ends_no_line_in_time_is_given_up(
    reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "STREAM_TIMEOUT", 0.3)
    monkeypatch.setattr(pools, "TICK", 0.1)
    async with asyncio.timeout(PATIENCE), fake_server(reply) as (_, pool):
        with pytest.raises(HttpError, match="in time"):
            [batch async for batch in pool.stream(GET, lambda _: True)]


async def test_each_line_prolongs_the_deadline_of_a_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "STREAM_TIMEOUT", 1.5)
    monkeypatch.setattr(pools, "TICK", 0.05)
    lines: list[bytes] = []
    async with fake_server(send(CHUNKED, *[chunk(b"x\n")] * 5, LAST, apart=0.3)) as (_, pool):
        async for batch in pool.stream(GET, lambda _: True):
            lines.extend(batch)
    assert lines == [b"x"] * 5


async def test_a_server_is_read_no_faster_than_its_lines_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "BACKLOG_LIMIT", 100_000)
    sent = 0

    async def flood(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(CHUNKED)
        while True:
            writer.write(chunk(b"y" * 49_999 + b"\n"))
            await writer.drain()
            sent += 50_000

    async with (
        fake_server(flood) as (_, pool),
        aclosing(pool.stream(GET, lambda _: True)) as batches,
    ):
        assert await anext(batches)
        async with asyncio.timeout(PATIENCE):  # all buffers on the way are full then
            before = -1
            while sent != before:
                before = sent
                await asyncio.sleep(0.2)
        while sent == before:
            await anext(batches)
