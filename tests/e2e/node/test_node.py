"""A node of one's own: it becomes Ready, runs pods with their devices, and leaves no trace."""

import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.node.setup import NodeSetup, container
from tests.support import manifests as objects
from tests.support.controlplane import network
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.node.cgroups import MOUNTS, UNIFIED, layout
from tests.support.controlplane.node.inside import SYSCTLS
from tests.support.controlplane.node.node import Node
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import ThrowawayProcess

pytestmark = [pytest.mark.node, pytest.mark.slow]
ROOT = Path(__file__).parents[3]
STATE = (
    Path("/var/lib/kubelet"),
    Path("/var/lib/cni"),
    Path("/var/log/containers"),
    Path("/var/log/pods"),
    Path("/run/containerd"),
    Path("/run/netns"),
    Path("/usr/libexec/kubernetes"),
    Path("/opt/containerd"),
    Path("/etc/cni"),
)
SCRIPT = """
import time
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.network import Network, link_to
from tests.support.controlplane.node.node import NODE_FLAGS, Node
from tests.support.controlplane.plane import ControlPlane
from tests.e2e.node.setup import container

network = Network()
with (
    ControlPlane(network=network, extra_apiserver_flags=NODE_FLAGS) as plane,
    Node(plane, "node-3", 3) as node,
):
    pod = objects.pod("lost", "default", nodeName="node-3")
    pod["spec"]["containers"] = [container("main", "tell", "hold")]
    plane.api().create(pod)
    wait_for(lambda: node.output("default", "lost"), 60, "a container that runs")
    first = (node.places.root / "first").read_text()
    print(plane.folder, first, link_to(network.subnet), flush=True)
    time.sleep(600)
"""


def test_a_pod_sees_the_device_of_its_claim_from_inside_its_container(setup: NodeSetup) -> None:
    setup.template()
    setup.pod("one")
    setup.until("one")
    claim = setup.claim_of("one")
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    (seen,) = setup.told("one")
    device, uid = result["device"], claim["metadata"]["uid"]
    variable = f"DEVICE_{device.upper().replace('-', '_')}"
    assert seen["variables"] == {variable: uid, f"{variable}_CONFIG": "Exclusive,"}
    assert seen["files"] == {device: f"{setup.namespace}/{claim['metadata']['name']} {device}"}
    assert seen["nodes"] == {device: "readable"}


def test_a_second_node_comes_and_goes_without_a_trace(plane: ControlPlane, node: Node) -> None:
    before = traces(os.getpid())
    namespace = plane.create_namespace("second")
    manifest = objects.pod("lost", namespace, hostNetwork=True, nodeName="node-2")
    manifest["spec"]["containers"] = [container("main", "tell", "hold")]
    with Node(plane, "node-2", 2) as second:
        plane.api().create(manifest)
        wait_for(
            lambda: plane.api().get("pods", "lost", namespace)["status"]["phase"] == "Running",
            message="a pod on the second node",
        )
        first = (second.places.root / "first").read_text()
        own = Path("/proc", first, "ns/pid").readlink()
        assert {"kubelet", "containerd", "containerd-shim"} <= processes(own)
        assert traces(os.getpid()) != before
    assert processes(own) == set()
    assert traces(os.getpid()) == before
    assert not second.places.root.exists()
    assert node.kubelet.pid
    assert node.containerd.pid
    plane.clear_namespace(namespace)
    plane.api().delete("nodes", "node-2")


@pytest.mark.usefixtures("node", "private_networks")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name
)
def test_nothing_of_a_node_outlives_a_test_that_is_ended_from_outside(
    number: signal.Signals, tmp_path: Path
) -> None:
    script = ThrowawayProcess(
        "script", [sys.executable, "-c", SCRIPT], tmp_path / "log", {"PYTHONPATH": str(ROOT)}
    )
    script.start()
    maker = script.pid
    assert maker
    try:
        before = traces(maker)
        folder, first, link = wait_for(lambda: said(script), 90, "the script's node to be there")
        own = Path("/proc", first, "ns/pid").readlink()
        assert {"kubelet", "containerd", "containerd-shim"} <= processes(own)
        assert traces(maker)["cgroups"]
        assert link in network.run("ip", "-brief", "link")
        os.kill(maker, number)
        script.wait(60)
    finally:
        script.kill()
    wait_for(lambda: not processes(own), 30, "the node's processes to be gone")
    wait_for(lambda: traces(maker) == before, 30, "its cgroups to be gone")
    wait_for(lambda: link not in network.run("ip", "-brief", "link"), 10, "the link to be gone")
    shutil.rmtree(folder, ignore_errors=True)  # files of a killed test stay, as its logs


def said(script: ThrowawayProcess) -> list[str]:
    """Return what the script says of itself once its node is there."""
    script.check()
    return script.tail(1).split() if "/control-plane-" in script.tail(1) else []


def processes(namespace: Path) -> set[str]:
    """Return the names of all that run in a process namespace."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if (folder / "ns/pid").readlink() == namespace:
                found.add((folder / "comm").read_text().strip())
    return found


def traces(maker: int) -> dict[str, object]:
    """Return what a node that a process made might leave; a cgroup goes when its processes did."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    hierarchies = layout(MOUNTS.read_text(), UNIFIED).hierarchies
    return {
        "mounts": [line for line in mounts if "node-" in line or "kubernetes" in line],
        "cgroups": sorted(
            path for root in hierarchies for path in root.glob(f"dragoman-{maker}-*")
        ),
        "state": {path: sorted(path.iterdir()) for path in STATE if path.exists()},
        "sysctls": [
            Path("/proc/sys", name).read_text() for name in (*SYSCTLS, "net/ipv4/ip_forward")
        ],
    }
