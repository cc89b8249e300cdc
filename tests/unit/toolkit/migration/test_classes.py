"""The DeviceClasses that `kubectl dra migrate classes` prints."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.allocation import profile
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Classes, take
from dragoman.model.deviceclass import DeviceClass
from dragoman_toolkit.migration.counterparts import Around, counterpart
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import pool
from tests.support.worlds.plugins import GPU, asking, cluster, gpus, node, serving

MIG = "nvidia.com/mig-1g.10gb"


def printed(folder: Path, *manifests: dict[str, Any], status: int = 0) -> tuple[Any, str, str]:
    """Return the classes, and what both streams got."""
    desk = Desk(folder)
    desk.write(cluster(*manifests))
    result = invoke("migrate", "classes", "--snapshot", desk.file)
    assert result.exit_code == status, result.output
    return [*yaml.safe_load_all(result.stdout)], result.stdout, result.stderr


def test_a_class_has_the_name_of_the_resource(tmp_path: Path) -> None:
    slices = gpus("n", 14, "mig", profile="1g.10gb")
    (made,), text, _ = printed(tmp_path, node("n"), slices, asking("p", {MIG: "1"}))
    assert text.startswith("# selects 14 devices on n\n")
    assert made["metadata"]["name"] == "mig-1g.10gb.nvidia.com"
    assert made["spec"]["extendedResourceName"] == MIG


def test_a_resource_that_a_class_serves_gets_no_second_one(tmp_path: Path) -> None:
    found, _, said = printed(tmp_path, serving(), node("n"), gpus("n", 2), asking("p", {GPU: "1"}))
    assert found == []
    assert "Nothing to make" in said


def test_a_class_that_serves_other_devices_is_named(tmp_path: Path) -> None:
    labels = {"nvidia.com/mig.strategy": "single"}
    (made,), _, said = printed(
        tmp_path,
        serving(),
        node("n", labels, allocatable={GPU: "7"}),
        node("m"),
        gpus("m", 3, "mig"),
        gpus("k", 2),
    )
    assert made["metadata"]["name"] == "gpu.nvidia.com-extended"
    assert "class gpu.nvidia.com names nvidia.com/gpu and selects other devices" in said


def test_a_class_without_devices_is_a_comment(tmp_path: Path) -> None:
    found, text, _ = printed(tmp_path, node("n"), gpus("n", 2), asking("p", {MIG: "1"}), status=1)
    assert [one for one in found if one] == []
    assert "# NoDevices: gpu.nvidia.com publishes devices" in text
    assert all(line.startswith("#") for line in text.splitlines())


def test_a_driver_that_publishes_nothing_yet_leaves_the_class_unproven(tmp_path: Path) -> None:
    plugin, other = node("n", allocatable={MIG: "7"}), node("m")
    (made,), text, _ = printed(tmp_path, plugin, other, gpus("m", 2), asking("p", {MIG: "1"}))
    assert made["spec"]["extendedResourceName"] == MIG
    assert text.startswith(f"# not evaluated: no slices of gpu.nvidia.com on nodes with {MIG}")


def test_a_resource_that_is_asked_for_and_gets_no_class(tmp_path: Path) -> None:
    resource = "example.com/fpga"
    manifests = (node("n", allocatable={resource: "1"}), asking("p", {resource: "1"}))
    found, _, said = printed(tmp_path, *manifests, status=1)
    assert found == []
    assert "example.com/fpga: no class can serve it (UnknownResource)" in said


DEVICES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpu": ("gpu.nvidia.com", {"type": {"string": "gpu"}}),
    "mig": ("gpu.nvidia.com", {"type": {"string": "mig"}, "profile": {"string": "1g.10gb"}}),
    "mig with media": (
        "gpu.nvidia.com",
        {"type": {"string": "mig"}, "profile": {"string": "1g.10gb+me"}},
    ),
    "amd": (
        "gpu.amd.com",
        {"type": {"string": "amdgpu"}, "partitionProfile": {"string": "spx_nps1"}},
    ),
    "amd part": (
        "gpu.amd.com",
        {"type": {"string": "amdgpu-partition"}, "partitionProfile": {"string": "cpx_nps4"}},
    ),
    "xe": ("gpu.intel.com", {"driver": {"string": "xe"}}),
    "bare": ("gpu.intel.com", {}),
    "gaudi": ("gaudi.intel.com", {}),
    "neuron": ("neuron.aws.com", {}),
    "efa": (
        "dra.net",
        {"rdma": {"bool": True}, "pciVendor": {"string": "Amazon.com, Inc."}},
    ),
    "nic": ("dra.net", {"rdma": {"bool": False}}),
    "vf": (
        "sriovnetwork.k8snetworkplumbingwg.io",
        {"k8s.cni.cncf.io/resourceName": {"string": "fast"}},
    ),
}
SELECTED = [
    ("nvidia.com/gpu", {"gpu"}),
    ("nvidia.com/gpu.shared", {"gpu"}),
    ("nvidia.com/mig-1g.10gb", {"mig"}),
    ("nvidia.com/mig-1g.10gb.me", {"mig with media"}),
    ("amd.com/gpu", {"amd"}),
    ("amd.com/cpx_nps4", {"amd part"}),
    ("amd.com/spx_nps1", {"amd"}),
    ("gpu.intel.com/xe", {"xe"}),
    ("habana.ai/gaudi", {"gaudi"}),
    ("aws.amazon.com/neuron", {"neuron"}),
    ("vpc.amazonaws.com/efa", {"efa"}),
    ("openshift.io/fast", {"vf"}),
]


@pytest.mark.parametrize(("resource", "names"), SELECTED)
@pytest.mark.parametrize("version", ["1.34", "1.37"])
def test_a_selector_selects_what_the_plugin_published_and_fails_on_no_device(
    resource: str, names: set[str], version: str
) -> None:
    slices = [
        pool(f"n{number}", [{"name": "d", "attributes": attributes}], driver)
        for number, (driver, attributes) in enumerate(DEVICES.values())
    ]
    inventory = take(parse(cluster(*slices)), profile(version))
    (expression,) = counterpart(resource, Around(sriov={"fast"})).selectors
    classes = Classes(inventory.profile)
    kind = DeviceClass("x", (expression,))
    found = {
        name
        for name, device in zip(DEVICES, _in_order(inventory), strict=True)
        if classes.selects(kind, device.id, device.content)
    }
    assert (found, classes.failures) == (names, {})


def _in_order(inventory: Any) -> list[Any]:
    return sorted(inventory.devices.values(), key=lambda one: int(one.id.pool[1:]))


@pytest.mark.parametrize(
    ("kind", "strategy", "wanted"),
    [("gpu", "single", True), ("gpu", "mixed", False), ("mig", "single", False)],
)
def test_a_class_of_whole_gpus_does_not_serve_mig_devices_before_they_are_published(
    tmp_path: Path, kind: str, strategy: str, *, wanted: bool
) -> None:
    desk = Desk(tmp_path)
    product = "NVIDIA-H100-80GB-HBM3" + ("-MIG-1g.10gb" if strategy == "single" else "")
    labels = {"nvidia.com/mig.strategy": strategy, "nvidia.com/gpu.product": product}
    pod = asking("p", {GPU: "1"}, nodeName="n", owner=("ReplicaSet", "p-5d8f"))
    desk.write(cluster(serving(kind=kind), node("n", labels, allocatable={GPU: "7"}), pod))
    report = desk.document("migrate", "report", status=int(wanted))
    (row,) = report["workloads"]
    assert row["answer"] == ("change" if wanted else "unchanged")
    made = [*yaml.safe_load_all(desk.run("migrate", "classes", status=0))]
    assert [one["metadata"]["name"] for one in made] == ["gpu.nvidia.com-extended"] * wanted
