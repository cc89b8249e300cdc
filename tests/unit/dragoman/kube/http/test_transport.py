"""TLS: which servers are trusted, which certificate is shown, and which ends count."""

import asyncio
import socket
import ssl
from contextlib import aclosing
from functools import partial
from pathlib import Path

import pytest

from dragoman.kube.http.pool import ConnectionPool
from dragoman.kube.http.request import Request
from dragoman.kube.http.response import ConnectError, HttpError
from tests.support.certificates import Authority
from tests.unit.dragoman.kube.http.fakes import (
    CHUNKED,
    GET,
    HEADERS,
    LAST,
    Reply,
    chunk,
    fake_server,
    response,
    send,
    then_close,
    then_reset,
)
from tests.unit.dragoman.kube.http.harness import client_context, server_context


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Return a new CA."""
    return Authority(tmp_path)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize(
    "version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"]
)
async def test_a_trusted_server_gets_requests(
    authority: Authority, host: str, version: ssl.TLSVersion
) -> None:
    server = server_context(authority.serving("server"))
    server.maximum_version = version
    content = bytes(range(256)) * 20_000
    async with fake_server(
        response(content),
        CHUNKED + LAST,
        server=server,
        client=client_context(authority),
        host=host,
    ) as (fake, pool):
        post = Request("POST", "/", HEADERS, content, "application/json")
        assert (await pool.send(post)).body == content
        assert (await pool.send(GET)).body == b""
        assert fake.requests == [post.encode(), GET.encode()]
        assert fake.connections == 1


def has_ipv6() -> bool:
    """Whether this machine has IPv6 on loopback."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 on loopback")
async def test_an_ipv6_address_must_be_in_the_certificate(authority: Authority) -> None:
    pair, stranger = (server_context(authority.serving(name, (name,))) for name in ("::1", "::2"))
    on_ipv6 = partial(fake_server, client=client_context(authority), host="[::1]", address="::1")
    async with on_ipv6(response(b"ok"), server=pair) as (_, pool):
        assert (await pool.send(GET)).body == b"ok"
    async with on_ipv6(response(b""), server=stranger) as (_, pool):
        with pytest.raises(ConnectError, match="::1"):
            await pool.send(GET)


async def test_a_server_of_another_ca_gets_no_request(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    stranger = server_context(Authority(tmp_path / "other").serving("server"))
    async with fake_server(response(b""), server=stranger, client=client_context(authority)) as (
        fake,
        pool,
    ):
        with pytest.raises(ConnectError, match="certificate verify failed"):
            await pool.send(GET)
        assert not fake.requests


async def test_a_server_of_another_name_gets_no_request(authority: Authority) -> None:
    elsewhere = server_context(authority.serving("server", ("elsewhere.example",)))
    async with fake_server(response(b""), server=elsewhere, client=client_context(authority)) as (
        fake,
        pool,
    ):
        with pytest.raises(ConnectError, match=r"127\.0\.0\.1"):
            await pool.send(GET)
        assert not fake.requests


async def test_a_server_without_tls_is_an_error(authority: Authority) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await then_close(response(b"in the clear"))(writer)

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        pool = ConnectionPool(f"https://127.0.0.1:{port}", partial(client_context, authority))
        with pytest.raises(ConnectError):
            await pool.send(GET)
        await pool.close()


async def test_a_rotated_client_certificate_is_used_by_the_next_request(
    authority: Authority,
) -> None:
    server = server_context(authority.serving("server"))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(authority.certificate)
    shown: list[str] = []

    async def record(writer: asyncio.StreamWriter) -> None:
        shown.append(writer.get_extra_info("peercert")["subject"][0][0][1])
        await send(response(b"ok"))(writer)

    def client(name: str) -> ssl.SSLContext:
        context, pair = client_context(authority), authority.client(name)
        context.load_cert_chain(pair.certificate, pair.key)
        return context

    current = [client("before")]
    async with fake_server(record, record, record, server=server) as (fake, _):
        pool = ConnectionPool(f"https://127.0.0.1:{fake.port}", lambda: current[0])
        await pool.send(GET)
        await pool.send(GET)
        current[0] = client("after")
        pool.reload_tls()
        await pool.send(GET)
        await pool.close()
    assert shown == ["before", "before", "after"]
    assert fake.connections == 2


async def test_a_client_certificate_is_shown(authority: Authority) -> None:
    server = server_context(authority.serving("server"))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(authority.certificate)
    client = client_context(authority)
    pair = authority.client("client")
    client.load_cert_chain(pair.certificate, pair.key)
    shown: list[object] = []

    async def record(writer: asyncio.StreamWriter) -> None:
        shown.append(writer.get_extra_info("peercert")["subject"])
        await send(response(b"ok"))(writer)

    async with fake_server(record, server=server, client=client) as (_, pool):
        assert (await pool.send(GET)).body == b"ok"
    assert shown == [((("commonName", "client"),),)]


UNTIL_THE_END = b"HTTP/1.1 200 OK\r\n\r\nhalf of the bo"


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(then_reset(UNTIL_THE_END), id="reset"),
        pytest.param(then_close(response(b"whole")[:-1]), id="less than its length"),
    ],
)
async def test_an_end_that_an_attacker_on_the_path_can_make_completes_nothing(
    authority: Authority, ends: Reply
) -> None:
    pair = server_context(authority.serving("server"))
    async with fake_server(ends, server=pair, client=client_context(authority)) as (_, pool):
        with pytest.raises(HttpError):
            await pool.send(GET)


async def test_a_tls_shutdown_completes_a_body_without_a_length(authority: Authority) -> None:
    reply = then_close(b"HTTP/1.1 200 OK\r\n\r\nwhole")
    pair = server_context(authority.serving("server"))
    async with fake_server(reply, server=pair, client=client_context(authority)) as (_, pool):
        assert (await pool.send(GET)).body == b"whole"


async def test_a_stream_over_tls_is_filtered_and_complete(authority: Authority) -> None:
    pieces = [chunk(b"noise %d\n" % n) for n in range(300)]
    stream = send(CHUNKED, *pieces, chunk(b"news\n"), chunk(b"x" * 100_000 + b"\n"), LAST)
    pair = server_context(authority.serving("server"))
    lines: list[bytes] = []
    async with (
        fake_server(stream, server=pair, client=client_context(authority)) as (_, pool),
        aclosing(pool.stream(GET, lambda line: not line.startswith(b"noise"))) as batches,
    ):
        async for batch in batches:
            lines.extend(batch)
    assert lines == [b"news", b"x" * 100_000]
