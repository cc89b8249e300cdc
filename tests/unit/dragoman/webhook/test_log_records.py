"""Clients cannot fill the log."""

import asyncio
import logging
import ssl

import pytest

from dragoman.logs import RATE_LIMITED, RateLimit
from dragoman_webhooks.server import ServerLimits
from tests.support.worlds.reviews import BODY, certified, post
from tests.unit.webhooks.harness import address, serving, turns, wire

pytestmark = pytest.mark.hostile("unwritable logs")


async def test_a_client_that_leaves_during_its_request_causes_no_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = post(BODY, *["Expect: 100-continue"] * 500)
    async with serving() as client:
        for _ in range(20):
            async with wire(client) as (_, writer):
                writer.write(asked)
                writer.transport.abort()
        await turns()
    assert caplog.records == []


@pytest.fixture
def _rate_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RATE_LIMITED:
        monkeypatch.setattr(logging.getLogger(name), "filters", [RateLimit()])


@pytest.mark.usefixtures("_rate_limited")
async def test_a_client_that_leaves_during_its_handshake_causes_no_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    context, _ = certified()
    await leave_during_handshakes(context)
    assert caplog.records == []


async def leave_during_handshakes(context: ssl.SSLContext) -> None:
    async with serving(tls=context, limits=ServerLimits(read_timeout=30)) as client:
        for _ in range(20):
            _, writer = await asyncio.open_connection(*address(client))
            writer.write(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03")
            await writer.drain()
            writer.close()
        await turns()
