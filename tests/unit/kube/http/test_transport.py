"""TLS: who is trusted, who is shown, and what an end means."""

import asyncio
import socket
import ssl
from contextlib import aclosing
from functools import partial
from pathlib import Path

import pytest

from dragoman.kube.http.faults import WireError
from dragoman.kube.http.pool import Pool
from tests.controlplane.certificates import Authority, KeyPair
from tests.unit.kube.http.speaking import (
    CHUNKED,
    GET,
    LAST,
    Say,
    answer,
    chunk,
    say,
    speaking,
    then_break,
    then_close,
)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Return a new authority."""
    return Authority(tmp_path)


def serving(pair: KeyPair) -> ssl.SSLContext:
    """Return what a server with this certificate uses."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


def trusting(authority: Authority) -> ssl.SSLContext:
    """Return what a client that trusts this authority uses."""
    return ssl.create_default_context(cafile=str(authority.certificate))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize(
    "version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"]
)
async def test_a_trusted_server_is_asked_and_heard(
    authority: Authority, host: str, version: ssl.TLSVersion
) -> None:
    server = serving(authority.serving("server"))
    server.maximum_version = version
    content = bytes(range(256)) * 20_000
    async with speaking(
        answer(content), CHUNKED + LAST, server=server, client=trusting(authority), host=host
    ) as (speaker, pool):
        post = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(content), content)
        assert (await pool.ask(post, repeatable=False)).content == content
        assert (await pool.ask(GET, repeatable=False)).content == b""
        assert speaker.requests == [post, GET]
        assert speaker.connections == 1


def has_ipv6() -> bool:
    """Whether this machine has IPv6 on loopback."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6 on loopback")
async def test_an_address_of_ipv6_is_asked_by_that_name(authority: Authority) -> None:
    pair, stranger = (serving(authority.serving(name, (name,))) for name in ("::1", "::2"))
    on_ipv6 = partial(speaking, client=trusting(authority), host="[::1]", address="::1")
    async with on_ipv6(answer(b"ok"), server=pair) as (_, pool):
        assert (await pool.ask(GET, repeatable=False)).content == b"ok"
    async with on_ipv6(answer(b""), server=stranger) as (_, pool):
        with pytest.raises(ssl.SSLCertVerificationError, match="::1"):
            await pool.ask(GET, repeatable=False)


async def test_a_server_of_another_authority_is_not_asked(
    authority: Authority, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    stranger = serving(Authority(tmp_path / "other").serving("server"))
    async with speaking(answer(b""), server=stranger, client=trusting(authority)) as (one, pool):
        with pytest.raises(ssl.SSLCertVerificationError):
            await pool.ask(GET, repeatable=True)
        assert not one.requests


async def test_a_server_of_another_name_is_not_asked(authority: Authority) -> None:
    elsewhere = serving(authority.serving("server", ("elsewhere.example",)))
    async with speaking(answer(b""), server=elsewhere, client=trusting(authority)) as (one, pool):
        with pytest.raises(ssl.SSLCertVerificationError, match=r"127\.0\.0\.1"):
            await pool.ask(GET, repeatable=True)
        assert not one.requests


async def test_a_server_that_speaks_no_tls_is_an_error(authority: Authority) -> None:
    async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await then_close(answer(b"in the clear"))(writer)

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        pool = Pool(f"https://127.0.0.1:{port}", partial(trusting, authority))
        with pytest.raises((WireError, OSError)):
            await pool.ask(GET, repeatable=True)
        await pool.close()


async def test_a_client_certificate_is_shown(authority: Authority) -> None:
    server = serving(authority.serving("server"))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(authority.certificate)
    client = trusting(authority)
    pair = authority.client("somebody")
    client.load_cert_chain(pair.certificate, pair.key)
    shown: list[object] = []

    async def look(writer: asyncio.StreamWriter) -> None:
        shown.append(writer.get_extra_info("peercert")["subject"])
        await say(answer(b"ok"))(writer)

    async with speaking(look, server=server, client=client) as (_, pool):
        assert (await pool.ask(GET, repeatable=False)).content == b"ok"
    assert shown == [((("commonName", "somebody"),),)]


UNTIL_THE_END = b"HTTP/1.1 200 OK\r\n\r\nhalf of what was to be s"


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(then_break(UNTIL_THE_END), id="reset"),
        pytest.param(then_close(answer(b"whole")[:-1]), id="less than its length"),
    ],
)
async def test_an_end_that_anybody_on_the_way_can_make_is_none(
    authority: Authority, ends: Say
) -> None:
    pair = serving(authority.serving("server"))
    async with speaking(ends, server=pair, client=trusting(authority)) as (_, pool):
        with pytest.raises(WireError):
            await pool.ask(GET, repeatable=False)


async def test_an_end_that_the_server_vouches_for_is_one(authority: Authority) -> None:
    said = then_close(b"HTTP/1.1 200 OK\r\n\r\nwhole")
    pair = serving(authority.serving("server"))
    async with speaking(said, server=pair, client=trusting(authority)) as (_, pool):
        assert (await pool.ask(GET, repeatable=False)).content == b"whole"


async def test_noise_and_news_of_a_stream_come_through(authority: Authority) -> None:
    pieces = [chunk(b"noise %d\n" % n) for n in range(300)]
    stream = say(CHUNKED, *pieces, chunk(b"news\n"), chunk(b"x" * 100_000 + b"\n"), LAST)
    pair = serving(authority.serving("server"))
    heard: list[bytes] = []
    async with (
        speaking(stream, server=pair, client=trusting(authority)) as (_, pool),
        aclosing(pool.lines(GET, lambda line: not line.startswith(b"noise"))) as batches,
    ):
        async for batch in batches:
            heard.extend(batch)
    assert heard == [b"news", b"x" * 100_000]
