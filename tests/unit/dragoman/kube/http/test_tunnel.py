"""The way through a proxy: the API server answers behind it, and refusals say why."""

import asyncio
from pathlib import Path

import pytest

from dragoman.kube.client import Client
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.errors import ApiError
from dragoman.kube.http.tunnel import ProxyError, proxy_of
from dragoman.kube.kopfsession import kopf_session
from dragoman.kube.kubeconfig import ConnectionSettingsError, Credentials
from tests.support.certificates import Authority
from tests.unit.dragoman.kube.http.fakes import fake_server, response
from tests.unit.dragoman.kube.http.harness import server_context
from tests.unit.dragoman.kube.http.proxies import Tunnels, listening
from tests.unit.dragoman.kube.test_kubeconfig import kubeconfig

FINE = response(b'{"kind":"Pod"}')


@pytest.fixture(name="authority", scope="module")
def _authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


async def ask(tmp_path: Path, authority: Authority, server: str, proxy: str) -> object:
    """Return what the API server answers to a client whose kubeconfig names this proxy."""
    place = {"server": server, "certificate-authority": str(authority.certificate)}
    config = kubeconfig(tmp_path, {"token": "t"}, **place, **{"proxy-url": proxy})
    async with Client(Credentials(ConnectionOptions(config))) as api:
        return await api.get("/api/v1/namespaces/default/pods/a")


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
@pytest.mark.parametrize("account", ["", "us%65r:p%40ss@"])
async def test_a_server_answers_behind_a_proxy(
    tmp_path: Path, authority: Authority, scheme: str, account: str
) -> None:
    password = {"socks5": b"user:p@ss"}.get(scheme, b"dXNlcjpwQHNz") if account else b""
    tunnels = Tunnels(password)
    tls = server_context(authority.serving("server")) if scheme == "https" else None
    serving = server_context(authority.serving("server"))
    async with fake_server(FINE, server=serving) as (fake, _), listening(tunnels, tls) as port:
        answer = await ask(
            tmp_path,
            authority,
            f"https://localhost:{fake.port}",
            f"{scheme}://{account}127.0.0.1:{port}",
        )
        assert answer == {"kind": "Pod"}
        # As in kubectl, names are resolved by the proxy.
        assert tunnels.targets == [f"localhost:{fake.port}"]


async def test_socks_takes_addresses_by_number(tmp_path: Path, authority: Authority) -> None:
    """A proxy resolves what it gets as a name, and many have no answer for an address."""
    tunnels = Tunnels()
    serving = server_context(authority.serving("server"))
    async with fake_server(FINE, server=serving) as (fake, _), listening(tunnels) as port:
        server, proxy = f"https://127.0.0.1:{fake.port}", f"socks5://127.0.0.1:{port}"
        assert await ask(tmp_path, authority, server, proxy) == {"kind": "Pod"}
    assert (tunnels.numbers, tunnels.targets) == (1, [f"127.0.0.1:{fake.port}"])


def test_an_address_of_version_6_is_sixteen_bytes_for_socks() -> None:
    opened = proxy_of("socks5://proxy.example.com").negotiate("::1", 6443)
    next(opened)
    assert opened.send(b"\x05\x00") == b"\x05\x01\x00\x04" + bytes(15) + b"\x01\x19\x2b"


@pytest.mark.parametrize("host", ["ü" * 70, "a" * 256])
def test_a_host_that_socks_cannot_name_is_an_error_of_the_proxy(host: str) -> None:
    opened = proxy_of("socks5://proxy.example.com").negotiate(host, 6443)
    next(opened)
    with pytest.raises(ProxyError):
        opened.send(b"\x05\x00")


@pytest.mark.parametrize(
    ("account", "says"),
    [("", "user and password: put them into proxy-url"), ("a:b@", "another login than proxy-url")],
)
def test_a_socks_proxy_without_a_common_login_says_what_it_wants(account: str, says: str) -> None:
    opened = proxy_of(f"socks5://{account}proxy.example.com").negotiate("api", 6443)
    next(opened)
    with pytest.raises(ProxyError, match=says):
        opened.send(b"\x05\xff")


async def test_kopf_goes_through_the_proxy(tmp_path: Path, authority: Authority) -> None:
    tunnels = Tunnels(b"dXNlcjpwQHNz")
    serving = server_context(authority.serving("server"))
    async with fake_server(FINE, server=serving) as (fake, _), listening(tunnels) as port:
        place = {
            "server": f"https://localhost:{fake.port}",
            "certificate-authority": str(authority.certificate),
            "proxy-url": f"http://user:p%40ss@127.0.0.1:{port}",
        }
        credentials = Credentials(ConnectionOptions(kubeconfig(tmp_path, {"token": "t"}, **place)))
        async with (
            kopf_session(credentials).aiohttp_session as session,
            session.get(f"{credentials.server}/api/v1/pods/a") as answer,
        ):
            assert await answer.json(content_type=None) == {"kind": "Pod"}
        assert tunnels.targets == [f"localhost:{fake.port}"]


@pytest.mark.parametrize(
    ("scheme", "account", "password", "refuses", "says"),
    [
        ("http", "", b"secret", False, "rejects a connection to .*: 407 Proxy Authentication"),
        ("http", "", b"", True, "rejects a connection to api.example.com:443: 403 Forbidden"),
        ("socks5", "", b"secret", False, "wants user and password: put them into proxy-url"),
        ("socks5", "a:wrong@", b"a:b", False, "rejects its user and password"),
        ("socks5", "", b"", True, "api.example.com:443: its rules forbid this server"),
    ],
)
async def test_a_proxy_that_refuses_is_named_without_its_password(  # noqa: PLR0917 — a table
    tmp_path: Path,
    authority: Authority,
    scheme: str,
    account: str,
    password: bytes,
    refuses: bool,
    says: str,
) -> None:
    tunnels = Tunnels(password)
    tunnels.refuses = refuses
    async with listening(tunnels) as port:
        proxy = f"{scheme}://{account}127.0.0.1:{port}"
        with pytest.raises(ApiError, match=says) as refusal:
            await ask(tmp_path, authority, "https://api.example.com", proxy)
    assert f"proxy {scheme}://127.0.0.1:{port}" in str(refusal.value)
    assert "wrong" not in str(refusal.value)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_what_is_no_proxy_is_an_error_of_one_line(
    tmp_path: Path, authority: Authority, scheme: str
) -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-other\r\n\r\n" + b"x" * (1 << 15))
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(
            ApiError, match=f"proxy {scheme}://127.0.0.1:{port}: expected an answer"
        ):
            await ask(
                tmp_path, authority, "https://api.example.com", f"{scheme}://127.0.0.1:{port}"
            )


@pytest.mark.parametrize("address", ["[::1]", "127.0.0.1"])
def test_an_address_of_version_6_has_brackets_in_connect(address: str) -> None:
    opened = proxy_of("http://proxy.example.com").negotiate(address.strip("[]"), 6443)
    assert next(opened).startswith(f"CONNECT {address}:6443 HTTP/1.1\r\n".encode())


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://u:secret@proxy:21", 'unsupported scheme "ftp", must be http, https, or socks5'),
        ("proxy.example.com:3128", "unsupported scheme"),
        ("http://", "expected a URL with a host"),
        ("http://proxy:port", "expected a URL with a host"),
        ("http://u:secret\u2100@proxy:80", "expected a URL with a host"),
    ],
)
def test_a_proxy_of_another_kind_is_refused_in_the_words_of_kubectl(
    tmp_path: Path, url: str, says: str
) -> None:
    with pytest.raises(ConnectionSettingsError, match=f"invalid 'proxy-url'.*{says}") as refusal:
        Credentials(ConnectionOptions(kubeconfig(tmp_path, {}, **{"proxy-url": url})))
    assert "secret" not in str(refusal.value)
