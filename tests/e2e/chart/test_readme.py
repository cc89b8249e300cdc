"""The chart's README alone: its commands, as printed, in their order."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.e2e.chart.conftest import Cluster
from tests.support.controlplane import binaries

PAGE = ROOT / "charts/dragoman/README.md"
MARK = "tests/e2e/chart/test_readme.py"
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


def test_a_release_lives_by_the_commands_of_the_readme(clean: Cluster, tmp_path: Path) -> None:
    printed = [
        (block.text, typed(clean, block.text, tmp_path))
        for block in blocks(PAGE)
        if MARK in block.mark and "need the CRDs" not in block.mark
    ]
    commands = "".join(command for command, _ in printed)
    for step in ("helm install", "helm test", "helm upgrade", "helm uninstall", "delete crd"):
        assert step in commands
    installed, upgraded, uninstalled, deleted = (said for _, said in printed)
    assert "STATUS: deployed" in installed
    assert "NOTHING IS VALIDATED YET" not in installed
    assert "Phase:          Succeeded" in installed
    assert "REVISION: 2" in upgraded
    assert 'release "dragoman" uninstalled' in uninstalled
    assert '"driverconfigschemas.dragoman.dev" deleted' in deleted
