"""Certificates change while the server runs, and no request is lost by it."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from dragoman_webhooks.server import PATH
from dragoman_webhooks.tls import files
from dragoman_webhooks.tls.authority import issue, new_ca
from dragoman_webhooks.tls.files import (
    CertificateFiles,
    CertificateFilesError,
    require_client_certificates,
    serve,
    server_context,
)
from dragoman_webhooks.tls.rotation import KeyPair
from tests.support.certificates import Authority
from tests.support.worlds.reviews import claim, review
from tests.unit.webhooks.harness import serving

HOSTS = frozenset({"127.0.0.1"})
DAY = timedelta(days=1)


def pair(authority: KeyPair) -> KeyPair:
    return issue(authority, HOSTS, datetime.now(UTC), DAY)


def authority() -> KeyPair:
    return new_ca(datetime.now(UTC), 10 * DAY)


def store(folder: Path, made: KeyPair) -> tuple[Path, Path]:
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(made.certificate.pem)
    key.write_bytes(made.key)
    return certificate, key


def load(context: ssl.SSLContext, made: KeyPair) -> None:
    serve(context, made.certificate.pem, made.key)


def trusting(made: KeyPair) -> aiohttp.TCPConnector:
    context = ssl.create_default_context(cadata=made.certificate.pem.decode())
    return aiohttp.TCPConnector(ssl=context, limit=1)


async def status(session: aiohttp.ClientSession, url: str) -> int:
    async with session.post(url + PATH, json=review(claim())) as response:
        await response.read()
        return response.status


async def test_new_connections_get_the_new_certificate_and_open_ones_go_on() -> None:
    old, new = authority(), authority()
    context = server_context()
    load(context, pair(old))
    async with (
        serving(tls=context) as client,
        aiohttp.ClientSession(connector=trusting(old)) as earlier,
        aiohttp.ClientSession(connector=trusting(new)) as later,
    ):
        assert await status(earlier, client.url) == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await status(later, client.url)
        load(context, pair(new))
        assert await status(earlier, client.url) == 200
        assert await status(later, client.url) == 200


async def test_files_are_followed_and_half_a_change_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHECK_INTERVAL", 0.01)
    old, new = authority(), authority()
    certificate, key = store(tmp_path, pair(old))
    followed = CertificateFiles(certificate, key)
    following = asyncio.create_task(followed.run())
    async with serving(tls=followed.context) as client:
        made = pair(new)
        certificate.write_bytes(made.certificate.pem)
        await asyncio.sleep(0.1)
        async with aiohttp.ClientSession(connector=trusting(old)) as session:
            assert await status(session, client.url) == 200
        key.write_bytes(made.key)
        async with asyncio.timeout(20):
            while not await trusted(new, client.url):  # noqa: ASYNC110 — loading files signals nothing
                await asyncio.sleep(0.01)
    following.cancel()


async def test_no_handshake_is_lost_while_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHECK_INTERVAL", 0)
    root = authority()
    pairs = [pair(root), pair(root)]
    followed = CertificateFiles(*store(tmp_path, pairs[1]))
    trust = ssl.create_default_context(cadata=root.certificate.pem.decode())
    following = asyncio.create_task(followed.run())
    async with serving(tls=followed.context) as client:
        address = urlsplit(client.url)
        for made in pairs * 20:
            store(tmp_path, made)
            for _ in range(2):
                _, writer = await asyncio.open_connection(address.hostname, address.port, ssl=trust)
                writer.close()
    following.cancel()


async def trusted(made: KeyPair, url: str) -> bool:
    async with aiohttp.ClientSession(connector=trusting(made)) as session:
        try:
            return await status(session, url) == 200
        except aiohttp.ClientConnectorCertificateError:
            return False


@pytest.mark.parametrize("content", [b"", b"nonsense"], ids=["empty", "no PEM"])
def test_files_that_are_no_pair_are_named(tmp_path: Path, content: bytes) -> None:
    certificate, key = store(tmp_path, pair(authority()))
    key.write_bytes(content)
    with pytest.raises(CertificateFilesError) as refused:
        CertificateFiles(certificate, key)
    assert str(key) in str(refused.value)


def test_no_key_is_left_on_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MEMORY", tmp_path)
    load(server_context(), pair(authority()))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("suite", "accepted"),
    [("ECDHE-ECDSA-AES128-GCM-SHA256", True), ("ECDHE-ECDSA-AES128-SHA256", False)],
    ids=["GCM", "CBC"],
)
async def test_cipher_suites_in_cbc_mode_are_refused(suite: str, *, accepted: bool) -> None:
    root = authority()
    context = server_context()
    load(context, pair(root))
    trust = ssl.create_default_context(cadata=root.certificate.pem.decode())
    trust.maximum_version = ssl.TLSVersion.TLSv1_2
    trust.set_ciphers(suite)
    async with serving(tls=context) as client:
        connector = aiohttp.TCPConnector(ssl=trust)
        async with aiohttp.ClientSession(connector=connector) as session:
            if accepted:
                assert await status(session, client.url) == 200
            else:
                with pytest.raises(aiohttp.ClientConnectorError):
                    await status(session, client.url)


@pytest.mark.parametrize("presented", ["none", "another CA's", "its CA's"])
async def test_only_clients_with_a_certificate_of_the_client_ca_are_served(
    tmp_path: Path, presented: str
) -> None:
    root, context = authority(), server_context()
    load(context, pair(root))
    (tmp_path / "good").mkdir()
    (tmp_path / "other").mkdir()
    clients, others = Authority(tmp_path / "good"), Authority(tmp_path / "other")
    require_client_certificates(context, clients.certificate)
    trust = ssl.create_default_context(cadata=root.certificate.pem.decode())
    if presented != "none":
        signer = clients if presented == "its CA's" else others
        given = signer.client("kube-apiserver")
        trust.load_cert_chain(given.certificate, given.key)
    async with serving(tls=context) as client:
        connector = aiohttp.TCPConnector(ssl=trust)
        async with aiohttp.ClientSession(connector=connector) as session:
            if presented == "its CA's":
                assert await status(session, client.url) == 200
            else:
                with pytest.raises((aiohttp.ClientError, OSError)):
                    await status(session, client.url)


def test_a_client_ca_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text("no certificate")
    with pytest.raises(CertificateFilesError, match=str(wrong)):
        require_client_certificates(server_context(), wrong)
