"""Other users of the machine may connect: they cost little, and print nothing."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession

from dragoman.allocation import profile
from dragoman_toolkit.dra.ui import connections, live
from dragoman_toolkit.dra.ui.connections import LIMIT
from dragoman_toolkit.dra.ui.live import Live
from dragoman_toolkit.dra.ui.serve import STREAMS, listening
from tests.support.hostile import Tries, scaled
from tests.support.worlds.inventory import device_class, pool, snapshot

TOKEN = "token-of-the-test"
pytestmark = pytest.mark.hostile("page: connections")
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class File:
    """A snapshot, which never changes."""

    async def read(self) -> Any:
        return snapshot(device_class(), pool("node-a", 1))

    async def changed(self) -> None:
        await asyncio.Event().wait()


@pytest.fixture
async def address() -> AsyncIterator[str]:
    found = Live("test", File(), lambda _: profile("1.36"), 0.02)
    await found.start()
    async with listening(found, TOKEN, 0) as where:
        yield where


def port_of(address: str) -> int:
    found = re.search(r":(\d+)/", address)
    assert found is not None
    return int(found[1])


async def connected(address: str) -> Streams:
    return await asyncio.open_connection("127.0.0.1", port_of(address))


async def ended(one: Streams) -> bool:
    """Wait until the server closes a connection; what it sent does not matter."""
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(30):
            while await one[0].read(65536):
                pass
    return True


async def page(address: str) -> int:
    async with ClientSession() as session, session.get(address) as answer:
        await answer.read()
        return answer.status


async def test_idle_connections_are_bounded_and_the_page_answers(
    address: str, tries: Tries
) -> None:
    count = scaled(1500, least=2 * LIMIT)
    idle = [await connected(address) for _ in range(count)]
    assert await page(address) == 200
    assert all(await asyncio.gather(*map(ended, idle[: count - LIMIT])))
    for _, writer in idle:
        writer.close()
    tries(count)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: ", b"\x16\x03\x01"])
async def test_a_connection_without_a_request_is_closed(
    address: str, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    one = await connected(address)
    one[1].write(sent)
    assert await ended(one)
    one[1].close()


async def test_streams_of_browsers_that_left_are_free(address: str, tries: Tries) -> None:
    for _ in range(3):
        async with ClientSession() as session:
            streams = [await session.get(f"{address}events") for _ in range(STREAMS)]
            assert {one.status for one in streams} == {200}
            for one in streams:
                one.close()
        async with ClientSession() as session:
            statuses: list[int] = []
            while 200 not in statuses and len(statuses) < 600:
                again = await session.get(f"{address}events")
                again.close()
                statuses.append(again.status)
                await asyncio.sleep(0.05)
            assert statuses[-1] == 200
    tries(3 * STREAMS)


async def test_a_quiet_stream_gets_comments(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PING", 0.05)
    async with ClientSession() as session, session.get(f"{address}events") as stream:
        async with asyncio.timeout(30):
            while await stream.content.readline() != b": ping\n":
                pass


@pytest.mark.parametrize(
    "start", [b"GET / HTTP/1.1\r\nX: ", b"GET /", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nX: "]
)
async def test_a_large_head_prints_no_trace(
    address: str, start: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    one = await connected(address)
    with contextlib.suppress(ConnectionError):
        one[1].write(start)
        for _ in range(scaled(320)):
            one[1].write(b"x" * 65536)
            await one[1].drain()
    assert await ended(one)
    one[1].close()
    assert await page(address) == 200
    assert capfd.readouterr() == ("", "")
