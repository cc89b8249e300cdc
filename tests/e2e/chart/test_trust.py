"""Each way to certificates, and to the webhook: the API server believes what it is told."""

import base64
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.chart.balancer import Balancer
from tests.e2e.chart.conftest import CONFIGURATIONS, NAMESPACE, Cluster
from tests.e2e.chart.definitions import definitions
from tests.e2e.chart.helm import RELEASE
from tests.e2e.chart.traffic import BAD, GOOD, Insistence, answer, device_class
from tests.support.controlplane import binaries
from tests.support.controlplane.api import Api, Json, wait_for
from tests.support.controlplane.certificates import Authority

pytestmark = pytest.mark.slow
HOST = f"dragoman-webhook.{NAMESPACE}.svc"
PORT = 8443
PROGRAM = "certmanager"
SECRET = "dragoman-webhook-tls"
SETTLED = 2.0
"""Seconds in which the injector would have put another authority in place."""
CATALOG: Json = {
    "enabled": True,
    "drivers": {"gpu.nvidia.com": {"variables": {"TimeSlicingSettings": True}}},
}


@pytest.fixture
def api(cluster: Cluster) -> Iterator[Api]:
    """Give an administrator's client; what the test installs is uninstalled."""
    client = cluster.plane.api()
    yield client
    if client.list("deployments", NAMESPACE):
        cluster.helm.uninstall()


def values(**webhook: object) -> Json:
    """Return the values of a release with the catalog."""
    return {"catalog": CATALOG, "webhook": webhook}


def clients(api: Api) -> list[Json]:
    """Return how the API server calls each of the webhooks."""
    return [one["clientConfig"] for one in api.get(CONFIGURATIONS, RELEASE)["webhooks"]]


def reviewed(api: Api) -> None:
    """Wait for a denial, and for the options of this release, which let another config in.

    The schemas of an uninstalled release stay, and deny until the next one applies its own.
    """
    wait_for(lambda: answer(api, device_class(BAD)) == "denied", message="a denial")
    wait_for(lambda: answer(api, device_class(GOOD)) == "let in", message="a config to be let in")


def test_an_own_secret_is_trusted_by_the_bundle_in_the_values(
    cluster: Cluster, api: Api, tmp_path: Path
) -> None:
    pair = Authority(tmp_path).serving("tls", (HOST,))
    bundle, certificate, key = (
        base64.b64encode(path.read_bytes()).decode()
        for path in (tmp_path / "ca.crt", pair.certificate, pair.key)
    )
    secret = {"metadata": {"name": "mine", "namespace": NAMESPACE}, "type": "kubernetes.io/tls"}
    data = {"tls.crt": certificate, "tls.key": key}
    api.create({"apiVersion": "v1", "kind": "Secret", **secret, "data": data})
    tls = {"mode": "secret", "secret": {"name": "mine", "caBundle": bundle}}
    cluster.helm.install(values(tls=tls))
    reviewed(api)
    assert [one["caBundle"] for one in clients(api)] == [bundle, bundle]
    api.delete("secrets", "mine", NAMESPACE)


def test_an_api_server_that_cannot_reach_services_calls_a_url(cluster: Cluster, api: Api) -> None:
    def pod() -> tuple[str, int]:
        listed = api.list("pods", NAMESPACE, labelSelector="app.kubernetes.io/component=webhook")
        return listed[0]["status"]["podIP"], 9443

    url = f"https://127.0.0.1:{PORT}/validate"
    with Balancer(cluster.kubelet.network, PORT, pod) as balancer:
        cluster.helm.install(values(url=url))
        reviewed(api)
        assert {one["url"] for one in clients(api)} == {url}
        assert not any("service" in one for one in clients(api))
        assert balancer.connections > 0
        cluster.helm.uninstall()


@pytest.fixture
def cert_manager(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[None]:
    """Run cert-manager: its libraries with a main function of ours, for its own cannot be had."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        program = binaries.find([PROGRAM])[PROGRAM]
    known = [one for one in definitions() if one["spec"]["group"] == "cert-manager.io"]
    names = [cluster.plane.define(one) for one in known]
    cluster.plane.launch(PROGRAM, [str(program), str(cluster.plane.kubeconfig), NAMESPACE])
    yield
    cluster.plane.stop_part(PROGRAM)
    for name in names:
        cluster.plane.undefine(name)


@pytest.mark.usefixtures("cert_manager")
def test_certificates_of_cert_manager_are_trusted_through_an_upgrade_and_a_renewal(
    cluster: Cluster, api: Api
) -> None:
    asked = values(tls={"mode": "cert-manager"})
    cluster.helm.install(asked)
    reviewed(api)
    injected = clients(api)
    with Insistence(cluster.plane) as insistence:
        cluster.helm.upgrade(asked | {"commonLabels": {"changed": "yes"}})
        served = api.get("secrets", SECRET, NAMESPACE)["data"]["tls.crt"]
        api.delete("secrets", SECRET, NAMESPACE)
        wait_for(lambda: renewed(api, served), message="another certificate")
        time.sleep(SETTLED)
    # Pods serve the certificate that they have mounted until kubelet brings them the other one.
    assert set(insistence.answers) == {"denied"}
    assert clients(api) == injected
    cluster.helm.uninstall()
    for name in (SECRET, "dragoman-webhook-ca"):
        api.delete("secrets", name, NAMESPACE)


def renewed(api: Api, before: str) -> bool:
    """Whether the Secret holds a certificate, and another one than before."""
    found = api.find("secrets", SECRET, NAMESPACE)
    return bool(found and found["data"].get("tls.crt") not in {None, "", before})
