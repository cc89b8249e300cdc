"""Answers of servers good, odd and hostile."""

import asyncio

import pytest

from dragoman.kube.http import answer as answers
from dragoman.kube.http import pool as pools
from dragoman.kube.http.answer import Answer
from dragoman.kube.http.faults import WireError
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

EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
WHOLE = CHUNKED + chunk(b"wh") + chunk(b"ole") + LAST


@pytest.mark.parametrize(
    ("said", "content"),
    [
        pytest.param(answer(b"whole"), b"whole", id="with its length"),
        pytest.param(answer(b""), b"", id="empty"),
        pytest.param(WHOLE, b"whole", id="in chunks"),
        pytest.param(
            CHUNKED + b"5;name=value\r\nwhole\r\n0\r\nTrailer: x\r\n\r\n",
            b"whole",
            id="in chunks with an extension and a trailer",
        ),
        pytest.param(say(*(bytes([b]) for b in WHOLE)), b"whole", id="byte by byte"),
        pytest.param(
            then_close(b"HTTP/1.1 200 OK\r\n\r\nwhole"), b"whole", id="until the connection ends"
        ),
        pytest.param(
            then_close(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nwhole"),
            b"whole",
            id="HTTP/1.0",
        ),
        pytest.param(CONTINUE + answer(b"whole"), b"whole", id="after 100"),
        pytest.param(say(EARLY, CONTINUE, answer(b"whole")), b"whole", id="after 103 and 100"),
        pytest.param(
            then_close(
                b"HTTP/1.1 100 Continue\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n"
                b"HTTP/1.1 200 OK\r\n\r\nwhole"
            ),
            b"whole",
            id="after 100 with headers of its own",
        ),
        pytest.param(answer(b"whole", b"X: " + b"y" * 60_000), b"whole", id="after long headers"),
    ],
)
async def test_an_answer_is_read(said: Say | bytes, content: bytes) -> None:
    async with speaking(said) as (_, pool):
        assert await pool.ask(GET, repeatable=False) == Answer(200, None, content)


async def test_an_answer_without_content_may_leave_out_its_length() -> None:
    async with speaking(b"HTTP/1.1 204 No Content\r\n\r\n") as (_, pool):
        assert await pool.ask(GET, repeatable=False) == Answer(204, None, b"")


async def test_status_and_retry_after_are_kept() -> None:
    busy = answer(b"busy", b"retry-AFTER: 7", status=b"429 Too Many Requests")
    async with speaking(busy) as (_, pool):
        assert await pool.ask(GET, repeatable=False) == Answer(429, "7", b"busy")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.9\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 2oo OK\r\n\r\n", id="a status that is no number"),
        pytest.param(then_break(), id="nothing, and a break"),
        pytest.param(then_close(), id="nothing"),
        pytest.param(then_close(b"HTTP/1.1 200 OK\r\nContent-"), id="half a head"),
        pytest.param(then_close(answer(b"whole")[:-1]), id="less than its length"),
        pytest.param(then_close(CHUNKED + chunk(b"wh")), id="chunks without the last"),
        pytest.param(CHUNKED + b"xyz\r\nwhole\r\n", id="a size that is no number"),
        pytest.param(CHUNKED + b"f" * 17 + b"\r\n", id="a size beyond all numbers"),
        pytest.param(answer(b"whole", b"Content-Length: 4"), id="two lengths"),
        pytest.param(answer(b"whole", b"Transfer-Encoding: chunked"), id="a length and chunks"),
        pytest.param(answer(b"", b"X: a\x00b"), id="a header with a NUL"),
        pytest.param(
            answer(b"", b"Connection: upgrade", b"Upgrade: tcp", status=b"101 Switching Protocols"),
            id="another protocol from here on",
        ),
        pytest.param(endlessly(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000), id="endless headers"),
        pytest.param(endlessly(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 5000), id="an endless header"),
        pytest.param(endlessly(b"HTTP/1.1 200 ", b"O" * 5000), id="an endless status line"),
        pytest.param(endlessly(b"", EARLY * 100), id="announcements without an end"),
        pytest.param(
            b"HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\n[1" + answer(b"]"),
            id="an announcement with content",
        ),
        pytest.param(
            endlessly(CHUNKED + chunk(b"whole") + b"0\r\n", b"T: y\r\n" * 1000),
            id="endless trailers",
        ),
        pytest.param(
            endlessly(CHUNKED + b"5;", b"name=value;" * 500), id="an endless chunk extension"
        ),
    ],
)
async def test_what_is_no_answer_is_an_error_at_once(said: Say | bytes) -> None:
    async with asyncio.timeout(10), speaking(said) as (_, pool):
        with pytest.raises(WireError):
            await pool.ask(GET, repeatable=False)


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        pytest.param(CHUNKED, chunk(b"y" * 5000), id="in chunks"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"y" * 5000, id="until the connection ends"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            b"y" * 5000,
            id="as announced",
        ),
    ],
)
async def test_content_without_an_end_does_not_fill_the_memory(
    start: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "CONTENT_LIMIT", 100_000)
    async with asyncio.timeout(10), speaking(endlessly(start, piece)) as (_, pool):
        with pytest.raises(WireError, match="more than 100000 bytes"):
            await pool.ask(GET, repeatable=False)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(silent, id="silence"),
        pytest.param(say(*[b"H", b"T", b"T", b"P"] * 50, apart=0.1), id="a byte now and then"),
        pytest.param(
            say(CHUNKED, *[chunk(b"y")] * 100, apart=0.1), id="a piece of content now and then"
        ),
    ],
)
async def test_an_answer_must_be_complete_in_time(
    said: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "ANSWER", 0.3)
    monkeypatch.setattr(pools, "TICK", 0.1)
    async with asyncio.timeout(5), speaking(said) as (_, pool):
        with pytest.raises(WireError):
            await pool.ask(GET, repeatable=False)


async def test_a_long_body_and_a_long_answer_arrive_whole() -> None:
    body, content = bytes(range(256)) * 8000, bytes(reversed(range(256))) * 20_000
    async with speaking(answer(content)) as (speaker, pool):
        post = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        assert (await pool.ask(post, repeatable=False)).content == content
        assert speaker.requests == [post]
