"""What `kubectl dra migrate report` says of resources, nodes and workloads."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.dra import Desk
from tests.support.worlds.inventory import snapshot
from tests.support.worlds.plugins import GPU, asking, cluster, gpus, node, serving

MIG = "nvidia.com/mig-1g.10gb"
SHARED = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}


def answered(folder: Path, *manifests: dict[str, Any], status: int = 1, options: Any = ()) -> Any:
    desk = Desk(folder)
    desk.write(cluster(*manifests))
    return desk.document("migrate", "report", *options, status=status)


def codes(row: Any, rank: str = "blocks") -> list[str]:
    return [one["code"] for one in row["losses"] if one["rank"] == rank]


def test_a_cluster_without_plugins_has_nothing_to_migrate(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write(cluster(node("n")))
    assert desk.run("migrate", "report").startswith("Nothing to migrate")


@pytest.mark.parametrize(
    ("manifests", "source", "now", "then"),
    [
        pytest.param([node("n", allocatable={GPU: "8"})], "plugin", 8, 8, id="plug-in"),
        pytest.param([node("n"), gpus("n", 3)], "dra", 3, 3, id="devices of the class"),
        pytest.param(
            [node("n", allocatable={GPU: "8"}), gpus("n", 8)], "both", 8, 8, id="both at once"
        ),
        pytest.param(
            [node("n", allocatable={GPU: "0"}, capacity={GPU: "8"})], "stale", 0, 0, id="ended"
        ),
        pytest.param(
            [
                node("n", allocatable={GPU: "0"}, capacity={GPU: "8"}),
                asking("p", {GPU: "1"}, nodeName="n"),
            ],
            "stale",
            8,
            8,
            id="ended while pods hold devices",
        ),
        pytest.param(
            [node("n", SHARED, allocatable={GPU: "32"})], "plugin", 32, 8, id="time-slicing"
        ),
    ],
)
def test_each_node_is_counted_by_its_source(
    tmp_path: Path, manifests: list[Any], source: str, now: int, then: int
) -> None:
    desk = Desk(tmp_path)
    desk.write(cluster(serving(), *manifests))
    text = desk.run("migrate", "report", "-o", "json", status=_status(manifests))
    (found,) = json.loads(text)["resources"]
    assert {kind: names for kind, names in found["nodes"].items() if names} == {source: ["n"]}
    assert (found["now"], found["then"]) == (now, then)


def _status(manifests: list[Any]) -> int:
    node = manifests[0]
    amount = node["status"]["allocatable"].get(GPU)
    both = amount == "8" and any(one["kind"] == "ResourceSlice" for one in manifests)
    pods = [one for one in manifests if one["kind"] == "Pod"]
    return int(both or amount == "32" or (bool(pods) and amount == "x"))


def test_a_node_with_both_sources_can_give_a_device_to_two_pods(tmp_path: Path) -> None:
    (found,) = answered(tmp_path, serving(), node("n", allocatable={GPU: "8"}), gpus("n", 8))[
        "resources"
    ]
    assert codes(found) == ["BothSources"]
    assert "n has two sources of nvidia.com/gpu" in found["losses"][0]["text"]


def test_pods_belong_to_the_controller_at_the_top(tmp_path: Path) -> None:
    pods = [asking(f"a-{i}", {GPU: "1"}, owner=("ReplicaSet", "serve-6c9f")) for i in range(3)]
    found = answered(
        tmp_path,
        serving(),
        node("n", allocatable={GPU: "8"}),
        *pods,
        asking("b", {GPU: "1"}, owner=("StatefulSet", "db")),
        asking("c", {GPU: "1"}, owner=("Job", "nightly-29123456")),
        asking("d", {GPU: "1"}),
        status=0,
    )["workloads"]
    assert [(one["kind"], one["name"], one["pods"]) for one in found] == [
        ("CronJob", "nightly", 1),
        ("Deployment", "serve", 3),
        ("Pod", "d", 1),
        ("StatefulSet", "db", 1),
    ]
    assert {one["answer"] for one in found} == {"unchanged"}


def test_replicas_that_are_asked_for_and_end_block(tmp_path: Path) -> None:
    pods = [asking(f"p-{i}", {GPU: "1"}, owner=("ReplicaSet", "serve-6c9f")) for i in range(3)]
    found = answered(tmp_path, serving(), node("n", SHARED, allocatable={GPU: "8"}), *pods)
    (workload,) = found["workloads"]
    assert workload["answer"] == "blocked"
    assert workload["losses"][0]["text"] == (
        "3 are asked for, 2 devices remain (time-slicing, 4 replicas)"
    )


def test_an_init_container_uses_the_devices_of_later_containers(tmp_path: Path) -> None:
    pod = asking("p", {GPU: "2"})
    many = {"requests": {GPU: "4"}, "limits": {GPU: "4"}}
    pod["spec"]["initContainers"] = [{"name": "init", "resources": many}]
    found = answered(tmp_path, serving(), node("n", allocatable={GPU: "4"}), pod, status=0)
    assert found["workloads"][0]["asks"] == {GPU: 4}


BLOCKS = [
    pytest.param({"schedulerName": "volcano"}, {GPU: "1"}, ["OtherScheduler"], id="scheduler"),
    pytest.param({}, {GPU: "33"}, ["TooManyDevices"], id="33 devices"),
    pytest.param(
        {"nodeSelector": {"nvidia.com/gpu.product": "A100"}}, {GPU: "1"}, ["LabelGone"], id="label"
    ),
    pytest.param({"nodeName": "dra"}, {GPU: "1"}, ["SchedulerBypass"], id="no claim was made"),
    pytest.param({"nodeName": "n"}, {GPU: "1"}, [], id="bound by the plug-in's count"),
    pytest.param({"nodeSelector": {"zone": "a"}}, {GPU: "1"}, [], id="a label of users"),
]


@pytest.mark.parametrize(("spec", "wanted", "blocks"), BLOCKS)
def test_what_keeps_a_pod_from_running(
    tmp_path: Path, spec: dict[str, Any], wanted: dict[str, str], blocks: list[str]
) -> None:
    found = answered(
        tmp_path,
        serving(),
        node("n", allocatable={GPU: "64"}),
        node("dra"),
        gpus("dra", 2),
        asking("p", wanted, **spec),
        status=int(bool(blocks) or wanted[GPU] == "33"),
    )
    (workload,) = found["workloads"]
    assert codes(workload) == blocks
    assert workload["answer"] == ("blocked" if blocks else "unchanged")


def test_a_scheduler_can_be_said_to_be_kube_scheduler(tmp_path: Path) -> None:
    found = answered(
        tmp_path,
        serving(),
        node("n", allocatable={GPU: "8"}),
        asking("p", {GPU: "1"}, schedulerName="second"),
        status=0,
        options=["--scheduler", "second"],
    )
    assert found["workloads"][0]["answer"] == "unchanged"


def test_a_missing_class_is_a_change_that_a_command_prints(tmp_path: Path) -> None:
    found = answered(tmp_path, node("n", allocatable={MIG: "14"}), asking("p", {MIG: "1"}))
    (workload,) = found["workloads"]
    assert (workload["answer"], codes(workload)) == ("change", ["NoClass"])
    assert workload["losses"][0]["remedy"] == "kubectl dra migrate classes"


def test_a_gate_that_is_off_needs_claims(tmp_path: Path) -> None:
    found = answered(
        tmp_path,
        serving(),
        node("n", allocatable={GPU: "8"}),
        asking("p", {GPU: "1"}),
        options=["--profile", "1.35"],
    )
    assert found["gate"] == {"name": "DRAExtendedResource", "stage": "alpha", "on": False}
    assert found["workloads"][0]["answer"] == "change"


def test_kubelets_that_are_too_old_are_named(tmp_path: Path) -> None:
    old = node("old", allocatable={GPU: "8"}, kubelet={"version": "v1.35.9"})
    found = answered(tmp_path, serving(), old, node("new", allocatable={GPU: "8"}))
    assert [
        (one["code"], one["subject"]) for one in found["losses"] if one["rank"] == "blocks"
    ] == [("GateOff", "old")]


def test_two_classes_that_select_different_devices(tmp_path: Path) -> None:
    newer = serving("mig.nvidia.com", kind="mig", creationTimestamp="2026-11-22T11:30:00Z")
    found = answered(
        tmp_path, serving(), newer, node("n"), gpus("n", 2), node("m"), gpus("m", 3, "mig")
    )
    (resource,) = found["resources"]
    assert resource["served"]["class"] == "mig.nvidia.com"
    assert codes(resource) == ["TwoClasses"]


def test_a_pod_that_has_devices_by_dra_is_done(tmp_path: Path) -> None:
    pod = asking("p", {GPU: "1"}, nodeName="n")
    pod["status"] = {"phase": "Running", "extendedResourceClaimStatus": {"resourceClaimName": "c"}}
    found = answered(tmp_path, serving(), node("n"), gpus("n", 1), pod, status=0)
    assert found["workloads"][0]["answer"] == "done"


def test_priority_over_devices_ends(tmp_path: Path) -> None:
    found = answered(
        tmp_path,
        serving(),
        node("n", allocatable={GPU: "8"}),
        asking("high", {GPU: "1"}, priority=100),
        asking("low", {GPU: "1"}),
    )
    lost = {one["name"]: codes(one, "breaks") for one in found["workloads"]}
    assert lost == {"high": ["Preemption"], "low": []}


UNKNOWN = [
    pytest.param("example.com/fpga", "UnknownResource", id="no driver is known"),
    pytest.param("aws.amazon.com/neuroncore", "FractionOfDevice", id="a part of a device"),
    pytest.param("rdma/hca", "ReplicasLost", id="shared by any number"),
    pytest.param("gpu.intel.com/xe_monitoring", "AdminAccess", id="access beside others"),
]


@pytest.mark.parametrize(("resource", "code"), UNKNOWN)
def test_what_no_device_stands_for_stays_on_its_plugin(
    tmp_path: Path, resource: str, code: str
) -> None:
    found = answered(tmp_path, node("n", allocatable={resource: "4"}), asking("p", {resource: "1"}))
    (row,) = found["resources"]
    assert [one["code"] for one in row["losses"]] == [code]
    assert (row["then"], found["workloads"][0]["answer"]) == (0, "unknown")


def test_a_class_can_be_named_for_a_resource(tmp_path: Path) -> None:
    found = answered(
        tmp_path,
        serving("fpga", "example.com/other"),
        node("n", allocatable={"example.com/fpga": "4"}),
        asking("p", {"example.com/fpga": "1"}),
        options=["--map", "example.com/fpga=fpga", "--resource", "example.com/fpga"],
    )
    assert found["workloads"][0]["answer"] == "change"


def test_workloads_of_files_are_read_as_the_api_server_stores_them(tmp_path: Path) -> None:
    file = tmp_path / "deployment.yaml"
    file.write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: serve}\n"
        "spec:\n  replicas: 3\n  template:\n    spec:\n"
        "      nodeName: node-1\n"
        "      containers: [{name: main, image: a, resources: {limits: {nvidia.com/gpu: 2}}}]\n"
    )
    found = answered(
        tmp_path, serving(), node("n", allocatable={GPU: "8"}), options=["-f", str(file)]
    )
    (workload,) = found["workloads"]
    assert (workload["pods"], workload["asks"]) == (3, {GPU: 2})
    assert codes(workload) == ["SchedulerBypass"]


def test_a_snapshot_without_labels_leaves_sharing_open(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write(snapshot(serving(), node("n", SHARED, allocatable={GPU: "32"})))
    assert "kubectl dra snapshot --with migration" in desk.run("migrate", "report", status=2)


def test_the_same_cluster_gives_the_same_bytes(tmp_path: Path) -> None:
    manifests = [serving(), node("b", allocatable={GPU: "2"}), node("a", allocatable={GPU: "2"})]
    manifests += [asking(f"p-{i}", {GPU: "1"}) for i in range(5)]
    one, other = (
        json.dumps(answered(tmp_path, *found, status=0)) for found in (manifests, manifests[::-1])
    )
    assert one == other


def test_what_stays_on_its_plugin_loses_nothing(tmp_path: Path) -> None:
    cores = "aws.amazon.com/neuroncore"
    spec: dict[str, Any] = {
        "schedulerName": "volcano",
        "nodeSelector": {"nvidia.com/gpu.present": "true"},
    }
    pod = asking("p", {cores: "64"}, nodeName="n", owner=("ReplicaSet", "p-5d8f"), **spec)
    found = answered(tmp_path, node("n", allocatable={cores: "128"}), pod)
    (row,) = found["workloads"]
    assert (row["answer"], [one["code"] for one in row["losses"]]) == (
        "unknown",
        ["FractionOfDevice"],
    )
