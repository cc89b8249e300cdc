"""The chart's README alone: its commands, as printed, in their order."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.e2e.chart.conftest import Cluster
from tests.support.controlplane import binaries
from tests.support.controlplane.api import wait_for

PAGE = ROOT / "charts/dragoman/README.md"
MARK = "tests/e2e/chart/test_readme.py"
MAINTENANCES = "devicemaintenances.dragoman.dev"
MAINTENANCE = {
    "apiVersion": "dragoman.dev/v1alpha1",
    "kind": "DeviceMaintenance",
    "metadata": {"name": "gpu-0", "annotations": {"dragoman.dev/allow-any-target": "true"}},
    "spec": {"target": {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}},
}
CRDS = "app.kubernetes.io/part-of=dragoman"


@pytest.fixture
def clean(cluster: Cluster) -> Iterator[Cluster]:
    """Give a cluster without definitions that another release has left."""
    cluster.plane.kubectl("delete", "crd", "-l", CRDS)
    yield cluster
    if "dragoman" in cluster.helm("list", "--all-namespaces", "--short"):
        cluster.helm("uninstall", "dragoman", "--namespace=dragoman", "--wait")


def typed(cluster: Cluster, command: str, folder: Path) -> str:
    """Type commands of the page in the checkout; return what they print."""
    tools = binaries.find(["kubectl", "helm"], cluster.plane.version)
    path = ":".join([*{str(tool.parent) for tool in tools.values()}, os.environ["PATH"]])
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", command],
        cwd=ROOT,
        env={"PATH": path, "HOME": str(folder), "KUBECONFIG": str(cluster.plane.kubeconfig)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def held(cluster: Cluster, folder: Path) -> None:
    """Turn on what has finalizers, and create an object with one."""
    upgrade = next(block.text for block in blocks(PAGE) if block.text.startswith("helm upgrade"))
    values = "--set maintenance.enabled=true --set preemption.mode=on"
    typed(cluster, f"{upgrade.strip()} {values}", folder)
    api = cluster.plane.api()
    api.create(MAINTENANCE)
    wait_for(
        lambda: api.get(MAINTENANCES, "gpu-0")["metadata"].get("finalizers"),
        60,
        "the operator to take the DeviceMaintenance over",
    )


@pytest.mark.slow
def test_a_release_lives_by_the_commands_of_the_readme(clean: Cluster, tmp_path: Path) -> None:
    printed = []
    for block in blocks(PAGE):
        if MARK in block.mark:
            if "delete devicemaintenances" in block.text:
                held(clean, tmp_path)
            printed.append((block.text, typed(clean, block.text, tmp_path)))
    commands = "".join(command for command, _ in printed)
    for step in ("helm install", "helm test", "helm upgrade", "helm uninstall", "delete crd"):
        assert step in commands
    installed, upgraded, finalized, uninstalled, deleted = (said for _, said in printed)
    assert "STATUS: deployed" in installed
    assert "NOTHING IS VALIDATED YET" not in installed
    assert "Phase:          Succeeded" in installed
    assert "REVISION: 2" in upgraded
    assert 'devicemaintenance.dragoman.dev "gpu-0" deleted' in finalized
    assert 'release "dragoman" uninstalled' in uninstalled
    assert '"driverconfigschemas.dragoman.dev" deleted' in deleted
    assert '"devicemaintenances.dragoman.dev" deleted' in deleted
