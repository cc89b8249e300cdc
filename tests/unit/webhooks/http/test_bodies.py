"""The bytes of all bodies are bounded, and come back whatever happens to a request."""

import pytest

from dragoman_webhooks.executor import INLINE_BYTES
from dragoman_webhooks.server import ServerLimits
from tests.support.worlds.reviews import BODY, claim, post, review
from tests.unit.webhooks.harness import response, serving, turns, wire

pytestmark = pytest.mark.hostile("floods")

LARGE = BODY + b" " * INLINE_BYTES
"""A review too large to be always taken."""


async def test_large_bodies_beyond_the_budget_are_refused_and_ordinary_ones_are_not() -> None:
    limits = ServerLimits(body_bytes=len(LARGE) + 1000, read_timeout=30)
    async with serving(limits=limits) as client, wire(client) as (reader, writer):
        async with wire(client) as (_, other):
            other.write(post(LARGE)[:-10])
            await turns(20)
            writer.write(post(LARGE) + post())
            assert b"503" in await reader.readline()
            assert (await client.reviewed(review(claim())))["allowed"] is True
        await turns()
        for _ in range(3):
            async with wire(client) as (later, sender):
                sender.write(post(LARGE))
                assert (await response(later))[0] == 200


async def test_an_incomplete_body_is_evicted_for_a_smaller_one() -> None:
    limits = ServerLimits(body_bytes=3 * len(LARGE), read_timeout=30)
    async with serving(limits=limits) as client, wire(client) as (endless, holder):
        holder.write(post(LARGE * 3)[:-10])
        await turns(20)
        async with wire(client) as (reader, writer):
            writer.write(post(LARGE))
            assert (await response(reader))[0] == 200
        assert await endless.read() == b""


async def test_the_bytes_of_a_client_that_leaves_return_to_the_budget() -> None:
    async with serving(limits=ServerLimits(body_bytes=4000)) as client:
        for _ in range(5):
            async with wire(client) as (_, writer):
                writer.write(post()[:-10])
                await writer.drain()
                await turns(3)
        await turns()
        assert (await client.reviewed(review(claim())))["allowed"] is True


async def test_a_client_that_leaves_returns_exactly_the_bytes_it_took() -> None:
    begun = post(b"1\r\nx\r\n0\r\nX: " + b"x" * 3000 + b"\r\nY:", "Transfer-Encoding: chunked")
    held = INLINE_BYTES + 4000
    async with (
        serving(limits=ServerLimits(body_bytes=held)) as client,
        wire(client) as (reader, writer),
    ):
        for _ in range(3):
            async with wire(client) as (_, other):
                other.write(begun)
                await other.drain()
                await turns(3)
        await turns()
        writer.write(post(b" " * (held + 1000)))
        assert (await response(reader))[0] == 503
