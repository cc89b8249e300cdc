"""The kit's client of a kubeconfig reaches the API server through its proxy."""

import asyncio
from pathlib import Path

import pytest

from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.kubeconfig import Credentials
from dragoman_drivers.throwaway.api import Api
from tests.support.certificates import Authority
from tests.unit.dragoman.kube.http.fakes import fake_server, response
from tests.unit.dragoman.kube.http.harness import server_context
from tests.unit.dragoman.kube.http.proxies import Tunnels, listening
from tests.unit.dragoman.kube.test_kubeconfig import kubeconfig


async def test_requests_go_through_the_proxy_with_its_password(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tunnels = Tunnels(b"dXNlcjpwQHNz")
    answer = response(b'{"kind":"Pod"}', b"Content-Type: application/json")
    serving = server_context(authority.serving("server"))
    async with fake_server(answer, server=serving) as (fake, _), listening(tunnels) as port:
        place = {
            "server": f"https://localhost:{fake.port}",
            "certificate-authority": str(authority.certificate),
            "proxy-url": f"http://user:p%40ss@127.0.0.1:{port}",
        }
        config = kubeconfig(tmp_path, {"token": "t"}, **place)
        api = Api.of(Credentials(ConnectionOptions(config)))
        assert await asyncio.to_thread(api.request, "GET", "/api/v1/pods/a") == {"kind": "Pod"}
        api.close()
        assert tunnels.targets == [f"localhost:{fake.port}"]


def test_a_proxy_of_socks_is_refused_by_its_field(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, {"token": "t"}, **{"proxy-url": "socks5://127.0.0.1:1080"})
    with pytest.raises(ValueError, match="proxy-url: expected a proxy of http or https"):
        Api.of(Credentials(ConnectionOptions(config)))
