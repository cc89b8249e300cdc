"""Streams of lines: complete, in order, and only those that pass the predicate."""

import asyncio
import tracemalloc
from collections.abc import Callable
from contextlib import aclosing

import pytest

from dragoman.kube.http import pacing
from dragoman.kube.http import stream as streams
from dragoman.kube.http.pool import ConnectionPool
from dragoman.kube.http.response import HttpError, StatusError
from dragoman.kube.http.stream import LineStream, Predicate
from tests.support.scriptedserver import PATIENCE, eventually
from tests.unit.dragoman.kube.http.fakes import (
    CHUNKED,
    GET,
    LAST,
    Reply,
    chunk,
    endless,
    fake_server,
    response,
    send,
    then_close,
    then_reset,
)

STREAM = CHUNKED + chunk(b"one\n") + chunk(b"two\n") + LAST


def every_line(_: bytes) -> bool:
    """Keep all lines."""
    return True


async def read_all(
    pool: ConnectionPool, into: list[bytes], predicate: Predicate = every_line
) -> None:
    """Read a stream to its end."""
    async with aclosing(pool.stream(GET, predicate)) as batches:
        async for batch in batches:
            into.extend(batch)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(STREAM, id="at once"),
        pytest.param(send(*(bytes([b]) for b in STREAM)), id="byte by byte"),
        pytest.param(CHUNKED + chunk(b"one\ntwo\n") + LAST, id="in one chunk"),
        pytest.param(
            CHUNKED + b"".join(map(chunk, [b"o", b"ne\nt", b"wo", b"\n"])) + LAST,
            id="across chunks",
        ),
        pytest.param(response(b"one\ntwo\n"), id="with a length"),
        pytest.param(
            then_close(b"HTTP/1.1 200 OK\r\n\r\none\ntwo\n"), id="until the connection ends"
        ),
    ],
)
async def test_lines_arrive_complete_and_in_order(reply: Reply | bytes) -> None:
    lines: list[bytes] = []
    async with asyncio.timeout(PATIENCE), fake_server(reply) as (_, pool):
        await read_all(pool, lines)
    assert lines == [b"one", b"two"]


async def test_filtered_lines_never_arrive() -> None:
    lines: list[bytes] = []
    pieces = [chunk(b"noise %d\n" % n if n % 10 else b"news %d\n" % n) for n in range(100)]
    async with fake_server(send(CHUNKED, *pieces, LAST)) as (_, pool):
        await read_all(pool, lines, lambda line: line.startswith(b"news"))
    assert lines == [b"news %d" % n for n in range(0, 100, 10)]


async def test_a_kept_line_before_filtered_ones_of_the_same_read_is_delivered() -> None:
    piece = chunk(b"news\n") + chunk(b"noise\n")
    async with (
        asyncio.timeout(PATIENCE),
        fake_server(send(CHUNKED, piece, apart=0.05)) as (_, pool),
        aclosing(pool.stream(GET, b"news".__eq__)) as batches,
    ):
        assert await anext(batches) == [b"news"]


async def test_filtered_lines_delay_a_kept_one_by_little() -> None:
    """The socket is read seldom while lines are filtered out, and without a further line too."""

    async def noisy(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(200):
            writer.write(chunk(b"noise\n"))
            await asyncio.sleep(0.001)
        writer.write(chunk(b"news\n"))
        await asyncio.sleep(60)

    async with (
        asyncio.timeout(PATIENCE),
        fake_server(noisy) as (_, pool),
        aclosing(pool.stream(GET, b"news".__eq__)) as batches,
    ):
        assert await anext(batches) == [b"news"]


async def test_a_flood_of_filtered_lines_is_read_as_fast_as_it_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One read for each interval would take minutes."""
    monkeypatch.setattr(pacing, "FILTERED_INTERVAL", 0.4)
    flood = chunk(b"noise " * 10_000 + b"\n") * 10

    async def noisy(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(60):
            writer.write(flood)
            await writer.drain()
        writer.write(chunk(b"news\n"))
        await asyncio.sleep(60)

    async with (
        asyncio.timeout(2 * PATIENCE),
        fake_server(noisy) as (_, pool),
        aclosing(pool.stream(GET, b"news".__eq__)) as batches,
    ):
        assert await anext(batches) == [b"news"]


@pytest.mark.parametrize("ends", [then_reset, then_close], ids=["reset", "closed"])
async def test_an_unfinished_line_of_a_broken_stream_is_dropped(
    ends: Callable[..., Reply],
) -> None:
    lines: list[bytes] = []
    broken = ends(CHUNKED, chunk(b"one\n"), chunk(b"tw"))
    async with asyncio.timeout(PATIENCE), fake_server(broken) as (_, pool):
        with pytest.raises(HttpError):
            await read_all(pool, lines)
    assert lines in ([b"one"], [])


async def test_lines_before_a_break_are_delivered_first() -> None:
    async with fake_server(then_reset(CHUNKED, chunk(b"one\ntwo\n"))) as (fake, pool):
        batches = pool.stream(GET, every_line)
        waiting = asyncio.ensure_future(anext(batches))
        await eventually(lambda: len(fake.requests) == 1)
        assert await waiting == [b"one", b"two"]
        with pytest.raises(HttpError):
            await anext(batches)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(response(b"gone", b"Retry-After: 3", status=b"410 Gone"), id="with a length"),
        pytest.param(
            b"HTTP/1.1 410 Gone\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunk(b"go")
            + chunk(b"ne")
            + LAST,
            id="in chunks",
        ),
    ],
)
async def test_a_refusal_is_read_to_its_end(reply: bytes) -> None:
    async with fake_server(reply) as (_, pool):
        with pytest.raises(StatusError) as caught:
            await read_all(pool, [])
        refusal = caught.value.response
        assert (refusal.status, refusal.retry_after, refusal.body) == (410, "3", b"gone")


@pytest.mark.parametrize("status", [b"200 OK", b"500 Internal Server Error"])
async def test_an_endless_line_does_not_fill_the_memory(
    status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "LINE_LIMIT", 100_000)
    monkeypatch.setattr(streams, "REFUSAL_LIMIT", 100_000)
    start = b"HTTP/1.1 " + status + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with (
        asyncio.timeout(PATIENCE),
        fake_server(endless(start, chunk(b"y" * 5000))) as (_, pool),
    ):
        with pytest.raises(HttpError, match="more than 100000 bytes"):
            await read_all(pool, [])


async def test_a_line_in_single_bytes_does_not_fill_the_memory() -> None:
    pieces = [b"%x" % (n % 16) * 2 for n in range(20_000)]
    stream = LineStream(every_line)
    stream.feed(CHUNKED)
    tracemalloc.start()
    for piece in pieces:
        stream.feed(chunk(piece))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    stream.feed(chunk(b"\n"))
    assert stream.take() == [b"".join(pieces)]
    assert peak < 200_000, "the line has 40 kB"
