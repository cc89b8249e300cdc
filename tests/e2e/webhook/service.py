"""The webhook behind a Service: replicas at addresses of their own, and what names them."""

import uuid
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.webhook.harness import CONFIGURATIONS, NAME, WebhookProcess
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, wait_for
from tests.support.controlplane.certificates import Authority
from tests.support.controlplane.network import Network
from tests.support.controlplane.plane import ControlPlane

Json = dict[str, Any]
NAMESPACE, SERVICE, ACCOUNT = "dragoman", "dragoman-webhook", "dragoman-webhook"
HOST = f"{SERVICE}.{NAMESPACE}.svc"
"""By which the API server calls, whatever address it dials."""
PORT = 9443
MARK = "mark.example.com"
"""Name of a webhook, and of a label: by it a version of the configuration is known."""


def publish(plane: ControlPlane, replicas: Iterable[WebhookProcess]) -> None:
    """Let the Service stand for these replicas, dead or alive: no controller looks after it."""
    api = plane.api()
    place = {"name": SERVICE, "namespace": NAMESPACE}
    port = {"name": "https", "port": 443, "targetPort": PORT}
    api.apply({"apiVersion": "v1", "kind": "Service", "metadata": place, "spec": {"ports": [port]}})
    api.apply(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**place, "labels": {"kubernetes.io/service-name": SERVICE}},
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
            "endpoints": [
                {"addresses": [one.address], "conditions": {"ready": True}} for one in replicas
            ],
        }
    )


@contextmanager
def several(
    plane: ControlPlane, network: Network, flags: Sequence[str], count: int = 2
) -> Iterator[list[WebhookProcess]]:
    """Run replicas as the account of the examples; `publish` lets the Service stand for them."""
    user = plane.service_account(ACCOUNT, NAMESPACE)
    replicas = [
        WebhookProcess(plane, user, plane.folder, *flags, address=network.add_address(), port=PORT)
        for _ in range(count)
    ]
    with ExitStack() as running:
        for replica in replicas:
            running.callback(replica.process.stop)
            replica.process.start()
        for replica in replicas:
            replica.await_ready()
        yield replicas
        for replica in replicas:
            assert replica.faults() == []


def trust(plane: ControlPlane, bundle: bytes) -> None:
    """Replace the bundle, as an external issuer does; return when the API server goes by it."""
    api, mark = plane.api(), uuid.uuid4().hex
    document = api.get(CONFIGURATIONS, NAME)
    reviewing = [one for one in document["webhooks"] if one["name"] != MARK]
    for one in reviewing:
        one["clientConfig"]["caBundle"] = b64encode(bundle).decode()
    api.update({**document, "webhooks": [*reviewing, marking(mark)]})
    probe = objects.config_map("probe", "default")
    probe["metadata"]["labels"] = {MARK: mark}

    def followed() -> bool:
        try:
            api.create(probe, dryRun="All")
        except ApiError as error:
            return MARK in error.message
        return False

    wait_for(followed, message="the API server to follow the configuration")


def marking(mark: str) -> Json:
    """Return a webhook that nobody serves: what it keeps out tells which version is in force."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    return {
        "name": MARK,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{**rule, "resources": ["configmaps"]}],
        "objectSelector": {"matchLabels": {MARK: mark}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


class Mounted:
    """A Secret of type kubernetes.io/tls as the kubelet mounts it: a change is one rename.

    Attributes:
        flags: By which the webhook reads it.
        bundle: Certificate of the authority of what is mounted.
    """

    def __init__(self, folder: Path) -> None:
        self._data = folder / "..data"
        self._count = 0
        self.flags = (f"--tls-certificate={self._data}/tls.crt", f"--tls-key={self._data}/tls.key")
        self.mount(self.issue())

    def issue(self) -> Authority:
        """Make a certificate of another authority, and leave what is mounted as it is."""
        self._count += 1
        folder = self._data.with_name(f"..{self._count}")
        folder.mkdir()
        authority = Authority(folder)
        authority.serving("tls", (HOST,))
        return authority

    def mount(self, issuer: Authority) -> None:
        """Mount the certificate of that authority."""
        link = self._data.with_name("..next")
        link.symlink_to(issuer.folder)
        link.rename(self._data)
        self.bundle = issuer.certificate.read_bytes()
