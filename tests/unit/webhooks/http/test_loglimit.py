"""Clients cannot fill the log."""

import asyncio
import logging

import pytest

from dragoman_webhooks.http.loglimit import LINES, PERIOD, LogLimit
from dragoman_webhooks.server import Limits
from tests.unit.webhooks.builders import BODY, certified, post
from tests.unit.webhooks.harness import address, serving, wire


def line(text: str) -> logging.LogRecord:
    return logging.LogRecord("asyncio", logging.WARNING, "", 0, text, None, None)


def test_so_many_lines_pass_in_each_period() -> None:
    now = 1000.0
    limit = LogLimit(lambda: now)
    assert [limit.filter(line("x")) for _ in range(LINES + 2)] == [True] * LINES + [False] * 2
    now += PERIOD
    assert limit.filter(line("x"))


async def test_a_client_that_leaves_during_its_request_causes_no_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = post(BODY, *["Expect: 100-continue"] * 500)
    async with serving() as client:
        for _ in range(20):
            async with wire(client) as (_, writer):
                writer.write(asked)
                writer.transport.abort()
        await asyncio.sleep(0.05)
    assert caplog.records == []


async def test_a_client_that_leaves_during_its_handshake_causes_no_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    context, _ = certified()
    async with serving(tls=context, limits=Limits(read_timeout=30)) as client:
        for _ in range(20):
            _, writer = await asyncio.open_connection(*address(client))
            writer.write(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03")
            await writer.drain()
            writer.close()
        await asyncio.sleep(0.05)
    assert caplog.records == []
