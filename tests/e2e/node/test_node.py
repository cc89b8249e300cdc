"""A node of one's own: it becomes Ready, runs pods with their devices, and leaves no trace."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.controlplane import objects
from tests.controlplane.api import wait_for
from tests.controlplane.node import cgroups
from tests.controlplane.node.node import Node
from tests.controlplane.plane import ControlPlane
from tests.e2e.node.shift import Shift, container

pytestmark = [pytest.mark.node, pytest.mark.slow]
STATE = (
    Path("/var/lib/kubelet"),
    Path("/var/lib/cni"),
    Path("/run/containerd"),
    Path("/run/netns"),
    Path("/usr/libexec/kubernetes"),
    Path("/etc/cni"),
)
SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")


def test_a_pod_sees_the_device_of_its_claim_from_inside_its_container(shift: Shift) -> None:
    shift.template()
    shift.pod("one")
    shift.until("one")
    claim = shift.claim_of("one")
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    (seen,) = shift.told("one")
    device, uid = result["device"], claim["metadata"]["uid"]
    variable = f"DEVICE_{device.upper().replace('-', '_')}"
    assert seen["variables"] == {variable: uid, f"{variable}_CONFIG": "Exclusive,"}
    assert seen["files"] == {device: f"{shift.namespace}/{claim['metadata']['name']} {device}"}
    assert seen["nodes"] == {device: "readable"}


def test_a_second_node_comes_and_goes_without_a_trace(plane: ControlPlane, node: Node) -> None:
    before = traces()
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
        assert traces() != before
    assert processes(own) == set()
    assert traces() == before
    assert not second.places.root.exists()
    assert node.kubelet.pid
    assert node.containerd.pid
    plane.clear_namespace(namespace)
    plane.api().delete("nodes", "node-2")


def processes(namespace: Path) -> set[str]:
    """Return the names of all that run in a process namespace."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if (folder / "ns/pid").readlink() == namespace:
                found.add((folder / "comm").read_text().strip())
    return found


def traces() -> dict[str, object]:
    """Return what a node of these tests might leave; a cgroup goes only when its processes did."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    return {
        "mounts": [line for line in mounts if "node-2" in line or "kubernetes" in line],
        "cgroups": sorted(
            path
            for root in cgroups.hierarchies()
            for path in root.glob(f"dragoman-{os.getpid()}-*")
        ),
        "state": {path: sorted(path.iterdir()) for path in STATE if path.exists()},
        "sysctls": [Path("/proc/sys", name).read_text() for name in SYSCTLS],
    }
