"""Command lines of the control plane's servers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.controlplane.credentials import Keys
from tests.support.controlplane.network import Place
from tests.support.controlplane.process import LOOPBACK
from tests.support.controlplane.tokens import AUDIENCE

SERVICES = "10.0.0.0/24"
KUBERNETES = "10.0.0.1"
"""Address of the Service by which pods find the API server: the first of all."""


@dataclass(frozen=True, slots=True)
class StockController:
    """Settings of the stock claim controller in kube-controller-manager.

    Attributes:
        qps: Requests per second that its client allows itself (the shipped default is 20).
        burst: Requests that it may send at once (the shipped default is 30).
        workers: Concurrent syncs; the shipped default when None. The flag is new in v1.36.
    """

    qps: float = 20
    burst: int = 30
    workers: int | None = None

    def flags(self) -> list[str]:
        """Return kube-controller-manager's flags for these settings."""
        workers = [f"--concurrent-resourceclaim-syncs={self.workers}"] if self.workers else []
        return [f"--kube-api-qps={self.qps:g}", f"--kube-api-burst={self.burst}", *workers]


ACCOUNT_CONTROLLERS = ("serviceaccount-controller", "root-ca-certificate-publisher-controller")
UNTHROTTLED = StockController(qps=5000, burst=10000)


def etcd(binary: Path, data: Path, client: int, peer: int, address: str = LOOPBACK) -> list[str]:
    """Return etcd's command: one member, nothing synced to disk."""
    urls = {"client": f"http://{address}:{client}", "peer": f"http://{address}:{peer}"}
    return [
        str(binary),
        "--name=only",
        f"--data-dir={data}",
        f"--listen-client-urls={urls['client']}",
        f"--advertise-client-urls={urls['client']}",
        f"--listen-peer-urls={urls['peer']}",
        f"--initial-advertise-peer-urls={urls['peer']}",
        f"--initial-cluster=only={urls['peer']}",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8000000000",
        "--log-level=warn",
    ]


def kube_apiserver(
    binary: Path,
    *,
    port: int,
    etcd_port: int,
    issuer: str,
    keys: Keys,
    extra: Iterable[str],
    place: Place,
) -> list[str]:
    """Return the API server's command.

    The Node authorizer is left out: it keeps an API server without resource.k8s.io/v1 from
    becoming ready.
    """
    accounts = f"https://{place.address}:{port}"
    return [
        str(binary),
        f"--etcd-servers=http://{place.address}:{etcd_port}",
        f"--bind-address={place.everywhere}",
        f"--advertise-address={place.address}",
        "--endpoint-reconciler-type=none",
        f"--secure-port={port}",
        f"--tls-cert-file={keys.serving.certificate}",
        f"--tls-private-key-file={keys.serving.key}",
        f"--client-ca-file={keys.authority}",
        f"--kubelet-client-certificate={keys.client.certificate}",
        f"--kubelet-client-key={keys.client.key}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-issuer={accounts}",
        f"--service-account-key-file={keys.accounts.certificate}",
        f"--service-account-signing-key-file={keys.accounts.key}",
        f"--oidc-issuer-url={issuer}",
        f"--oidc-client-id={AUDIENCE}",
        f"--oidc-ca-file={keys.authority}",
        "--oidc-signing-algs=ES256",
        "--oidc-username-claim=sub",
        "--oidc-username-prefix=-",
        "--oidc-groups-claim=groups",
        "--authorization-mode=RBAC",
        f"--service-cluster-ip-range={SERVICES}",
        "--enable-aggregator-routing=true",
        "--allow-privileged=true",
        *extra,
    ]


def admission(*, service_accounts: bool) -> str:
    """Return the API server's flag that turns off what has no counterpart here.

    Nodes are not tainted on creation because no kubelet or controller would ever lift the taint.
    Without controllers that make the default accounts, pods are not given one.
    """
    off = (
        ["TaintNodesByCondition"]
        if service_accounts
        else ["TaintNodesByCondition", "ServiceAccount"]
    )
    return f"--disable-admission-plugins={','.join(off)}"


def switches(flag: str, values: Mapping[str, bool]) -> list[str]:
    """Return a flag such as --feature-gates from its settings, or nothing when there are none."""
    settings = ",".join(f"{name}={str(value).lower()}" for name, value in values.items())
    return [f"{flag}={settings}"] if settings else []


def kube_scheduler(
    binary: Path,
    *,
    port: int,
    kubeconfig: Path,
    folder: Path,
    keys: Keys,
    extra: Iterable[str],
    address: str = LOOPBACK,
) -> list[str]:
    """Return the scheduler's command; its client is not throttled, so tests do not wait for it."""
    configuration = folder / "scheduler.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 10000},
    }
    configuration.write_text(yaml.safe_dump(document))
    return [
        str(binary),
        f"--config={configuration}",
        *serving(port, keys, address),
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        *extra,
    ]


def kube_controller_manager(
    binary: Path,
    *,
    port: int,
    kubeconfig: Path,
    keys: Keys,
    controllers: Iterable[str],
    extra: Iterable[str],
    address: str = LOOPBACK,
) -> list[str]:
    """Return kube-controller-manager's command for some of its controllers.

    Each of them writes as its own ServiceAccount of kube-system, as on a cluster.
    """
    return [
        str(binary),
        f"--kubeconfig={kubeconfig}",
        *serving(port, keys, address),
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--controllers={','.join(controllers)}",
        f"--service-account-private-key-file={keys.accounts.key}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        *extra,
    ]


def serving(port: int, keys: Keys, address: str) -> list[str]:
    """Return the flags by which a component serves its health and metrics."""
    return [
        f"--bind-address={address}",
        f"--secure-port={port}",
        f"--tls-cert-file={keys.serving.certificate}",
        f"--tls-private-key-file={keys.serving.key}",
    ]
