"""Kubernetes' end-to-end tests of DRA whose pods run, on real nodes.

Each node has a kubelet, containerd and runc in namespaces of its own. Images made here stand in
for those of registries (`images.py`), under the same names.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.support.controlplane import binaries, network
from tests.support.controlplane.network import Network
from tests.support.controlplane.node import isolation
from tests.support.controlplane.node.node import NODE_FLAGS, Node
from tests.support.controlplane.plane import ControlPlane
from tests.upstream import images
from tests.upstream.controller import dragoman, start_controllers
from tests.upstream.ginkgo import Suite
from tests.upstream.results import PASSED, Spec
from tests.upstream.versions import needs, switched_on

NODES = 2
"""Some specs need two; more would only cost time."""
DEVICES = [Path("/tmp", name) for name in ("Dev-1", "Dev-2")]
"""What the device plugin of the tests mounts into containers, and containerd makes therefore."""


def obstacle() -> str:
    """Return why these tests cannot run here, or nothing when they can."""
    return isolation.obstacle() or network.obstacle()


def run(version: str, focus: str, folder: Path, *, own: bool, workers: int) -> dict[str, Spec]:
    """Run the specs with dragoman, or with the built-in controller; return their results.

    Args:
        version: Of Kubernetes.
        focus: A regular expression for the names of the specs.
        folder: Where reports and logs go; what it holds is removed.
        own: Whether dragoman is the claim controller.
        workers: How many specs run at the same time.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    binary = binaries.find(["upstream"], version)["upstream"]
    with ExitStack() as stack:
        plane = stack.enter_context(cluster(version, own=own))
        stack.enter_context(dragoman(plane, own=own))
        stack.enter_context(nothing_left(DEVICES))
        for number in range(1, NODES + 1):
            node = stack.enter_context(Node(plane, f"node-{number}", number, usual_folders=True))
            for archive in images.write(version, node.places.root):
                node.load(archive)
                archive.unlink()
        print(f"{version}: running specs on {NODES} nodes, logs in {folder}", flush=True)
        results = Suite(binary, plane.kubeconfig, folder).run_each(focus, workers)
        plane.keep_logs |= any(one.ran and one.state != PASSED for one in results.values())
    return results


@contextmanager
def cluster(version: str, *, own: bool) -> Iterator[ControlPlane]:
    """Run a control plane that kubelets can join, with all controllers but maybe one."""
    wanted = needs(version)
    plane = ControlPlane(
        version,
        scheduler=True,
        feature_gates=switched_on(*wanted.gates, *wanted.node_gates),
        runtime_config=switched_on(*wanted.served, *wanted.node_served),
        audit=False,
        service_accounts=True,
        network=Network(),
        extra_apiserver_flags=NODE_FLAGS,
    )
    with plane:
        start_controllers(plane, own=own)
        yield plane


@contextmanager
def nothing_left(folders: list[Path]) -> Iterator[None]:
    """Remove folders afterwards that were not there before, and are empty."""
    new = [folder for folder in folders if not folder.exists()]
    yield
    for folder in new:
        with suppress(OSError):
            folder.rmdir()
