"""Recorded machines: files, nodes made of them, recordings, and what cannot be told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman_toolkit.shapes import known
from dragoman_toolkit.shapes.nodes import INSTANCE_TYPE, NodeOptions, node_of, slices_of, trees
from dragoman_toolkit.shapes.nodes import devices as devices_of
from dragoman_toolkit.shapes.record import recorded
from dragoman_toolkit.shapes.shape import Shape, ShapeError, parse
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import device_class

SOURCES = Path(__file__).parents[5] / "shared/reference/shapes"
SHIPPED = known.every()


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the recorded sources are not at hand")
def test_each_shipped_shape_equals_its_recorded_source() -> None:
    recordings = {one.name: yaml.safe_load(one.read_text()) for one in SOURCES.iterdir()}
    shipped = {one.name: yaml.safe_load(one.read_text()) for one in known.SHIPPED.iterdir()}
    assert shipped == recordings
    assert len(shipped) >= 14


@pytest.mark.parametrize("shape", SHIPPED, ids=lambda one: one.name)
def test_each_pool_of_a_shipped_shape_names_its_source(shape: Shape) -> None:
    assert all(pool.source and pool.devices for pool in shape.pools)


def rebuilt(shape: Shape, name: str = "node-1") -> tuple[Any, list[Any]]:
    node, *slices = trees(shape, [name], NodeOptions())
    return node, slices


@pytest.mark.parametrize("shape", SHIPPED, ids=lambda one: one.name)
def test_a_recording_of_a_node_of_a_shape_has_the_same_devices(shape: Shape) -> None:
    node, slices = rebuilt(shape)
    _, twin = rebuilt(shape, "node-2")
    again = parse(recorded("again", node, slices, [twin]), "again")
    for pool in again.pools:
        origin = next(one for one in shape.pools if one.driver == pool.driver)
        found = {str(one["name"]): one for one in pool.devices}
        assert len(found) == origin.total
        assert set(pool.unknown) == set(origin.unknown)
        for one in origin.devices:
            assert found[str(one["name"])].get("attributes", {}) == one.get("attributes", {})
            assert found[str(one["name"])].get("capacity", {}) == one.get("capacity", {})
        for attribute, groups in origin.equalities.items():
            assert sorted(map(sorted, pool.equalities[attribute])) == sorted(map(sorted, groups))


def recording(*specs: Any, twins: Any = ()) -> Shape:
    node = {"metadata": {"name": "n"}}
    slices = [{"spec": {"driver": "d", **one}} for one in specs]
    others = [[{"spec": {"driver": "d", **one}} for one in twin] for twin in twins]
    return parse(yaml.safe_load(yaml.safe_dump(recorded("x", node, slices, others))), "x")


def published(pool: str, *devices: Any, **more: Any) -> Any:
    return {"pool": {"name": pool, "resourceSliceCount": 1, **more}, "devices": [*devices]}


def test_a_recording_has_all_pools_of_a_driver_each_of_its_newest_generation() -> None:
    found = recording(
        published("old", {"name": "a"}, generation=1),
        published("new", {"name": "gone"}, generation=6),
        published("new", {"name": "b"}, generation=7),
    )
    assert [[one["name"] for one in pool.devices] for pool in found.pools] == [["a"], ["b"]]
    assert all(pool.complete for pool in found.pools)
    assert [pool.name for pool in found.pools] == ["", "2"]


def test_pools_of_a_driver_may_have_devices_of_one_name() -> None:
    found = recording(
        published("node-1-near", {"name": "gpu-0", "attributes": {"uuid": {"string": "one"}}}),
        published("node-1-far", {"name": "gpu-0", "attributes": {"uuid": {"string": "two"}}}),
    )
    _, slices = rebuilt(found, "n")
    assert [one["spec"]["pool"]["name"] for one in slices] == ["n", "n-2"]
    assert len({one["metadata"]["name"] for one in slices}) == 2
    values = {one["spec"]["devices"][0]["attributes"]["uuid"]["string"] for one in slices}
    assert len(values) == 2


def test_attributes_with_several_values_are_recorded() -> None:
    def devices(ends: str) -> list[Any]:
        return [
            {"name": name, "attributes": {"nodes": {"ints": [0, 1]}, "peers": {"strings": [end]}}}
            for name, end in zip("ab", ends, strict=True)
        ]

    (pool,) = recording(
        published("p", *devices("xy")), twins=[[published("p", *devices("vw"))]]
    ).pools
    assert pool.unknown == {"peers": "strings"}
    assert pool.common["attributes"] == {"nodes": {"ints": [0, 1]}}
    made = [one["attributes"]["peers"]["strings"] for one in devices_of(pool, "n")]
    assert made[0] != made[1]


def test_a_recording_names_no_machine_in_the_domain_of_its_driver() -> None:
    uuid = {"d/uuid": {"string": "GPU-1"}, "serial": {"string": "7"}, "model": {"string": "m"}}
    (pool,) = recording(published("p", {"name": "a", "attributes": uuid})).pools
    assert pool.unknown == {"d/uuid": "string", "serial": "string"}


@pytest.mark.parametrize(
    "spec",
    [
        {"pool": None, "devices": 5},
        {"pool": {"generation": "7"}, "devices": [None, {}, {"name": "a", "attributes": 5}]},
        {"devices": [{"name": "a", "attributes": {"x": None, "uuid": {}}, "capacity": []}]},
    ],
)
def test_what_is_malformed_in_a_slice_is_not_recorded(spec: Any) -> None:
    (pool,) = recording(spec).pools
    assert all(one.get("attributes", {}) == {} for one in pool.devices)


def test_unknown_values_are_alike_within_a_group_and_on_no_other_node() -> None:
    shape = known.named("trn2.48xlarge")
    values: dict[str, list[str]] = {}
    for name in ("a", "b"):
        _, slices = rebuilt(shape, name)
        for one in (device for part in slices for device in part["spec"]["devices"]):
            value = one["attributes"]["resource.aws.com/devicegroup4_id"]["string"]
            values.setdefault(value, []).append(f"{name}/{one['name']}")
    assert sorted(map(len, values.values())) == [4] * 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "Other"}, "apiVersion and kind"),
        ({"extra": 1}, "extra: unknown field"),
        ({"pools": []}, "pools: expected at least one pool"),
        ({"pools": [{"driver": "d"}, {"driver": "d"}]}, "pools of one driver with different names"),
        ({"pools": [{"driver": "d", "name": "A/b"}]}, "pools[0].name: expected small letters"),
        ({"pools": [{}]}, "pools[0].driver"),
        ({"pools": [{"driver": "d", "devices": [{}]}]}, "pools[0].devices[0].name"),
        (
            {"pools": [{"driver": "d", "common": {"attributes": {"a": {"int": "1"}}}}]},
            "pools[0].common.attributes.a",
        ),
        ({"pools": [{"driver": "d", "notRecorded": {"a": "float"}}]}, "pools[0].notRecorded.a"),
        (
            {
                "pools": [
                    {"driver": "d", "equalities": [{"attribute": "a", "groups": [["x"]]}]},
                ]
            },
            "equalities[0].groups",
        ),
        (
            {"pools": [{"driver": "d", "equalities": [{"attribute": "a", "groups": [[[]]]}]}]},
            "equalities[0].groups",
        ),
        ({"pools": [{"driver": "d", "notRecorded": {"a": ["int"]}}]}, "pools[0].notRecorded.a"),
        (
            {"pools": [{"driver": "d", "common": {"attributes": {"a": {"ints": [1, "2"]}}}}]},
            "pools[0].common.attributes.a",
        ),
        ({"metadata": {"name": "a b"}}, "metadata.name"),
        ({"devicePlugin": {"x": "8"}}, "devicePlugin.x"),
    ],
)
def test_an_error_names_the_field(change: dict[str, Any], message: str) -> None:
    good = yaml.safe_load((known.SHIPPED / "aws-p5.48xlarge.yaml").read_text())
    with pytest.raises(ShapeError, match=r"f\.yaml: ") as raised:
        parse({**good, **change}, "f.yaml")
    assert message in str(raised.value)


def pair(constraint: str = "", driver: str = "dra.net", count: int = 1) -> list[Any]:
    requests = [
        {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}},
        {"name": "nic", "exactly": {"deviceClassName": driver}},
    ]
    return claims(requests, constraint, count)


def claims(requests: list[Any], constraint: str = "", count: int = 1) -> list[Any]:
    devices: dict[str, Any] = {"requests": requests}
    if constraint:
        devices["constraints"] = [{"matchAttribute": constraint}]
    container = {"name": "c", "resources": {"claims": [{"name": "d"}]}}
    spec = {
        "containers": [container],
        "resourceClaims": [{"name": "d", "resourceClaimTemplateName": "devices"}],
    }
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "devices"},
            "spec": {"spec": {"devices": devices}},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j"},
            "spec": {
                "parallelism": count,
                "completions": count,
                "template": {"spec": {**spec, "restartPolicy": "Never"}},
            },
        },
    ]


NEURON = "neuron.aws.com"
CLASSES = [device_class(one, one) for one in ("gpu.nvidia.com", "dra.net", NEURON)]


def simulated(folder: Path, node: str, manifests: list[Any], status: int) -> tuple[Any, str]:
    desk = Desk(folder, *CLASSES)
    job = folder / "job.yaml"
    job.write_text(yaml.safe_dump_all(manifests))
    arguments = ("simulate", "-f", job, "--add-node", node)
    return desk.document(*arguments, status=status), desk.run(*arguments, status=status)


ROOT = "resource.kubernetes.io/pcieRoot"


@pytest.mark.parametrize(("count", "placed"), [(4, 4), (5, 4)])
def test_pairs_of_one_root_fit_as_often_as_the_machine_has_them(
    tmp_path: Path, count: int, placed: int
) -> None:
    found, said = simulated(
        tmp_path, "type=p4d.24xlarge", pair(ROOT, count=count), int(count > placed)
    )
    assert found["placed"] == placed
    assert "driver 580.126.9; cpu and memory are not checked" in said


@pytest.mark.parametrize(("count", "placed"), [(4, 1), (5, 0)])
def test_groups_of_unknown_values_answer_constraints(
    tmp_path: Path, count: int, placed: int
) -> None:
    requests = [{"name": "neuron", "exactly": {"deviceClassName": NEURON, "count": count}}]
    manifests = claims(requests, "resource.aws.com/devicegroup4_id")
    found, _ = simulated(tmp_path, "type=trn2.48xlarge", manifests, 1 - placed)
    assert found["placed"] == placed


def test_a_selector_on_an_unknown_value_leaves_the_question_open(tmp_path: Path) -> None:
    expression = "device.attributes['gpu.nvidia.com'].uuid == 'GPU-1'"
    exactly = {
        "deviceClassName": "gpu.nvidia.com",
        "selectors": [{"cel": {"expression": expression}}],
    }
    _, said = simulated(
        tmp_path, "type=p5.48xlarge", claims([{"name": "g", "exactly": exactly}]), 2
    )
    assert "can not tell: uuid is not recorded in shape aws-p5.48xlarge" in said


def test_a_constraint_that_hangs_on_devices_that_were_not_recorded_is_open(
    tmp_path: Path,
) -> None:
    requests = [{"name": "neuron", "exactly": {"deviceClassName": "dra.net", "count": 2}}]
    _, said = simulated(tmp_path, "type=trn1.32xlarge", claims(requests, "dra.net/fabric"), 2)
    assert "can not tell: shape aws-trn1.32xlarge does not have seven of eight" in said


def test_labels_taints_room_and_drivers_of_a_virtual_node_can_be_chosen(tmp_path: Path) -> None:
    node = (
        "type=p4d.24xlarge,count=2,label=pool=gpu,taint=gpu=yes:NoSchedule,"
        "allocatable.cpu=8,drivers=gpu.nvidia.com,dra.net"
    )
    found, _ = simulated(tmp_path, node, pair(ROOT), 1)
    nodes = [one for one in found["virtual"] if one["kind"] == "Node"]
    assert [one["metadata"]["labels"]["pool"] for one in nodes] == ["gpu", "gpu"]
    assert nodes[0]["status"]["allocatable"]["cpu"] == "8"
    assert nodes[0]["spec"]["taints"][0]["key"] == "gpu"
    assert len(found["virtual"]) == 6


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("type=a3-highgpu-8g", "no shape of a3-highgpu-8g is recorded; did you mean a2-highgpu-1g"),
        ("type=p5.48xlarge,count=0", "count: expected a number from 1 to 1000"),
        ("type=p5.48xlarge,size=2", "unknown or repeated key 'size'"),
        ("type=p5.48xlarge,drivers=x", "aws-p5.48xlarge has compute-domain.nvidia.com"),
        ("type=p5.48xlarge,source=x", "source: expected dra or plugin"),
        ("type=p5.48xlarge,taint=x", "taint: expected KEY[=VALUE]:EFFECT"),
    ],
)
def test_a_bad_virtual_node_names_what_was_expected(
    tmp_path: Path, node: str, message: str
) -> None:
    desk = Desk(tmp_path, *CLASSES)
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump_all(pair()))
    result = invoke("simulate", "-f", job, "--add-node", node, "--snapshot", desk.file)
    assert (result.exit_code, message in result.output) == (2, True), result.output


def test_annotations_for_the_autoscaler_of_cluster_api(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *CLASSES)
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump_all(pair()))
    text = desk.run(*("simulate", "-f", job, "--add-node", "type=p5.48xlarge", "-o", "shape-capi"))
    found = yaml.safe_load(text)["metadata"]["annotations"]
    prefix = "capacity.cluster-autoscaler.kubernetes.io"
    assert found[f"{prefix}/dra-driver"] == "gpu.nvidia.com"
    assert (found[f"{prefix}/gpu-count"], found[f"{prefix}/memory"]) == ("8", "2048Gi")
    node = "type=trn1.32xlarge,label=a=b,taint=gpu=x:NoSchedule,allocatable.cpu=4"
    result = invoke(
        *("simulate", "-f", job, "--add-node", node, "-o", "shape-capi", "--snapshot", desk.file)
    )
    found = yaml.safe_load(result.stdout)["metadata"]["annotations"]
    assert {key.removeprefix(f"{prefix}/"): value for key, value in found.items()} == {
        "dra-driver": "dra.net",
        "gpu-count": "8",
        "cpu": "4",
        "labels": "node.kubernetes.io/instance-type=trn1.32xlarge,kubernetes.io/arch=amd64,a=b",
        "taints": "gpu=x:NoSchedule",
    }
    assert "aws-trn1.32xlarge has no memory, without which the autoscaler" in result.stderr


def test_nodes_and_slices_of_a_shape_keep_the_limits_of_the_api() -> None:
    """Names of machines need not be labels, and a slice has at most 8 counter sets."""
    sets = tuple({"name": f"s{at}", "counters": {"m": {"value": "1"}}} for at in range(9))
    pool = replace(known.named("intel-gaudi2-x2").pools[0], counters=sets)
    shape = replace(known.named("intel-gaudi2-x2"), pools=(pool,))
    found = [one["spec"].get("sharedCounters", ()) for one in slices_of(shape, "n")]
    assert [len(one) for one in found] == [8, 1, 0]
    assert INSTANCE_TYPE not in node_of(shape, "n", NodeOptions())["metadata"]["labels"]


def test_shapes_are_listed_shown_and_recorded(tmp_path: Path) -> None:
    listed = invoke("shapes", "list").output
    assert all(one.name in listed for one in SHIPPED)
    shown = yaml.safe_load(invoke("shapes", "show", "p5.48xlarge", "-o", "yaml").output)
    assert shown["metadata"]["name"] == "aws-p5.48xlarge"
    node, slices = rebuilt(known.named("aws-p4d.24xlarge"))
    desk = Desk(tmp_path, node, *slices)
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.yaml").write_text(desk.run("shapes", "record", "node-1", "--name", "mine"))
    again = known.named("mine", own)
    assert [pool.total for pool in again.pools] == [4, 8]
    assert "mine" in invoke("shapes", "list", "--shapes", own).output
    assert invoke("shapes", "list", "--shapes", tmp_path / "none").exit_code == 2
