"""Streams of lines: whole ones, in order, and only those that are wanted."""

import asyncio
import tracemalloc
from collections.abc import Callable
from contextlib import aclosing

import pytest

from dragoman.kube.http import connection as connections
from dragoman.kube.http import pool as pools
from dragoman.kube.http import stream as line_limits
from dragoman.kube.http.faults import WireError
from dragoman.kube.http.pool import Pool, RefusedError
from dragoman.kube.http.stream import Lines, Wanted
from tests.unit.kube.http.speaking import (
    CHUNKED,
    GET,
    LAST,
    Say,
    answer,
    chunk,
    endlessly,
    say,
    silent,
    speaking,
    then_break,
    then_close,
)
from tests.unit.kube.scripted import eventually

STREAM = CHUNKED + chunk(b"one\n") + chunk(b"two\n") + LAST


def everything(_: bytes) -> bool:
    """Want all lines."""
    return True


async def heard(pool: Pool, into: list[bytes], wanted: Wanted = everything) -> None:
    """Listen to the end."""
    async with aclosing(pool.lines(GET, wanted)) as batches:
        async for batch in batches:
            into.extend(batch)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(STREAM, id="at once"),
        pytest.param(say(*(bytes([b]) for b in STREAM)), id="byte by byte"),
        pytest.param(CHUNKED + chunk(b"one\ntwo\n") + LAST, id="in one chunk"),
        pytest.param(
            CHUNKED + b"".join(map(chunk, [b"o", b"ne\nt", b"wo", b"\n"])) + LAST,
            id="across chunks",
        ),
        pytest.param(answer(b"one\ntwo\n"), id="with a length"),
        pytest.param(
            then_close(b"HTTP/1.1 200 OK\r\n\r\none\ntwo\n"), id="until the connection ends"
        ),
    ],
)
async def test_lines_come_whole_and_in_order(said: Say | bytes) -> None:
    lines: list[bytes] = []
    async with asyncio.timeout(10), speaking(said) as (_, pool):
        await heard(pool, lines)
    assert lines == [b"one", b"two"]


async def test_lines_that_nobody_wants_never_arrive() -> None:
    lines: list[bytes] = []
    said = [chunk(b"noise %d\n" % n if n % 10 else b"news %d\n" % n) for n in range(100)]
    async with speaking(say(CHUNKED, *said, LAST)) as (_, pool):
        await heard(pool, lines, lambda line: line.startswith(b"news"))
    assert lines == [b"news %d" % n for n in range(0, 100, 10)]


async def test_noise_delays_news_by_little() -> None:
    """Noise is read in batches; what matters must not wait for it."""
    loop = asyncio.get_running_loop()
    said: list[float] = []

    async def noisy(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(200):
            writer.write(chunk(b"noise\n"))
            await asyncio.sleep(0.001)
        said.append(loop.time())
        writer.write(chunk(b"news\n"))
        await asyncio.sleep(60)

    async with speaking(noisy) as (_, pool), aclosing(pool.lines(GET, b"news".__eq__)) as batches:
        assert await anext(batches) == [b"news"]
        assert loop.time() - said[0] < 1


async def test_a_flood_of_noise_is_kept_up_with() -> None:
    """At one buffer for each rest, this would take half a minute."""
    flood = chunk(b"noise " * 10_000 + b"\n") * 10

    async def noisy(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(60):
            writer.write(flood)
            await writer.drain()
        writer.write(chunk(b"news\n"))
        await asyncio.sleep(60)

    async with (
        asyncio.timeout(15),
        speaking(noisy) as (_, pool),
        aclosing(pool.lines(GET, b"news".__eq__)) as batches,
    ):
        assert await anext(batches) == [b"news"]


@pytest.mark.parametrize("breaks", [then_break, then_close], ids=["reset", "closed"])
async def test_what_a_broken_stream_left_unfinished_is_dropped(
    breaks: Callable[..., Say],
) -> None:
    lines: list[bytes] = []
    torn = breaks(CHUNKED, chunk(b"one\n"), chunk(b"tw"))
    async with asyncio.timeout(10), speaking(torn) as (_, pool):
        with pytest.raises(WireError):
            await heard(pool, lines)
    assert lines in ([b"one"], [])


async def test_lines_before_a_break_are_heard_first() -> None:
    async with speaking(then_break(CHUNKED, chunk(b"one\ntwo\n"))) as (speaker, pool):
        batches = pool.lines(GET, everything)
        waiting = asyncio.ensure_future(anext(batches))
        await eventually(lambda: len(speaker.requests) == 1)
        assert await waiting == [b"one", b"two"]
        with pytest.raises(WireError):
            await anext(batches)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(answer(b"gone", b"Retry-After: 3", status=b"410 Gone"), id="with a length"),
        pytest.param(
            b"HTTP/1.1 410 Gone\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunk(b"go")
            + chunk(b"ne")
            + LAST,
            id="in chunks",
        ),
    ],
)
async def test_a_refusal_is_heard_to_its_end(said: bytes) -> None:
    async with speaking(said) as (_, pool):
        with pytest.raises(RefusedError) as caught:
            await heard(pool, [])
        refusal = caught.value.answer
        assert (refusal.status, refusal.retry_after, refusal.content) == (410, "3", b"gone")


@pytest.mark.parametrize("status", [b"200 OK", b"500 Internal Server Error"])
async def test_a_line_without_an_end_does_not_fill_the_memory(
    status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_limits, "LINE_LIMIT", 100_000)
    monkeypatch.setattr(line_limits, "REFUSAL_LIMIT", 100_000)
    start = b"HTTP/1.1 " + status + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with asyncio.timeout(10), speaking(endlessly(start, chunk(b"y" * 5000))) as (_, pool):
        with pytest.raises(WireError, match="without an end"):
            await heard(pool, [])


async def test_lines_by_drops_do_not_fill_the_memory() -> None:
    drops = [b"%x" % (n % 16) * 2 for n in range(20_000)]
    lines = Lines(everything)
    lines.feed(CHUNKED)
    tracemalloc.start()
    for drop in drops:
        lines.feed(chunk(drop))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    lines.feed(chunk(b"\n"))
    assert lines.take() == [b"".join(drops)]
    assert most < 200_000, "40 kB have come"


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

    async with speaking(flood) as (_, pool), aclosing(pool.lines(GET, everything)) as batches:
        assert await anext(batches)
        await asyncio.sleep(0.2)
        before = sent
        await asyncio.sleep(0.2)
        assert sent == before, "the server could go on and on"
        while sent == before:
            await anext(batches)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(silent, id="before the head"),
        pytest.param(say(CHUNKED, chunk(b"one\n")), id="after some lines"),
        pytest.param(
            say(*[b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * 200], apart=0.05), id="a head by drops"
        ),
        pytest.param(say(CHUNKED, *[chunk(b"x")] * 200, apart=0.05), id="a line by drops"),
        pytest.param(
            say(CHUNKED.replace(b"200", b"500"), *[chunk(b"x")] * 200, apart=0.05),
            id="a refusal by drops",
        ),
    ],
)
async def test_silence_ends_a_stream(said: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "SILENCE", 0.3)
    monkeypatch.setattr(pools, "TICK", 0.1)
    async with asyncio.timeout(5), speaking(said) as (_, pool):
        with pytest.raises(WireError, match="in time"):
            await heard(pool, [])


async def test_a_stream_that_speaks_now_and_then_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "SILENCE", 0.5)
    monkeypatch.setattr(pools, "TICK", 0.05)
    lines: list[bytes] = []
    async with speaking(say(CHUNKED, *[chunk(b"x\n")] * 5, LAST, apart=0.15)) as (_, pool):
        await heard(pool, lines)
    assert lines == [b"x"] * 5
