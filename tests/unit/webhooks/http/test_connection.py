"""HTTP on a connection: what no well-behaved client sends, byte by byte."""

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from dragoman_webhooks import executor
from dragoman_webhooks.admission import Answer, answer
from dragoman_webhooks.executor import AT_ONCE
from dragoman_webhooks.http import connection as connections
from dragoman_webhooks.http.connection import AHEAD, HEAD_LIMIT
from dragoman_webhooks.server import PATH, Limits, WebhookServer
from tests.unit.webhooks.reviews import BAD, REGISTRY, Client, claim, review, serving

BODY = json.dumps(review(claim())).encode()
REFUSED = json.dumps(review(claim(BAD))).encode()


def post(body: bytes = BODY, *headers: str, version: str = "1.1") -> bytes:
    """Write a request."""
    lines = [f"POST {PATH} HTTP/{version}", "Host: x", "Content-Type: application/json", *headers]
    if not any(header.lower().startswith("transfer-encoding") for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@asynccontextmanager
async def wire(client: Client) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a bare connection."""
    host, port = client.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()


async def response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read one response."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    [length] = [
        int(line.split(":")[1]) for line in head.splitlines() if line.startswith("Content-Length")
    ]
    return int(head.split()[1]), await reader.readexactly(length)


async def all_of(client: Client, sent: bytes) -> bytes:
    """Send bytes and read until the server closes."""
    async with wire(client) as (reader, writer):
        writer.write(sent)
        return await asyncio.wait_for(reader.read(), 10)


async def test_a_request_may_come_byte_by_byte() -> None:
    async with serving() as client, wire(client) as (reader, writer):
        for byte in post():
            writer.write(bytes([byte]))
            await writer.drain()
        status, text = await response(reader)
    assert status == 200
    assert json.loads(text)["response"]["allowed"] is True


async def test_requests_behind_each_other_are_answered_in_their_order() -> None:
    probe = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post() + post(REFUSED) + probe + post(b"{}") + post())
        answers = [await response(reader) for _ in range(5)]
    assert [status for status, _ in answers] == [200, 200, 200, 400, 200]
    verdicts = [json.loads(answers[place][1])["response"]["allowed"] for place in (0, 1, 4)]
    assert verdicts == [True, False, True]


async def test_many_requests_in_one_piece_have_no_large_headers() -> None:
    count = 100
    assert len(post()) * count > 2 * HEAD_LIMIT
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post() * count + post()[:40])
        statuses = {(await response(reader))[0] for _ in range(count)}
    assert statuses == {200}


async def test_a_client_that_sends_ahead_gets_no_more_turns_than_others() -> None:
    probe = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    async with serving() as client, wire(client) as (greedy, sender), wire(client) as (other, one):
        sender.write(probe * 500)
        one.write(probe)
        ended: list[str] = []

        async def last() -> None:
            for _ in range(500):
                await response(greedy)
            ended.append("greedy")

        async def only() -> None:
            await response(other)
            ended.append("other")

        await asyncio.gather(last(), only())
    assert ended == ["other", "greedy"]


async def test_far_too_many_requests_ahead_of_their_answers_end_the_connection() -> None:
    async with serving() as client:
        answer = await all_of(client, b"GET /livez HTTP/1.1\r\n\r\n" * (AHEAD * 3))
    assert answer.count(b"HTTP/1.1 200 OK") <= 2 * AHEAD
    assert b"requests ahead of their answers" in answer


async def test_a_body_may_come_in_chunks() -> None:
    pieces = (BODY[:100], BODY[100:])
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post(chunks, "Transfer-Encoding: chunked"))
        assert (await response(reader))[0] == 200


async def test_a_client_that_asks_first_is_told_to_go_on() -> None:
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post(BODY, "Expect: 100-continue")[: -len(BODY)])
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(BODY)
        assert (await response(reader))[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(post(BODY, "Connection: close"), id="as asked for"),
        pytest.param(post(version="1.0"), id="as always in HTTP/1.0"),
    ],
)
async def test_a_connection_is_closed_after_its_last_request(sent: bytes) -> None:
    async with serving() as client:
        answer = await all_of(client, sent)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Connection: close\r\n" in answer


async def test_an_answer_to_head_has_no_body() -> None:
    async with serving() as client:
        answer = await all_of(
            client, b"HEAD /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert answer.endswith(b"\r\n\r\n")


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
async def test_what_is_no_request_gets_an_error_and_the_connection_ends(
    sent: bytes, status: int
) -> None:
    async with serving(limits=Limits(reading=5)) as client:
        answer = await all_of(client, sent)
        assert (await client.reviewed(review(claim())))["allowed"] is True
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close\r\n" in answer
    assert b'"allowed"' not in answer


async def test_what_came_before_an_error_is_answered() -> None:
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post() + b"nonsense\r\n\r\n")
        statuses = [(await response(reader))[0] for _ in range(2)]
        assert await reader.read() == b""
    assert statuses == [200, 400]


async def test_a_client_that_sends_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEEP_ALIVE", 0.05)
    async with serving() as client:
        assert await all_of(client, b"") == b""


async def test_a_client_that_does_not_finish_its_headers_is_timed_out() -> None:
    async with serving(limits=Limits(reading=0.05)) as client:
        answer = await all_of(client, b"POST /validate HTTP/1.1\r\nHost:")
    assert answer.startswith(b"HTTP/1.1 408 ")


async def flood(writer: asyncio.StreamWriter) -> None:
    """Send requests without an end."""
    while True:
        writer.write(post(REFUSED) * 50)
        await writer.drain()


async def test_a_client_that_reads_no_answers_stops_being_read() -> None:
    async with serving() as client:
        async with wire(client) as (_, writer):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(flood(writer), 0.3)
            writer.transport.abort()
        assert (await client.reviewed(review(claim())))["allowed"] is True


async def test_a_client_that_never_reads_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEEP_ALIVE", 0.3)
    async with serving(limits=Limits(connections=1)) as client:
        async with wire(client) as (_, writer):
            with pytest.raises(ConnectionError):
                await asyncio.wait_for(flood(writer), 10)
        assert (await client.reviewed(review(claim())))["allowed"] is True


async def test_idle_connections_keep_nobody_out_and_the_longest_idle_one_gives_way() -> None:
    async with (
        serving(limits=Limits(connections=2)) as client,
        wire(client) as (reader, writer),
        wire(client) as (idle, _),
    ):
        writer.write(post())
        assert (await response(reader))[0] == 200
        async with wire(client) as (new_reader, new_writer):
            new_writer.write(post())
            assert (await response(new_reader))[0] == 200
        assert await idle.read() == b""
        writer.write(post())
        assert (await response(reader))[0] == 200


async def test_a_request_that_has_begun_gives_way_after_all_idle_connections() -> None:
    async with (
        serving(limits=Limits(connections=2, reading=30)) as client,
        wire(client) as (reader, writer),
        wire(client) as (idle, _),
    ):
        writer.write(post()[:-10])
        await asyncio.sleep(0.05)
        async with wire(client):
            assert await idle.read() == b""
            writer.write(post()[-10:])
            assert (await response(reader))[0] == 200


async def test_requests_that_never_end_keep_nobody_out() -> None:
    async with (
        serving(limits=Limits(connections=2, reading=30)) as client,
        AsyncExitStack() as all_,
    ):
        begun = []
        for _ in range(2):
            reader, writer = await all_.enter_async_context(wire(client))
            writer.write(post()[:-10])
            begun.append(reader)
            await asyncio.sleep(0.05)
        assert (await client.reviewed(review(claim())))["allowed"] is True
        assert await begun[0].read() == b""


async def test_a_review_under_way_gives_way_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def slow(*given: Any) -> Answer:
        release.wait(10)
        return answer(*given)

    monkeypatch.setattr(executor, "quick_answer", lambda *_, **__: None)
    monkeypatch.setattr(executor, "answer", slow)
    async with serving(limits=Limits(connections=1)) as client, wire(client) as (reader, writer):
        writer.write(post())
        await asyncio.sleep(0.05)
        assert await all_of(client, b"") == b""
        release.set()
        assert (await response(reader))[0] == 200


LARGE = BODY + b" " * AT_ONCE
"""A review too large to be always taken."""


async def test_more_large_bodies_than_the_limit_are_refused_and_ordinary_ones_are_not() -> None:
    limits = Limits(held=len(LARGE) + 1000, reading=30)
    async with serving(limits=limits) as client, wire(client) as (reader, writer):
        async with wire(client) as (_, other):
            other.write(post(LARGE)[:-10])
            await asyncio.sleep(0.1)
            writer.write(post(LARGE) + post())
            assert b"503" in await reader.readline()
            assert (await client.reviewed(review(claim())))["allowed"] is True
        await asyncio.sleep(0.05)
        for _ in range(3):
            async with wire(client) as (later, sender):
                sender.write(post(LARGE))
                assert (await response(later))[0] == 200


async def test_bodies_that_never_end_keep_no_smaller_one_out() -> None:
    limits = Limits(held=3 * len(LARGE), reading=30)
    async with serving(limits=limits) as client, wire(client) as (endless, holder):
        holder.write(post(LARGE * 3)[:-10])
        await asyncio.sleep(0.1)
        async with wire(client) as (reader, writer):
            writer.write(post(LARGE))
            assert (await response(reader))[0] == 200
        assert await endless.read() == b""


async def test_a_request_that_has_begun_is_answered_before_the_server_stops() -> None:
    server = WebhookServer(lambda: REGISTRY, lambda: None, tls=None)
    host, port = await server.start("127.0.0.1", 0)
    idle, unused = await asyncio.open_connection(host, port)
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(post()[:-10])
    await asyncio.sleep(0.05)
    stopping = asyncio.create_task(server.stop())
    assert await idle.read() == b""
    assert not stopping.done()
    writer.write(post()[-10:])
    answer = await reader.read()
    await stopping
    unused.close()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"Connection: close\r\n" in answer


async def test_a_client_that_was_served_just_before_the_server_stops_loses_no_review() -> None:
    server = WebhookServer(lambda: REGISTRY, lambda: None, tls=None)
    reader, writer = await asyncio.open_connection(*await server.start("127.0.0.1", 0))
    writer.write(post())
    assert (await response(reader))[0] == 200
    stopping = asyncio.create_task(server.stop())
    await asyncio.sleep(0.05)
    writer.write(post())
    answer = await reader.read()
    await stopping
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"Connection: close\r\n" in answer


async def test_clients_that_leave_in_the_middle_leave_nothing_behind() -> None:
    async with serving(limits=Limits(held=4000)) as client:
        for _ in range(5):
            async with wire(client) as (_, writer):
                writer.write(post()[:-10])
                await writer.drain()
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert (await client.reviewed(review(claim())))["allowed"] is True


async def test_a_connection_that_has_ended_takes_no_memory_any_more() -> None:
    # With TLS each has 256 KiB, and whoever opens many would not wait for a garbage collection.
    gc.collect()
    gc.disable()
    try:
        async with serving() as client:
            for sent in (b"", post(), post()[:-10], b"nonsense"):
                async with wire(client) as (_, writer):
                    writer.write(sent)
                    await asyncio.sleep(0.05)
            await asyncio.sleep(0.1)
            left = [one for one in gc.get_objects() if isinstance(one, connections.Connection)]
    finally:
        gc.enable()
    assert left == []


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
async def test_what_is_endless_beside_a_body_ends_the_connection(endless: bytes) -> None:
    async with serving(limits=Limits(reading=5)) as client, wire(client) as (reader, writer):
        writer.write(post(b"", CHUNKED))
        await asyncio.sleep(0.05)
        writer.write(endless)
        answer = await asyncio.wait_for(reader.read(), 10)
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_clients_that_leave_behind_trailers_give_back_no_more_than_they_took() -> None:
    begun = post(b"1\r\nx\r\n0\r\nX: " + b"x" * 3000 + b"\r\nY:", CHUNKED)
    held = AT_ONCE + 4000
    async with serving(limits=Limits(held=held)) as client, wire(client) as (reader, writer):
        for _ in range(3):
            async with wire(client) as (_, other):
                other.write(begun)
                await other.drain()
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        writer.write(post(b" " * (held + 1000)))
        assert (await response(reader))[0] == 503
