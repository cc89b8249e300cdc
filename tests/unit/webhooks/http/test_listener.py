"""The listener: sockets without a handshake do not delay honest connections."""

import asyncio
import resource
import ssl

import aiohttp
import pytest

from dragoman_webhooks.http import listener
from dragoman_webhooks.server import PATH, ServerLimits, WebhookServer
from dragoman_webhooks.tls.rotation import KeyPair
from tests.support.worlds.reviews import REGISTRY, certified, claim, review
from tests.unit.webhooks.harness import Client, Wire, address, serving, turns

pytestmark = pytest.mark.hostile("floods")


async def status(client: Client, authority: KeyPair) -> int:
    """Have a claim reviewed over a connection of its own."""
    trusted = ssl.create_default_context(cadata=authority.certificate.pem.decode())
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session,
        session.post(client.url + PATH, json=review(claim())) as response,
    ):
        return response.status


HELLO = bytes.fromhex("16030100c8010000c40303")
"""The beginning of a ClientHello: a handshake that begins and never ends."""


async def opened(client: Client, count: int, first: bytes = b"") -> list[Wire]:
    """Open connections that send so much of a handshake and no more."""
    wires = [await asyncio.open_connection(*address(client)) for _ in range(count)]
    for _, writer in wires:
        writer.write(first)
    return wires


async def closed(wires: list[Wire]) -> list[bytes]:
    """Wait until the server closes connections; return what it sent."""
    received = [await asyncio.wait_for(reader.read(), 30) for reader, _ in wires]
    for _, writer in wires:
        writer.close()
    return received


@pytest.mark.parametrize("first", [b"", HELLO], ids=["silent", "half-open"])
async def test_handshakes_that_never_end_do_not_delay_a_new_connection(
    monkeypatch: pytest.MonkeyPatch, first: bytes
) -> None:
    monkeypatch.setattr(listener, "HANDSHAKES", 4)
    monkeypatch.setattr(listener, "SILENT", 4)
    monkeypatch.setattr(listener, "TURN", 0.01)
    context, authority = certified()
    async with serving(tls=context, limits=ServerLimits(read_timeout=30)) as client:
        wires = await opened(client, 8, first)
        assert await status(client, authority) == 200
        # The oldest give way to newer ones, long before their own timeout.
        assert await closed(wires[:4]) == [b""] * 4
        for _, writer in wires[4:]:
            writer.close()


async def test_handshakes_that_gave_way_are_kept_for_a_short_time_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "HANDSHAKES", 4)
    monkeypatch.setattr(listener, "TURN", 0.01)
    context, authority = certified()
    async with serving(tls=context, limits=ServerLimits(read_timeout=600)) as client:
        wires = await opened(client, 40, HELLO)
        assert await status(client, authority) == 200
        # aiofastnet keeps a handshake that was closed until its timer ends.
        loop = asyncio.get_running_loop()
        timers = [one.when() for one in loop._scheduled if not one.cancelled()]  # type: ignore[attr-defined]
        assert sum(when > loop.time() + 300 for when in timers) <= listener.HANDSHAKES
        for _, writer in wires:
            writer.close()


async def test_silent_sockets_take_no_place_of_a_handshake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "HANDSHAKES", 1)
    monkeypatch.setattr(listener, "TURN", 30.0)
    context, authority = certified()
    async with serving(tls=context, limits=ServerLimits(read_timeout=30)) as client:
        silent = await opened(client, 8)
        assert await status(client, authority) == 200
        for _, writer in silent:
            writer.close()


async def test_a_silent_socket_is_closed_after_the_timeout() -> None:
    context, _ = certified()
    async with serving(tls=context, limits=ServerLimits(read_timeout=0.05)) as client:
        assert await closed(await opened(client, 1)) == [b""]


async def test_sockets_close_when_the_server_stops() -> None:
    context, _ = certified()
    async with serving(tls=context, limits=ServerLimits(read_timeout=30)) as client:
        wires = [*await opened(client, 2), *await opened(client, 2, HELLO)]
        await turns()
    assert await closed(wires) == [b""] * 4


async def test_of_many_honest_handshakes_at_once_none_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "HANDSHAKES", 2)
    monkeypatch.setattr(listener, "TURN", 30.0)
    context, authority = certified()
    async with serving(tls=context) as client:
        answers = await asyncio.gather(*(status(client, authority) for _ in range(40)))
    assert answers == [200] * 40


async def test_idle_connections_over_tls_do_not_keep_others_out() -> None:
    context, authority = certified()
    trusted = ssl.create_default_context(cadata=authority.certificate.pem.decode())
    async with serving(tls=context, limits=ServerLimits(connections=4, read_timeout=30)) as client:
        idle = [await asyncio.open_connection(*address(client), ssl=trusted) for _ in range(8)]
        assert [await status(client, authority) for _ in range(3)] == [200] * 3
        # A close_notify tells the client that the end is no fault.
        assert [await reader.read() for reader, _ in idle[:5]] == [b""] * 5
        for _, writer in idle:
            writer.close()


async def test_clients_that_speak_no_tls_do_not_delay_others() -> None:
    context, authority = certified()
    async with serving(tls=context) as client:
        for _ in range(listener.HANDSHAKES + 1):
            reader, writer = await asyncio.open_connection(*address(client))
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert b"HTTP" not in await reader.read()
            writer.close()
        assert await status(client, authority) == 200


async def test_a_webhook_that_has_stopped_listens_no_more() -> None:
    server = WebhookServer(lambda: REGISTRY, lambda: None, tls=None)
    host, port = await server.start("127.0.0.1", 0)
    await server.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, port)


async def test_no_host_means_all_interfaces() -> None:
    server = WebhookServer(lambda: REGISTRY, lambda: None, tls=None)
    host, port = await server.start("", 0)
    _, writer = await asyncio.open_connection("127.0.0.1" if host == "0.0.0.0" else "::1", port)
    writer.close()
    await server.stop()


def file_limit(count: int) -> None:
    """Allow this process so many files; skip the test where the machine does not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        if hard != resource.RLIM_INFINITY and hard < count:
            pytest.skip(f"this machine allows {hard} files, the test needs {count}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


@pytest.mark.parametrize("first", [b"", HELLO], ids=["silent", "half-open"])
async def test_a_thousand_dead_sockets_do_not_keep_a_new_connection_from_a_review(
    first: bytes,
) -> None:
    file_limit(4096)
    context, authority = certified()
    async with serving(tls=context, limits=ServerLimits(read_timeout=60)) as client:
        dead = await opened(client, 1000, first)
        async with asyncio.timeout(30):  # half of the timeout of the dead sockets
            assert await status(client, authority) == 200
        for _, writer in dead:
            writer.transport.abort()
