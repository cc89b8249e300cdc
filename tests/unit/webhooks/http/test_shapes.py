"""Requests of hostile shapes: none is allowed, none fails inside, honest ones pass beside them."""

import asyncio
import re

import pytest

from dragoman_webhooks.server import ServerLimits
from tests.support.hostile import Tries
from tests.support.worlds.reviews import claim, review
from tests.unit.webhooks.harness import Client, exchange, serving, wire
from tests.unit.webhooks.http.shapes import ONE, SECOND, TWO

pytestmark = pytest.mark.hostile("shapes of HTTP")
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


async def answered(client: Client, sent: bytes) -> list[int]:
    """Send bytes and then the end; return the statuses of all responses."""
    async with wire(client) as (reader, writer):
        writer.write(sent)
        writer.write_eof()
        received = await asyncio.wait_for(reader.read(), 30)
    assert b'"allowed":true' not in received
    assert received == b"" or received.startswith(b"HTTP/1.1 ")
    return [int(status) for status in STATUS.findall(received)]


@pytest.mark.parametrize("group", ONE)
async def test_no_shape_of_a_request_lets_an_invalid_config_in(group: str, tries: Tries) -> None:
    shapes = ONE[group]
    tries(len(shapes))
    async with serving(limits=ServerLimits(read_timeout=5)) as client:
        statuses = {name: await answered(client, sent) for name, sent in shapes.items()}
        assert (await client.reviewed(review(claim())))["allowed"] is True
    inside = {name: found for name, found in statuses.items() if any(s >= 500 for s in found)}
    assert inside == {}
    # An invalid request ends its connection: what follows it is never read as another one.
    assert {name for name, found in statuses.items() if found[:-1] not in ([], [100], [400])} == (
        set()
    )


async def test_no_request_is_smuggled_behind_another(tries: Tries) -> None:
    tries(len(TWO))
    async with serving(limits=ServerLimits(read_timeout=5)) as client:
        assert b'"allowed":true' in await exchange(
            client, SECOND.replace(b"Host", b"Connection: close\r\nHost")
        )
        statuses = {name: await answered(client, sent) for name, sent in TWO.items()}
    assert {name for name, found in statuses.items() if found not in ([400], [415])} == set()
