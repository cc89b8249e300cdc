"""Bytes on a connection become requests: chunks, limits, and what no well-behaved client sends."""

import asyncio
import json

import pytest

from dragoman_webhooks.http.requests import HEAD_LIMIT, PIPELINE_LIMIT
from dragoman_webhooks.server import ServerLimits
from tests.support.worlds.reviews import BODY, claim, post, review
from tests.unit.webhooks.harness import exchange, response, serving, turns, wire

pytestmark = pytest.mark.hostile("shapes of HTTP")


async def test_a_request_may_come_byte_by_byte() -> None:
    async with serving() as client, wire(client) as (reader, writer):
        for byte in post():
            writer.write(bytes([byte]))
            await writer.drain()
        status, text = await response(reader)
    assert status == 200
    assert json.loads(text)["response"]["allowed"] is True


async def test_many_requests_in_one_piece_do_not_count_as_large_headers() -> None:
    count = 100
    assert len(post()) * count > 2 * HEAD_LIMIT
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post() * count + post()[:40])
        statuses = {(await response(reader))[0] for _ in range(count)}
    assert statuses == {200}


async def test_too_many_pipelined_requests_end_the_connection() -> None:
    async with serving() as client:
        answer = await exchange(client, b"GET /livez HTTP/1.1\r\n\r\n" * (PIPELINE_LIMIT * 3))
    assert answer.count(b"HTTP/1.1 200 OK") <= 2 * PIPELINE_LIMIT
    assert b"requests ahead of their responses" in answer


async def test_a_body_may_come_in_chunks() -> None:
    pieces = (BODY[:100], BODY[100:])
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post(chunks, "Transfer-Encoding: chunked"))
        assert (await response(reader))[0] == 200


async def test_a_client_that_expects_100_continue_gets_it() -> None:
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post(BODY, "Expect: 100-continue")[: -len(BODY)])
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(BODY)
        assert (await response(reader))[0] == 200


async def test_100_continue_is_sent_once_per_request() -> None:
    asked = post(BODY, *["Expect: 100-continue"] * 500)
    async with serving() as client:
        answer = await exchange(client, asked + post(BODY, "Connection: close"))
    assert answer.count(b"100 Continue") == 1
    assert answer.count(b"HTTP/1.1 200 OK") == 2


async def test_a_refused_request_gets_no_100_continue() -> None:
    asked = post(BODY, "Expect: 100-continue")[: -len(BODY)].replace(b"json", b"yaml")
    async with serving() as client:
        answer = await exchange(client, asked)
    assert answer.startswith(b"HTTP/1.1 415 ")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, id="TLS without TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, id="HTTP/2"),
        pytest.param(post(BODY, "Upgrade: h2c", "Connection: upgrade"), 400, id="an upgrade"),
        pytest.param(b"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 400, id="a tunnel"),
        pytest.param(post(BODY, "Content-Length: 1"), 400, id="two lengths"),
        pytest.param(
            post(BODY, "Content-Length: 9", "Transfer-Encoding: chunked"),
            400,
            id="a length beside chunks",
        ),
        pytest.param(
            post(b"zz\r\n", "Transfer-Encoding: chunked"), 400, id="a chunk without a length"
        ),
        pytest.param(b"POST /validate\r\n\r\n", 415, id="a request of HTTP/0.9"),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * (HEAD_LIMIT // 3), 431, id="endless headers"
        ),
        pytest.param(b"GET /" + b"x" * 2 * HEAD_LIMIT, 431, id="an endless URL"),
    ],
)
async def test_an_invalid_request_gets_an_error_and_the_connection_ends(
    sent: bytes, status: int
) -> None:
    async with serving(limits=ServerLimits(read_timeout=5)) as client:
        answer = await exchange(client, sent)
        assert (await client.reviewed(review(claim())))["allowed"] is True
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close\r\n" in answer
    assert b'"allowed"' not in answer


CHUNKED = "Transfer-Encoding: chunked"


MUCH = HEAD_LIMIT + 4096


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param(b"0\r\nX: " + b"x" * MUCH, id="a trailer"),
        pytest.param(b"0\r\n" + b"x: y\r\n" * (MUCH // 6), id="trailers"),
        pytest.param(b"1;" + b"x" * MUCH, id="a chunk's extension"),
        pytest.param(b"1\r\nx\r\n" * (MUCH // 5), id="bytes in chunks of their own"),
    ],
)
async def test_too_many_bytes_beside_a_body_end_the_connection(endless: bytes) -> None:
    async with (
        serving(limits=ServerLimits(read_timeout=5)) as client,
        wire(client) as (reader, writer),
    ):
        writer.write(post(b"", CHUNKED))
        await turns()
        writer.write(endless)
        answer = await asyncio.wait_for(reader.read(), 30)
    assert answer.startswith(b"HTTP/1.1 431 ")
