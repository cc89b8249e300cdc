"""Responses of correct, unusual and hostile servers."""

import asyncio

import pytest

from dragoman.kube.http import response as responses
from dragoman.kube.http.request import Request
from dragoman.kube.http.response import HttpError, Response
from tests.support.scriptedserver import PATIENCE
from tests.unit.dragoman.kube.http.fakes import (
    CHUNKED,
    GET,
    HEADERS,
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

EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
WHOLE = CHUNKED + chunk(b"wh") + chunk(b"ole") + LAST


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        pytest.param(response(b"whole"), b"whole", id="with its length"),
        pytest.param(response(b""), b"", id="empty"),
        pytest.param(WHOLE, b"whole", id="in chunks"),
        pytest.param(
            CHUNKED + b"5;name=value\r\nwhole\r\n0\r\nTrailer: x\r\n\r\n",
            b"whole",
            id="in chunks with an extension and a trailer",
        ),
        pytest.param(send(*(bytes([b]) for b in WHOLE)), b"whole", id="byte by byte"),
        pytest.param(
            then_close(b"HTTP/1.1 200 OK\r\n\r\nwhole"), b"whole", id="until the connection ends"
        ),
        pytest.param(
            then_close(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nwhole"),
            b"whole",
            id="HTTP/1.0",
        ),
        pytest.param(CONTINUE + response(b"whole"), b"whole", id="after 100"),
        pytest.param(send(EARLY, CONTINUE, response(b"whole")), b"whole", id="after 103 and 100"),
        pytest.param(
            then_close(
                b"HTTP/1.1 100 Continue\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n"
                b"HTTP/1.1 200 OK\r\n\r\nwhole"
            ),
            b"whole",
            id="after 100 with headers of its own",
        ),
        pytest.param(response(b"whole", b"X: " + b"y" * 60_000), b"whole", id="after long headers"),
    ],
)
async def test_a_response_is_read(reply: Reply | bytes, content: bytes) -> None:
    async with fake_server(reply) as (_, pool):
        assert await pool.send(GET) == Response(200, None, content)


async def test_a_response_without_a_body_may_omit_its_length() -> None:
    async with fake_server(b"HTTP/1.1 204 No Content\r\n\r\n") as (_, pool):
        assert await pool.send(GET) == Response(204, None, b"")


async def test_status_and_retry_after_are_kept() -> None:
    busy = response(b"busy", b"retry-AFTER: 7", status=b"429 Too Many Requests")
    async with fake_server(busy) as (_, pool):
        assert await pool.send(GET) == Response(429, "7", b"busy")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.9\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 2oo OK\r\n\r\n", id="an invalid status"),
        pytest.param(then_reset(), id="a reset"),
        pytest.param(then_close(), id="a close"),
        pytest.param(then_close(b"HTTP/1.1 200 OK\r\nContent-"), id="half a head"),
        pytest.param(then_close(response(b"whole")[:-1]), id="less than its length"),
        pytest.param(then_close(CHUNKED + chunk(b"wh")), id="chunks without the last"),
        pytest.param(CHUNKED + b"xyz\r\nwhole\r\n", id="an invalid chunk size"),
        pytest.param(CHUNKED + b"f" * 17 + b"\r\n", id="a chunk size beyond 64 bits"),
        pytest.param(response(b"whole", b"Content-Length: 4"), id="two lengths"),
        pytest.param(response(b"whole", b"Transfer-Encoding: chunked"), id="a length and chunks"),
        pytest.param(response(b"", b"X: a\x00b"), id="a header with a NUL"),
        pytest.param(
            response(
                b"", b"Connection: upgrade", b"Upgrade: tcp", status=b"101 Switching Protocols"
            ),
            id="a switch of protocols",
        ),
        pytest.param(endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000), id="endless headers"),
        pytest.param(endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 5000), id="an endless header"),
        pytest.param(endless(b"HTTP/1.1 200 ", b"O" * 5000), id="an endless status line"),
        pytest.param(endless(b"", EARLY * 100), id="endless interim responses"),
        pytest.param(
            b"HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\n[1" + response(b"]"),
            id="an interim response with a body",
        ),
        pytest.param(
            endless(CHUNKED + chunk(b"whole") + b"0\r\n", b"T: y\r\n" * 1000),
            id="endless trailers",
        ),
        pytest.param(
            endless(CHUNKED + b"5;", b"name=value;" * 500), id="an endless chunk extension"
        ),
    ],
)
async def test_an_invalid_response_is_an_error_at_once(reply: Reply | bytes) -> None:
    async with asyncio.timeout(PATIENCE), fake_server(reply) as (_, pool):
        with pytest.raises(HttpError):
            await pool.send(GET)


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        pytest.param(CHUNKED, chunk(b"y" * 5000), id="in chunks"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"y" * 5000, id="until the connection ends"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            b"y" * 5000,
            id="with a length",
        ),
    ],
)
async def test_an_endless_body_does_not_fill_the_memory(
    start: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "BODY_LIMIT", 100_000)
    async with asyncio.timeout(PATIENCE), fake_server(endless(start, piece)) as (_, pool):
        with pytest.raises(HttpError, match="more than 100000 bytes"):
            await pool.send(GET)


async def test_a_long_request_and_a_long_response_arrive_complete() -> None:
    body, content = bytes(range(256)) * 8000, bytes(reversed(range(256))) * 20_000
    async with fake_server(response(content)) as (fake, pool):
        post = Request("POST", "/", HEADERS, body, "application/json")
        assert (await pool.send(post)).body == content
        assert fake.requests == [post.encode()]
