"""Settings and command lines of what runs on a node: containerd and the kubelet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane.credentials import Keys
from tests.support.controlplane.node.image import REFERENCE
from tests.support.controlplane.process import LOOPBACK

CONTAINERD = """\
version = 4
root = "{state}/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = [
  "io.containerd.nri.v1.nri",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.internal.v1.tracing",
]

[plugins."io.containerd.server.v1.grpc"]
address = "{socket}"

[plugins."io.containerd.server.v1.ttrpc"]
address = "{socket}.ttrpc"

[plugins."io.containerd.internal.v1.opt"]
path = "{state}/opt"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{sandbox}"

[plugins."io.containerd.cri.v1.runtime"]
enable_cdi = true
cdi_spec_dirs = ["{cdi}"]
restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{plugins}"]
conf_dir = "{networks}"
use_internal_loopback = true

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{runc}"
SystemdCgroup = false
"""
MAX_ROOT = 107 - len("/kubelet/plugins_registry/gpu-40.example.com-reg.sock")
"""Paths of unix sockets have at most 107 characters, and drivers listen below the root."""
NAMES = "10.0.0.10"
"""Where pods would ask for names; nobody answers."""
NO_NETWORK: Mapping[str, Any] = {
    "cniVersion": "1.0.0",
    "name": "none",
    "plugins": [{"type": "none"}],
}
"""Makes a node Ready whose pods all use the host's network: the plugin is never called."""


def bridge(subnet: str, name: str) -> dict[str, Any]:
    """Return how pods are connected: addresses of a subnet, on a bridge that is their way out.

    Args:
        subnet: Such as `10.244.1.0/24`.
        name: Of the bridge's interface.
    """
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": subnet}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    plugin = {"type": "bridge", "bridge": name, "isGateway": True, "ipam": ipam}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [plugin]}


@dataclass(frozen=True, slots=True)
class Places:
    """Where the parts of one node keep their things.

    Attributes:
        root: The node's folder.
        usual: Whether the kubelet and CDI have the folders that they have on most nodes, which only
            processes on the node see. They suit drivers that run in containers.
    """

    root: Path
    usual: bool = False

    @property
    def socket(self) -> Path:
        """On which containerd listens."""
        return self.root / "containerd.sock"

    @property
    def kubelet(self) -> Path:
        """The kubelet's root: plugins register below it."""
        return Path("/var/lib/kubelet") if self.usual else self.root / "kubelet"

    @property
    def logs(self) -> Path:
        """Where the containers' output goes."""
        return self.root / "pods"

    @property
    def cdi(self) -> Path:
        """Where drivers describe devices to containerd."""
        return Path("/var/run/cdi") if self.usual else self.root / "cdi"

    @property
    def networks(self) -> Path:
        """Where containerd finds how pods are connected."""
        return self.root / "networks"

    def make(self) -> None:
        """Make the folders.

        Raises:
            RuntimeError: Unix sockets below them would have too long a path.
        """
        if len(str(self.root)) > MAX_ROOT:
            raise RuntimeError(f"{self.root}: too long for sockets below it, set a shorter TMPDIR")
        own = () if self.usual else (self.kubelet, self.cdi)
        for folder in (*own, self.logs, self.networks):
            folder.mkdir(parents=True)


def containerd(binary: Path, places: Places) -> list[str]:
    """Return containerd's command, after writing its settings."""
    settings = places.root / "containerd.toml"
    settings.write_text(
        CONTAINERD.format(
            state=places.root,
            socket=places.socket,
            sandbox=REFERENCE,
            cdi=places.cdi,
            plugins=binary.parent,
            networks=places.networks,
            runc=binary.with_name("runc"),
        )
    )
    return [str(binary), f"--config={settings}", "--log-level=info"]


def kubelet(
    binary: Path,
    places: Places,
    *,
    name: str,
    kubeconfig: str,
    keys: Keys,
    cgroup: str,
    ports: tuple[int, int],
    address: str,
    gates: Sequence[str],
) -> list[str]:
    """Return the kubelet's command, after writing its settings.

    Args:
        binary: The kubelet.
        places: The node's folders.
        name: Of the node.
        kubeconfig: Of `system:node:<name>`.
        keys: What it shows, and whose clients it believes.
        cgroup: Below which it makes those of pods.
        ports: Of its API and of its health.
        address: At which it listens; the node's as well, unless it is loopback.
        gates: The flag of the feature gates.
    """
    settings = places.root / "kubelet.yaml"
    api, health = ports
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": address,
        "port": api,
        "healthzBindAddress": address,
        "healthzPort": health,
        "tlsCertFile": str(keys.serving.certificate),
        "tlsPrivateKeyFile": str(keys.serving.key),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(keys.authority)},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{places.socket}",
        "podLogsDir": str(places.logs),
        "volumePluginDir": str(places.root / "volume-plugins"),
        "resolvConf": "",
        "clusterDNS": [NAMES],
        "clusterDomain": "cluster.local",
        "failCgroupV1": False,
        "failSwapOn": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "enforceNodeAllocatable": [],
        "localStorageCapacityIsolation": False,
        "makeIPTablesUtilChains": False,
        "evictionHard": {"memory.available": "50Mi"},
        "imageGCHighThresholdPercent": 100,
        "oomScoreAdj": 0,
        "syncFrequency": "2s",  # after which a failed preparation is tried again: 1 min by default
        "maxPods": 250,
        "kubeAPIQPS": 500,
        "kubeAPIBurst": 1000,
    }
    settings.write_text(yaml.safe_dump(document))
    return [
        str(binary),
        f"--config={settings}",
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={name}",
        *(() if address == LOOPBACK else (f"--node-ip={address}",)),
        f"--root-dir={places.kubelet}",
        f"--cert-dir={places.kubelet / 'pki'}",
        "--v=2",
        *gates,
    ]
