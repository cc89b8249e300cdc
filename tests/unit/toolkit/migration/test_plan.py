"""What `kubectl dra migrate plan` says of nodes, and what it writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_toolkit.migration.steps import COUNTS, SOURCE
from tests.support.dra import Desk, invoke
from tests.support.worlds.plugins import GPU, asking, cluster, gpus, node, serving

OWNED: dict[str, Any] = {"owner": ("ReplicaSet", "serve-6c9f")}
KEPT = f"{COUNTS}nvidia.com.gpu"
FORWARD = [
    *("cordon", "evict", "wait-empty", "source-none", "wait-gone", "source-dra"),
    *("wait-devices", "uncordon", "check"),
]
BACK = [
    *("cordon", "evict", "wait-empty", "wait-free", "source-none", "wait-no-slices"),
    *("source-plugin", "wait-resource", "uncordon", "check"),
]


def planned(folder: Path, *manifests: Any, options: Any = (), status: int = 0) -> Any:
    desk = Desk(folder)
    desk.write(cluster(*manifests))
    return desk.document("migrate", "plan", *options, status=status)


def does(row: Any) -> list[str]:
    return [one["does"] for one in row["steps"]]


def labelled(source: str, name: str = "n", **more: Any) -> Any:
    """Make a node that a plan has begun to move: two GPUs, each shared by four pods."""
    cordoned = more.pop("cordoned", True)
    made = node(name, {SOURCE: source, KEPT: "2x4"}, **more)
    made["spec"] = {"unschedulable": cordoned}
    return made


def claiming(name: str, resource: str = GPU) -> list[Any]:
    """Make a pod on `n` that holds `gpu-0` by the claim that the scheduler made for it."""
    pod = asking(name, {resource: "1"}, nodeName="n", **OWNED)
    claim = f"{name}-extended-resources-abc"
    pod["status"] = {
        "phase": "Running",
        "extendedResourceClaimStatus": {"resourceClaimName": claim, "requestMappings": []},
    }
    return [pod, held(claim, pod)]


def held(name: str, pod: Any) -> Any:
    metadata = pod["metadata"]
    result = {"request": "r", "driver": "gpu.nvidia.com", "pool": "n", "device": "gpu-0"}
    consumer = {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": metadata["namespace"], "uid": f"uid-{name}"},
        "spec": {
            "devices": {
                "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]
            }
        },
        "status": {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]},
    }


FROM = [
    pytest.param([node("n", allocatable={GPU: "8"})], [s for s in FORWARD if s != "evict"]),
    pytest.param(
        [node("n", allocatable={GPU: "8"}), asking("p", {GPU: "1"}, nodeName="n", **OWNED)],
        FORWARD,
    ),
    pytest.param([labelled("none")], FORWARD[4:]),
    pytest.param([labelled("none", allocatable={GPU: "8"})], FORWARD[4:]),
    pytest.param([labelled("dra")], FORWARD[6:]),
    pytest.param([labelled("dra"), gpus("n", 1)], FORWARD[6:]),
    pytest.param([labelled("dra"), gpus("n", 2)], FORWARD[7:]),
    pytest.param([labelled("dra", cordoned=False), gpus("n", 2)], []),
    pytest.param(
        [node("n", allocatable={GPU: "8"}), gpus("n", 8)],
        ["source-none", "cordon", "wait-empty", *FORWARD[4:]],
    ),
]
FROM_NAMES = [
    *("plug-in without pods", "plug-in", "between", "ending", "starting", "half published"),
    *("published", "done", "both"),
]


@pytest.mark.parametrize(("manifests", "expected"), FROM, ids=FROM_NAMES)
def test_a_plan_goes_on_where_a_node_is(
    tmp_path: Path, manifests: list[Any], expected: list[str]
) -> None:
    found = planned(tmp_path, serving(), *manifests)
    assert [one for row in found["nodes"] for one in does(row)] == expected
    assert found["done"] == ([] if expected else ["n"])


BACK_FROM = [
    pytest.param([labelled("dra", cordoned=False), gpus("n", 2), *claiming("p")], BACK),
    pytest.param([labelled("none"), gpus("n", 2)], BACK[5:]),
    pytest.param([labelled("none")], BACK[5:]),
    pytest.param([labelled("plugin")], BACK[7:]),
    pytest.param([labelled("plugin", allocatable={GPU: "2"})], BACK[7:]),
    pytest.param([labelled("plugin", allocatable={GPU: "8"})], BACK[8:]),
    pytest.param([labelled("plugin", cordoned=False, allocatable={GPU: "8"})], []),
    pytest.param([node("n", allocatable={GPU: "8"})], []),
]
BACK_NAMES = [
    *("DRA", "ending", "between", "starting", "half counted", "counted", "done", "never left"),
]


@pytest.mark.parametrize(("manifests", "expected"), BACK_FROM, ids=BACK_NAMES)
def test_the_way_back_goes_on_where_a_node_is(
    tmp_path: Path, manifests: list[Any], expected: list[str]
) -> None:
    found = planned(tmp_path, serving(), *manifests, options=["--back"])
    assert [one for row in found["nodes"] for one in does(row)] == expected


def test_steps_wait_for_the_counts_of_the_node(tmp_path: Path) -> None:
    shared = {"nvidia.com/gpu.replicas": "4"}
    (row,) = planned(tmp_path, serving(), node("n", shared, allocatable={GPU: "8"}))["nodes"]
    steps = {one["does"]: one for one in row["steps"]}
    assert row["resources"] == {GPU: {"now": 8, "then": 2, "devices": 0}}
    assert steps["wait-devices"]["wait"]["until"] == ["2"]
    assert steps["source-none"]["command"].endswith(f"{SOURCE}=none {KEPT}=2x4")
    (row,) = planned(tmp_path, serving(), labelled("dra"), gpus("n", 2), options=["--back"])[
        "nodes"
    ]
    steps = {one["does"]: one for one in row["steps"]}
    assert steps["wait-resource"]["wait"]["until"] == ["8"]


def test_a_pod_with_its_own_claim_stops_the_way_back(tmp_path: Path) -> None:
    pod = asking("own", {}, nodeName="n", **OWNED)
    pod["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "mine"}]
    pod["status"] = {"phase": "Running"}
    found = planned(
        tmp_path,
        serving(),
        labelled("dra", cordoned=False),
        gpus("n", 2),
        pod,
        held("mine", pod),
        options=["--back"],
        status=1,
    )
    (row,) = found["nodes"]
    assert (row["steps"], row["held"]) == ([], 1)
    assert row["stops"] == ["cannot go back: ml/own has claims of its own, which no plug-in serves"]


def test_a_pod_that_nothing_makes_again_stops_its_node(tmp_path: Path) -> None:
    manifests = [
        serving(),
        node("n", allocatable={GPU: "8"}),
        asking("debug", {GPU: "1"}, nodeName="n"),
    ]
    (row,) = planned(tmp_path, *manifests, status=1)["nodes"]
    assert row["steps"] == []
    assert "ml/debug has no controller" in row["stops"][0]
    (row,) = planned(tmp_path, *manifests, options=["--delete-unmanaged"])["nodes"]
    assert row["steps"][1]["command"].endswith("--force")


def test_a_pod_that_drain_rejects_stops_its_node(tmp_path: Path) -> None:
    manifests = [
        *(serving(), node("n", allocatable={GPU: "8"})),
        asking("p", {GPU: "1"}, nodeName="n", **OWNED),
        asking("bare", {"cpu": "1"}, nodeName="n"),
    ]
    (row,) = planned(tmp_path, *manifests, status=1)["nodes"]
    assert row["stops"] == [
        "kubectl drain rejects ml/bare: no controller (--delete-unmanaged deletes it)"
    ]
    (row,) = planned(tmp_path, *manifests, options=["--delete-unmanaged"])["nodes"]
    assert row["steps"][1]["command"].endswith("--force")
    # Nothing is drained where no pod has to leave.
    (row,) = planned(tmp_path, *manifests[:2], manifests[3])["nodes"]
    assert (row["stops"], does(row)[1]) == ([], "wait-empty")


def test_nodes_alike_are_listed_together_until_one_is_named(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    nodes = [node(f"n{number}", allocatable={GPU: "8"}) for number in range(5)]
    pods = [asking(f"p{number}", {GPU: "8"}, nodeName=f"n{number}", **OWNED) for number in (3, 4)]
    desk.write(cluster(serving(), *nodes, *pods, labelled("dra", "z"), gpus("z", 2)))
    said = desk.run("migrate", "plan")
    assert "Batch 1: z (dra; nvidia.com/gpu 2 -> 2)\n  steps: uncordon, check" in said
    assert "Batches 2 to 4: 3 nodes: n0, n1, n2 (plugin; nvidia.com/gpu 8 -> 8)" in said
    assert "Batches 5 to 6: 2 nodes: n3, n4 (plugin; nvidia.com/gpu 8 -> 8)\n  2 pods leave" in said
    assert "Commands for z: kubectl dra migrate plan z; for all: -o wide" in said
    assert "kubectl cordon" not in said
    assert desk.run("migrate", "plan", "-o", "wide").count("$ kubectl cordon") == 5
    assert "$ kubectl cordon n1" in desk.run("migrate", "plan", "n1")


def test_a_pod_of_a_daemonset_leaves_when_the_plugin_is_gone(tmp_path: Path) -> None:
    pod = asking("agent", {GPU: "1"}, nodeName="n", owner=("DaemonSet", "agent"))
    (row,) = planned(tmp_path, serving(), node("n", allocatable={GPU: "8"}), pod)["nodes"]
    assert does(row)[:5] == ["cordon", "source-none", "wait-gone", "evict", "source-dra"]


def test_nodes_go_from_the_one_that_hurts_least(tmp_path: Path) -> None:
    both = node("z", allocatable={GPU: "8"})
    many = [asking(f"p{i}", {GPU: "1"}, nodeName="a", **OWNED) for i in range(3)]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard", "namespace": "ml", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
        "status": {"disruptionsAllowed": 0, "observedGeneration": 1},
    }
    guarded = asking("guarded", {GPU: "1"}, nodeName="c", **OWNED)
    guarded["metadata"]["labels"]["app"] = "guarded"
    guarded["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    plugins = [node(name, allocatable={GPU: "8"}) for name in "abc"]
    begun = labelled("none", "y")
    found = planned(
        tmp_path, serving(), *plugins, both, gpus("z", 1), begun, *many, guarded, budget, status=1
    )
    assert [one["name"] for one in found["nodes"]] == ["z", "y", "b", "a", "c"]
    assert [pod["budget"] for pod in found["nodes"][-1]["evicts"]] == ["blocked"]


def test_pods_that_fit_nowhere_else_wait_for_their_node(tmp_path: Path) -> None:
    pods = [
        asking(f"{name}{i}", {GPU: "1"}, nodeName=name, **OWNED) for name in "ab" for i in range(2)
    ]
    nodes = [
        node(name, allocatable={GPU: count, "pods": "9"})
        for name, count in (("a", "2"), ("b", "3"))
    ]
    found = planned(tmp_path, serving(), *nodes, *pods)["nodes"]
    # One pod of `a` fits on `b`, and of the three that are there then one fits on `a`.
    assert [(one["name"], one["waits"]) for one in found] == [
        ("a", {"pods": 1, "until": "a"}),
        ("b", {"pods": 2, "until": "b"}),
    ]
    (one, other) = planned(tmp_path, serving(), *nodes, *pods, options=["--batch", "2"])["nodes"]
    assert (one["batch"], other["batch"], one["waits"]["pods"]) == (1, 1, 4)


def test_a_node_that_is_not_ready_is_left_out(tmp_path: Path) -> None:
    ill = node("n", allocatable={GPU: "8"})
    ill["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    found = planned(tmp_path, serving(), ill)
    assert (found["nodes"], found["notes"]) == ([], ["n is not Ready: it is left out"])
    others = [{**ill, "metadata": {**ill["metadata"], "name": f"n{n}"}} for n in range(7)]
    assert planned(tmp_path, serving(), *others)["notes"] == [
        "n0, n1, n2, n3, n4 and 2 more are not Ready: they are left out"
    ]


def test_an_operator_that_runs_the_plugin_is_told_by_its_label(tmp_path: Path) -> None:
    operated = node("n", {"nvidia.com/gpu.deploy.device-plugin": "true"}, allocatable={GPU: "8"})
    (row,) = planned(tmp_path, serving(), operated)["nodes"]
    commands = [one["command"] for one in row["steps"] if one["does"] == "source-none"]
    assert commands[0].endswith("nvidia.com/gpu.deploy.device-plugin=false")


def test_a_node_that_is_not_there_is_named(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write(cluster(serving(), node("node-1", allocatable={GPU: "8"})))
    result = invoke("migrate", "plan", "node-2", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert "there is no node node-2; did you mean node-1?" in result.output


def test_files_are_equal_and_never_replaced_unasked(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    mig = "nvidia.com/mig-1g.10gb"
    desk.write(cluster(serving(), node("n", allocatable={GPU: "8", mig: "7"})))
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other, one):
        desk.run("migrate", "plan", "--output-dir", folder)
    files = {path.name: path.read_bytes() for path in one.iterdir()}
    assert files == {path.name: path.read_bytes() for path in other.iterdir()}
    assert sorted(files) == [
        *("STEPS.md", "classes.yaml", "driver-values.yaml", "kustomization.yaml"),
        *("plan.json", "plugin-values.yaml"),
    ]
    assert json.loads(files["plan.json"])["kind"] == "MigrationPlan"
    (one / "STEPS.md").write_text("mine")
    assert (
        "--force replaces it"
        in invoke("migrate", "plan", "--output-dir", one, "--snapshot", desk.file).output
    )
    assert (one / "STEPS.md").read_text() == "mine"
    desk.run("migrate", "plan", "--output-dir", one, "--force")
    assert (one / "STEPS.md").read_bytes() == files["STEPS.md"]


ODD = (
    {"kind": "Node"},
    {"kind": "Node", "metadata": 5, "status": [], "spec": "x"},
    {"kind": "Node", "metadata": {"name": "x", "labels": 7}, "spec": {"taints": 5}},
    {"kind": "Node", "metadata": {"name": "y"}, "status": {"allocatable": [], "conditions": 7}},
    {"kind": "DeviceClass"},
    {"kind": "ResourceSlice", "metadata": {}},
    {"kind": "Pod", "metadata": {"name": "z", "namespace": "ml", "ownerReferences": 5}},
    {"kind": "Pod", "metadata": {"name": "w", "namespace": "ml"}, "spec": {"containers": 5}},
    {"kind": "PodDisruptionBudget", "spec": {"selector": []}},
    {"kind": "ResourceQuota", "metadata": 5},
)
"""Objects of files that no API server has."""


@pytest.mark.parametrize(
    "words",
    [
        ("migrate", "plan"),
        ("migrate", "report"),
        ("migrate", "classes"),
        ("shapes", "record", "n"),
        ("top", "queues"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_malformed_objects_of_a_snapshot_end_no_command(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    desk = Desk(tmp_path)
    desk.write(cluster(serving(), node("n", allocatable={GPU: "8"}), gpus("n", 2)))
    lines = "".join(f"{json.dumps(one)}\n" for one in ODD)
    desk.file.write_text(desk.file.read_text() + lines)
    result = invoke(*words, "--snapshot", desk.file)
    assert result.exit_code in (0, 1, 2)
    assert result.output
