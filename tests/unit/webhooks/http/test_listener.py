"""The door of the webhook: who only knocks keeps nobody out."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from dragoman_webhooks.http import listener
from dragoman_webhooks.server import PATH, Limits, WebhookServer
from dragoman_webhooks.tls.authority import issue, new_authority
from dragoman_webhooks.tls.files import serve, server_context
from dragoman_webhooks.tls.rotation import Pair
from tests.unit.webhooks.reviews import REGISTRY, Client, claim, review, serving


def certified() -> tuple[ssl.SSLContext, Pair]:
    """Make a server's side of TLS, and the authority that it is known by."""
    now = datetime.now(UTC)
    authority = new_authority(now, timedelta(days=2))
    leaf = issue(authority, frozenset({"127.0.0.1"}), now, timedelta(days=1))
    context = server_context()
    serve(context, leaf.certificate.pem, leaf.key)
    return context, authority


async def status(client: Client, authority: Pair) -> int:
    """Have a claim reviewed over a connection of its own."""
    trusted = ssl.create_default_context(cadata=authority.certificate.pem.decode())
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session,
        session.post(client.url + PATH, json=review(claim())) as response,
    ):
        return response.status


async def test_handshakes_that_nobody_ends_keep_nobody_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "HANDSHAKES", 4)
    monkeypatch.setattr(listener, "TURN", 0.01)
    context, authority = certified()
    async with serving(tls=context, limits=Limits(reading=30)) as client:
        host, port = client.url.removeprefix("https://").split(":")
        silent = [await asyncio.open_connection(host, int(port)) for _ in range(8)]
        assert await status(client, authority) == 200
        # Time for the last of them has come to be accepted, long before they would be late.
        ended = [await asyncio.wait_for(reader.read(), 5) for reader, _ in silent[:4]]
        for _, writer in silent:
            writer.close()
    assert ended == [b""] * 4


async def test_of_many_honest_handshakes_at_once_none_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "HANDSHAKES", 2)
    monkeypatch.setattr(listener, "TURN", 30.0)
    context, authority = certified()
    async with serving(tls=context) as client:
        answers = await asyncio.gather(*(status(client, authority) for _ in range(40)))
    assert answers == [200] * 40


async def test_idle_connections_over_tls_keep_nobody_out() -> None:
    context, authority = certified()
    trusted = ssl.create_default_context(cadata=authority.certificate.pem.decode())
    async with serving(tls=context, limits=Limits(connections=4, reading=30)) as client:
        host, port = client.url.removeprefix("https://").split(":")
        idle = [await asyncio.open_connection(host, int(port), ssl=trusted) for _ in range(8)]
        assert [await status(client, authority) for _ in range(3)] == [200] * 3
        # They are told, so that no client takes the end for a cut.
        assert [await reader.read() for reader, _ in idle[:5]] == [b""] * 5
        for _, writer in idle:
            writer.close()


async def test_what_is_no_tls_keeps_nobody_out() -> None:
    context, authority = certified()
    async with serving(tls=context) as client:
        host, port = client.url.removeprefix("https://").split(":")
        for _ in range(listener.HANDSHAKES + 1):
            reader, writer = await asyncio.open_connection(host, int(port))
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
