"""`dragoman pretend` as a process: slices of many nodes, and what the scheduler makes of them."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman_drivers.throwaway.api import Api
from dragoman_drivers.throwaway.plane import Plane
from dragoman_drivers.throwaway.process import ThrowawayProcess
from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.stage import Stage
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

VENDORS = {
    "gpu.nvidia.com:8xH100": 3,
    "gpu.nvidia.com:8xH100-MIG": 5,
    "gpu.amd.com:8xMI300X": 4,
    "gpu.intel.com:6xMax1550": 2,
    "gaudi.intel.com:8xGaudi2": 8,
    "dra.net:2xmlx5": 1,
}
"""Shapes of six vendors, and how many devices a claim of the test asks for."""
NODES = 100
LOOKED_AT = ("pretend-0", "pretend-57", "pretend-99")
"""Nodes that are filled, pod by pod."""
QUIET_SECONDS = 300


@contextmanager
def pretend(kubeconfig: Path, log: Path, *options: str) -> Iterator[ThrowawayProcess]:
    """Run the command inside the block, and end it by SIGTERM."""
    words = [sys.executable, "-m", "dragoman", "pretend", "--kubeconfig", str(kubeconfig)]
    process = ThrowawayProcess("pretend", [*words, *options], log)
    process.start()
    try:
        yield process
    finally:
        process.stop()


def published(log: Path) -> float:
    """Wait until a driver says that everything is published; return the seconds it took."""
    text = wait_for(
        lambda: log.read_text() if "published in" in log.read_text() else None,
        message="the driver to publish",
        timeout=180,
    )
    return float(text.partition("published in ")[2].split()[0])


def slices(api: Api, driver: str) -> list[Json]:
    """Return what a driver publishes."""
    return api.list("resourceslices", fieldSelector=f"spec.driver={driver}")


def test_nodes_and_slices_are_made_and_removed(throwaway: Plane, tmp_path: Path) -> None:
    api, log = throwaway.api(), tmp_path / "log"
    kubeconfig = throwaway.kubeconfig(tmp_path / "kubeconfig")
    options = ("--shape", "gpu.amd.com:8xMI300X", "--nodes", "5", "--create-nodes")
    with pretend(kubeconfig, log, *options):
        published(log)
        found = slices(api, "pretend.gpu.amd.com")
        assert sorted(one["spec"]["nodeName"] for one in found) == [
            f"pretend-{n}" for n in range(5)
        ]
        assert {len(one["spec"]["devices"]) for one in found} == {8}
        assert all(one["metadata"]["ownerReferences"][0]["kind"] == "Node" for one in found)
    assert slices(api, "pretend.gpu.amd.com") == []
    assert [
        one for one in api.list("nodes") if one["metadata"]["name"].startswith("pretend-")
    ] == []


def test_the_name_of_a_driver_that_is_there_is_refused(throwaway: Plane, tmp_path: Path) -> None:
    api = throwaway.api()
    api.create(objects.resource_slice("a-node", 1, "gpu.amd.com", "real"))
    kubeconfig = throwaway.kubeconfig(tmp_path / "kubeconfig")
    options = ("--shape", "gpu.amd.com:8xMI300X", "--node", "a-node", "--i-know")
    answer = dra(
        "pretend", *options, "--driver-name", "gpu.amd.com", "--kubeconfig", kubeconfig,
        expected=(2,),
    )  # fmt: skip
    assert "driver gpu.amd.com publishes real" in answer.errors
    assert [one["metadata"]["name"] for one in slices(api, "gpu.amd.com")] == ["real"]
    api.delete("resourceslices", "real")


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Run a control plane with a scheduler."""
    with ControlPlane(scheduler=True) as running:
        yield running


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Publish every vendor's shape on each node."""
    folder = tmp_path_factory.mktemp("pretend")
    with ExitStack() as stack:
        for at, shape in enumerate(VENDORS):
            name = shape.partition(":")[0] + (".mig" if "MIG" in shape else "")
            options = ["--shape", shape, "--nodes", str(NODES), "--driver-name", f"pretend.{name}"]
            log = folder / f"log-{at}"
            given = [*options, *(["--create-nodes"] if at == 0 else [])]
            stack.enter_context(pretend(Path(plane.kubeconfig), log, *given))
            print(f"{shape}: {published(log):.1f} s for {NODES} nodes")
        yield Stage(plane)


@pytest.mark.slow
@pytest.mark.parametrize("shape", VENDORS)
def test_the_scheduler_chooses_what_simulate_says(
    plane: ControlPlane, stage: Stage, shape: str, tmp_path: Path
) -> None:
    driver = "pretend." + shape.partition(":")[0] + (".mig" if "MIG" in shape else "")
    name = driver.replace(".", "-") + "-test"
    stage.api.create(objects.device_class(name, driver))
    stage.api.create(objects.namespace(name))
    snapshot = tmp_path / "before.jsonl"
    dra("snapshot", "--kubeconfig", plane.kubeconfig, "-o", snapshot)
    for node in LOOKED_AT:
        said = simulated(name, VENDORS[shape], node, snapshot, tmp_path)
        got = filled(stage, name, VENDORS[shape], node)
        assert got == said
        assert got


def simulated(name: str, count: int, node: str, snapshot: Path, folder: Path) -> list[list[str]]:
    """Return the devices of each pod that fits on a node, as `simulate` says."""
    template = objects.template("more", name, name)
    template["spec"]["spec"] = objects.claim_spec(name, count)
    chosen = {"kubernetes.io/hostname": node}
    pod = objects.pod("more", name, templates={"a": "more"}, nodeSelector=chosen)
    file = folder / f"{node}.yaml"
    file.write_text(yaml.safe_dump_all([template, pod]))
    arguments = ("-f", file, "--fill", "--snapshot", snapshot, "-o", "json")
    said: Mapping[str, Any] = dra("simulate", *arguments, expected=(0, 1)).document
    return [sorted(pod["devices"]) for one in said["nodes"] for pod in one["pods"]]


def filled(stage: Stage, name: str, count: int, node: str) -> list[list[str]]:
    """Return the devices of each pod that the scheduler places on a node, until it refuses one."""
    found: list[list[str]] = []
    while True:
        title = f"{node}-{len(found)}"
        claim = objects.claim(title, name, name, count)
        chosen = {"kubernetes.io/hostname": node}
        stage.add([claim, objects.pod(title, name, claims={"a": title}, nodeSelector=chosen)])
        (pod,) = stage.settled([(name, title)]).values()
        if not pod["spec"].get("nodeName"):
            return found
        status = stage.api.get("resourceclaims", title, name)["status"]
        results = status["allocation"]["devices"]["results"]
        found.append(sorted(f"{one['driver']}/{one['pool']}/{one['device']}" for one in results))


@pytest.mark.slow
def test_a_thousand_devices_are_written_once(throwaway: Plane, tmp_path: Path) -> None:
    api, log = throwaway.api(), tmp_path / "log"
    kubeconfig = throwaway.kubeconfig(tmp_path / "kubeconfig")
    options = ("--shape", "gpu.nvidia.com:1000xH100", "--nodes", "1", "--create-nodes")
    with pretend(kubeconfig, log, *options):
        print(f"1,000 devices: {published(log):.1f} s")
        before = {one["metadata"]["name"]: one for one in slices(api, "pretend.gpu.nvidia.com")}
        assert sum(len(one["spec"]["devices"]) for one in before.values()) == 1000
        time.sleep(QUIET_SECONDS)
        after = {one["metadata"]["name"]: one for one in slices(api, "pretend.gpu.nvidia.com")}
        assert after == before
