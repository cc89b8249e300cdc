"""Tokens and certificates that are exchanged while requests go on: none of them fails."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from dragoman.kube.client import Client
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.errors import ApiError
from dragoman.kube.kubeconfig import Credentials
from tests.support.certificates import Authority, KeyPairPaths
from tests.unit.dragoman.kube.http.fakes import fake_server, response, send
from tests.unit.dragoman.kube.http.harness import server_context
from tests.unit.dragoman.kube.test_kubeconfig import kubeconfig

FINE = response(b'{"kind":"Pod"}')
REFUSED = response(b'{"kind":"Status","code":401}', status=b"401 Unauthorized")


async def ask(api: Client) -> dict[str, Any]:
    """Send a request, whatever."""
    return await api.get("/api/v1/pods")


async def test_requests_that_are_refused_together_share_the_new_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    authority = Authority(tmp_path)
    context = server_context(authority.serving("server"))

    async with fake_server(server=context) as (server, _):

        def judge(writer: asyncio.StreamWriter) -> Any:
            known = b"Authorization: Bearer new\r\n" in server.requests[-1]
            return send(FINE if known else REFUSED)(writer)

        server.script += [judge] * 40
        user = {"tokenFile": str(token)}
        place = {
            "server": f"https://127.0.0.1:{server.port}",
            "certificate-authority": str(authority.certificate),
        }
        async with Client(
            Credentials(ConnectionOptions(kubeconfig(tmp_path, user, **place)))
        ) as api:
            with pytest.raises(ApiError):
                await ask(api)
            await asyncio.sleep(1.1)  # for so long, a token counts as just read
            token.write_text("new")
            answers = await asyncio.gather(*(ask(api) for _ in range(16)))
        assert answers == [{"kind": "Pod"}] * 16


class Gate:
    """A server that lets clients of one name in, and knows who has come."""

    def __init__(self) -> None:
        self.admits = "first"
        self.seen: list[str] = []

    def judge(self, writer: asyncio.StreamWriter) -> Any:
        """Answer by the client's certificate."""
        ((_, name),), *_ = writer.get_extra_info("peercert")["subject"]
        self.seen.append(name)
        return send(FINE if name == self.admits else REFUSED)(writer)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Return a new authority."""
    return Authority(tmp_path)


def shown(pair: KeyPairPaths, folder: Path) -> dict[str, str]:
    """Put a client's key pair where the kubeconfig says; returns the user."""
    (folder / "user.crt").write_bytes(pair.certificate.read_bytes())
    (folder / "user.key").write_bytes(pair.key.read_bytes())
    return {
        "client-certificate": str(folder / "user.crt"),
        "client-key": str(folder / "user.key"),
    }


async def test_a_client_certificate_that_was_exchanged_is_shown_after_a_refusal(
    tmp_path: Path, authority: Authority
) -> None:
    gate = Gate()
    server = server_context(authority.serving("server"))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(authority.certificate)
    user = shown(authority.client("first"), tmp_path)
    async with fake_server(*[gate.judge] * 20, server=server) as (fake, _):
        place = {
            "server": f"https://127.0.0.1:{fake.port}",
            "certificate-authority": str(authority.certificate),
        }
        async with Client(
            Credentials(ConnectionOptions(kubeconfig(tmp_path, user, **place)))
        ) as api:
            await asyncio.gather(*(ask(api) for _ in range(3)))
            pair = authority.client("second")
            (tmp_path / "user.crt").write_bytes(pair.certificate.read_bytes())
            gate.admits = "second"
            # The key does not fit yet: what was there before goes on being shown.
            with pytest.raises(ApiError, match="401"):
                await ask(api)
            shown(pair, tmp_path)
            await asyncio.gather(*(ask(api) for _ in range(3)))
            assert gate.seen[-3:] == ["second"] * 3
            count = fake.connections
            await ask(api)
            assert fake.connections == count, "what is current is kept"


async def test_an_authority_that_was_exchanged_is_trusted(tmp_path: Path) -> None:
    """As inside a pod, where the authority's certificate is a file that changes."""
    folders = [tmp_path / "old", tmp_path / "new"]
    for folder in folders:
        folder.mkdir()
    old, new = map(Authority, folders)
    trusted = tmp_path / "trusted.crt"
    trusted.write_bytes(old.certificate.read_bytes())
    async with fake_server(FINE, server=server_context(new.serving("server"))) as (fake, _):
        place = {
            "server": f"https://127.0.0.1:{fake.port}",
            "certificate-authority": str(trusted),
        }
        async with Client(
            Credentials(ConnectionOptions(kubeconfig(tmp_path, {"token": "t"}, **place)))
        ) as api:
            with pytest.raises(ApiError, match="CERTIFICATE_VERIFY_FAILED"):
                await ask(api)
            trusted.write_bytes(new.certificate.read_bytes())
            assert await ask(api) == {"kind": "Pod"}


@pytest.mark.parametrize("by_option", [False, True])
async def test_a_server_is_known_by_another_name_of_its_certificate(
    tmp_path: Path, authority: Authority, *, by_option: bool
) -> None:
    """As behind a tunnel: `tls-server-name` of the kubeconfig, or --tls-server-name."""
    serving = server_context(authority.serving("server", ("api.example.com",)))
    asked: list[str] = []
    serving.sni_callback = lambda _, name, __: asked.append(name)
    async with fake_server(FINE, server=serving) as (fake, _):
        place = {
            "server": f"https://127.0.0.1:{fake.port}",
            "certificate-authority": str(authority.certificate),
        }
        with pytest.raises(ApiError, match=r"127\.0\.0\.1"):
            async with Client(
                Credentials(ConnectionOptions(kubeconfig(tmp_path, {"token": "t"}, **place)))
            ) as api:
                await ask(api)
        name = "api.example.com"
        given = {} if by_option else {"tls-server-name": name}
        config = kubeconfig(tmp_path, {"token": "t"}, **place, **given)
        options = ConnectionOptions(config, tls_server_name=name if by_option else "")
        async with Client(Credentials(options)) as api:
            await ask(api)
    assert asked[-1] == name
