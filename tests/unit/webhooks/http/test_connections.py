"""The number of connections is bounded, and the right one is evicted."""

import asyncio
import threading
from contextlib import AsyncExitStack
from typing import Any

import pytest

from dragoman_webhooks import executor
from dragoman_webhooks.admission import Costly, ReviewResult, review_configs
from dragoman_webhooks.server import ServerLimits
from tests.support.worlds.reviews import claim, post, review
from tests.unit.webhooks.harness import address, exchange, response, serving, turns, wire

pytestmark = pytest.mark.hostile("floods")


async def test_the_longest_idle_connection_is_evicted_first() -> None:
    async with (
        serving(limits=ServerLimits(connections=2)) as client,
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


async def test_a_request_that_has_begun_is_evicted_after_all_idle_connections() -> None:
    async with (
        serving(limits=ServerLimits(connections=2, read_timeout=30)) as client,
        wire(client) as (reader, writer),
        wire(client) as (idle, _),
    ):
        writer.write(post()[:-10])
        await turns()
        async with wire(client):
            assert await idle.read() == b""
            writer.write(post()[-10:])
            assert (await response(reader))[0] == 200


async def test_incomplete_requests_are_evicted_for_new_connections() -> None:
    async with (
        serving(limits=ServerLimits(connections=2, read_timeout=30)) as client,
        AsyncExitStack() as all_,
    ):
        begun = []
        for _ in range(2):
            reader, writer = await all_.enter_async_context(wire(client))
            writer.write(post()[:-10])
            begun.append(reader)
            await turns()
        assert (await client.reviewed(review(claim())))["allowed"] is True
        assert await begun[0].read() == b""


async def test_a_review_under_way_is_never_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def slow(*given: Any) -> ReviewResult | Costly:
        release.wait(30)
        return review_configs(*given)

    monkeypatch.setattr(executor, "INLINE_BYTES", 0)
    monkeypatch.setattr(executor, "review_configs", slow)
    async with (
        serving(limits=ServerLimits(connections=1)) as client,
        wire(client) as (reader, writer),
    ):
        writer.write(post())
        await turns()
        assert await exchange(client, b"") == b""
        release.set()
        assert (await response(reader))[0] == 200


async def test_connections_of_the_address_with_the_most_are_evicted_first() -> None:
    async with serving(limits=ServerLimits(connections=4, read_timeout=30)) as client:
        served, sender = await asyncio.open_connection(
            *address(client), local_addr=("127.0.0.2", 0)
        )
        sender.write(post())
        assert (await response(served))[0] == 200
        async with AsyncExitStack() as all_:
            for _ in range(20):
                # These are newer, and each has begun a request; the one of the other is idle.
                _, writer = await all_.enter_async_context(wire(client))
                writer.write(post()[:-10])
                await turns(3)
            sender.write(post())
            assert (await response(served))[0] == 200
        sender.close()
