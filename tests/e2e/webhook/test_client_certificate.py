"""`--client-ca`: the API server presents its certificate; every other client is refused."""

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.webhook import conftest
from tests.e2e.webhook.harness import (
    WebhookProcess,
    configuration,
    wait_until_reviewed,
    webhook_user,
)
from tests.e2e.webhook.manifests import BAD, GOOD, apply, manifest, schema
from tests.support.controlplane.certificates import Authority, KeyPairPaths
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import free_ports


@pytest.fixture(scope="module")
def port() -> int:
    """Choose the webhook's port, which the API server's configuration names."""
    (chosen,) = free_ports(1)
    return chosen


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the CA that signs the API server's client certificate."""
    return Authority(tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def plane(
    clients: Authority, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Run an API server that presents a client certificate to its webhooks."""
    folder = tmp_path_factory.mktemp("admission")
    pair = clients.client("kube-apiserver")
    kubeconfig, admission = folder / "kubeconfig", folder / "admission.json"
    kubeconfig.write_text(json.dumps(webhook_kubeconfig(pair, port)))
    admission.write_text(json.dumps(admission_configuration(kubeconfig)))
    flag = f"--admission-control-config-file={admission}"
    with ControlPlane(extra_apiserver_flags=[flag]) as running:
        conftest.install(running)
        yield running


def webhook_kubeconfig(pair: KeyPairPaths, port: int) -> dict[str, object]:
    """Make the kubeconfig that docs/security.md describes, for a webhook with a URL."""
    files = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    user = {"name": f"127.0.0.1:{port}", "user": files}
    return {"apiVersion": "v1", "kind": "Config", "users": [user]}


def admission_configuration(kubeconfig: Path) -> dict[str, object]:
    """Make the AdmissionConfiguration that docs/security.md describes."""
    version = "apiserver.config.k8s.io/v1"
    configuration = {
        "apiVersion": version,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    plugin = {"name": "ValidatingAdmissionWebhook", "configuration": configuration}
    return {"apiVersion": version, "kind": "AdmissionConfiguration", "plugins": [plugin]}


def test_the_api_server_is_served_and_clients_without_its_certificate_are_not(
    plane: ControlPlane, namespace: str, tmp_path: Path, clients: Authority, port: int
) -> None:
    serving = Authority(tmp_path)
    pair = serving.serving("webhook")
    flags = (
        f"--tls-certificate={pair.certificate}",
        f"--tls-key={pair.key}",
        f"--client-ca={clients.certificate}",
    )
    api = plane.api()
    with WebhookProcess(plane, webhook_user(plane), tmp_path, *flags, port=port) as webhook:
        api.create(schema())
        api.create(configuration(port, serving.certificate.read_bytes()))
        wait_until_reviewed(plane, manifest("ResourceClaim", namespace, BAD))
        assert apply(plane, manifest("ResourceClaim", namespace, GOOD))[0] == 0
        trust = ssl.create_default_context(cafile=str(serving.certificate))
        assert answer(trust, port) == b""
        known = clients.client("kube-apiserver")
        trust.load_cert_chain(known.certificate, known.key)
        assert answer(trust, port).startswith(b"HTTP/1.1 200 ")
        assert webhook.faults() == []


def answer(trust: ssl.SSLContext, port: int) -> bytes:
    """Ask for /livez; return what the webhook sends."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
        try:
            with trust.wrap_socket(wire, server_hostname="127.0.0.1") as client:
                client.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                return client.recv(1 << 16)
        except (ssl.SSLError, ConnectionError):
            return b""
