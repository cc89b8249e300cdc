"""One connection: responses in order, timeouts, and its end."""

import asyncio
import gc
import json

import pytest

from dragoman_webhooks.http import connection as connections
from dragoman_webhooks.server import ServerLimits, WebhookServer
from tests.support.worlds.reviews import BODY, DENIED, REGISTRY, claim, post, review
from tests.unit.webhooks.harness import exchange, response, serving, turns, wire


async def test_pipelined_requests_are_answered_in_order() -> None:
    probe = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post() + post(DENIED) + probe + post(b"{}") + post())
        answers = [await response(reader) for _ in range(5)]
    assert [status for status, _ in answers] == [200, 200, 200, 400, 200]
    verdicts = [json.loads(answers[place][1])["response"]["allowed"] for place in (0, 1, 4)]
    assert verdicts == [True, False, True]


async def test_a_client_that_pipelines_gets_no_more_turns_than_others() -> None:
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


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(post(BODY, "Connection: close"), id="as asked for"),
        pytest.param(post(version="1.0"), id="as always in HTTP/1.0"),
    ],
)
async def test_a_connection_is_closed_after_its_last_request(sent: bytes) -> None:
    async with serving() as client:
        answer = await exchange(client, sent)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Connection: close\r\n" in answer


async def test_an_answer_to_head_has_no_body() -> None:
    async with serving() as client:
        answer = await exchange(
            client, b"HEAD /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert answer.endswith(b"\r\n\r\n")


async def test_requests_before_an_invalid_one_are_answered() -> None:
    async with serving() as client, wire(client) as (reader, writer):
        writer.write(post() + b"nonsense\r\n\r\n")
        statuses = [(await response(reader))[0] for _ in range(2)]
        assert await reader.read() == b""
    assert statuses == [200, 400]


async def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEEP_ALIVE", 0.05)
    async with serving() as client:
        assert await exchange(client, b"") == b""


async def test_a_client_that_does_not_finish_its_headers_is_timed_out() -> None:
    async with serving(limits=ServerLimits(read_timeout=0.5)) as client:
        answer = await exchange(client, b"POST /validate HTTP/1.1\r\nHost:")
    assert answer.startswith(b"HTTP/1.1 408 ")


async def flood(writer: asyncio.StreamWriter) -> None:
    """Send requests without an end."""
    while True:
        writer.write(post(DENIED) * 50)
        await writer.drain()


async def test_a_client_that_reads_no_answers_stops_being_read() -> None:
    async with serving() as client:
        async with wire(client) as (_, writer):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(flood(writer), 0.3)
            writer.transport.abort()
        assert (await client.reviewed(review(claim())))["allowed"] is True


async def test_the_connection_of_a_client_that_never_reads_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "KEEP_ALIVE", 0.3)
    async with serving(limits=ServerLimits(connections=1)) as client:
        async with wire(client) as (_, writer):
            with pytest.raises(ConnectionError):
                await asyncio.wait_for(flood(writer), 30)
        assert (await client.reviewed(review(claim())))["allowed"] is True


async def test_a_request_that_has_begun_is_answered_before_the_server_stops() -> None:
    server = WebhookServer(lambda: REGISTRY, lambda: None, tls=None)
    host, port = await server.start("127.0.0.1", 0)
    idle, unused = await asyncio.open_connection(host, port)
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(post()[:-10])
    await turns()
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
    await turns()
    writer.write(post())
    answer = await reader.read()
    await stopping
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"Connection: close\r\n" in answer


async def test_a_closed_connection_is_freed_without_garbage_collection() -> None:
    # With TLS each holds buffers, and many can open before the next garbage collection.
    gc.collect()
    gc.disable()
    try:
        async with serving() as client:
            for sent in (b"", post(), post()[:-10], b"nonsense"):
                async with wire(client) as (_, writer):
                    writer.write(sent)
                    await turns()
            await turns(20)
            left = [one for one in gc.get_objects() if isinstance(one, connections.Connection)]
    finally:
        gc.enable()
    assert left == []
