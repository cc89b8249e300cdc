"""What `kubectl dra migrate` writes is the same everywhere, and the API server takes it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.controlplane.plane import ControlPlane
from tests.support.dra import Desk
from tests.support.worlds.plugins import asking, cluster, gpus, node

pytestmark = pytest.mark.slow
PLACES = (
    ("first", {"TZ": "Asia/Kolkata", "PYTHONHASHSEED": "1"}),
    ("second/folder", {"TZ": "America/St_Johns", "PYTHONHASHSEED": "4242"}),
)


def written(folder: Path, more: dict[str, str], snapshot: Path) -> dict[str, bytes]:
    """Run both commands in processes with their own folder, time zone and hash seed."""
    folder.mkdir(parents=True)

    def migrate(*arguments: str) -> bytes:
        program = Path(sys.executable).with_name("kubectl-dra")
        command = [str(program), "migrate", *arguments, "--snapshot", str(snapshot)]
        made = {**os.environ, **more}
        done = subprocess.run(command, cwd=folder, env=made, capture_output=True, check=False)
        assert done.returncode < 2, done.stderr
        return done.stdout

    found = {"classes": migrate("classes"), "plan": migrate("plan", "--output-dir", "out")}
    return found | {one.name: one.read_bytes() for one in (folder / "out").iterdir()}


def test_files_are_equal_in_two_places_and_the_api_server_takes_them(
    plane: ControlPlane, tmp_path: Path
) -> None:
    resources = (
        *("nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/mig-1g.10gb.me"),
        *("amd.com/gpu", "amd.com/cpx_nps4", "gpu.intel.com/xe", "gpu.intel.com/i915"),
        *("habana.ai/gaudi", "google.com/tpu", "aws.amazon.com/neuron", "vpc.amazonaws.com/efa"),
    )
    desk = Desk(tmp_path)
    pods = [
        asking(f"p{n}", {one: "1"}, owner=("ReplicaSet", f"r{n}-5d8f"), nodeName=f"n{n}")
        for n, one in enumerate(resources)
    ]
    nodes = [node(f"n{n}", allocatable={one: "4"}) for n, one in enumerate(resources)]
    desk.write(cluster(*pods, *nodes, gpus("n-dra", 2)))
    first, second = (written(tmp_path / name, more, desk.file) for name, more in PLACES)
    assert first == second
    classes = [*yaml.safe_load_all(first["classes"])]
    assert {one["spec"]["extendedResourceName"] for one in classes} == {*resources}
    for one in classes:
        plane.api().create(one, dryRun="All")
