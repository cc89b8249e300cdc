"""Workloads that users name, and the pods that they stand for in each command."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.inventory.snapshots.documents import selected_labels
from dragoman_toolkit.workloadkinds import KINDS
from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import CLASS, DRIVER, claim, device_class, held, pod, pool

Json = dict[str, Any]


def owned(name: str, kind: str, api: str, owner: str, *, node: str = "", **labels: str) -> Json:
    """Return a pod that an object made, and that uses a claim for two devices."""
    made = pod(name, claims={"gpu": "two"}, **({"node": node} if node else {}))
    made["metadata"]["labels"] = {key.replace("__", "/"): one for key, one in labels.items()}
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": api, "kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    ]
    made["status"] = {"phase": "Running" if node else "Pending"}
    return made


def labelled(name: str, label: str, value: str) -> Json:
    made = pod(name, claims={"gpu": "two"})
    made["metadata"]["labels"] = {label: value}
    return made


def cluster(*pods: Json, devices: int = 1) -> list[Json]:
    two = claim("two", count=2)
    return [objects.node("n"), device_class(), pool("n", devices), two, *pods]


WAITING = [
    pytest.param(
        "deploy/web", owned("web-7d9f-x", "ReplicaSet", "apps/v1", "web-7d9f"), id="Deployment"
    ),
    pytest.param("sts/db", owned("db-0", "StatefulSet", "apps/v1", "db"), id="StatefulSet"),
    pytest.param(
        "daemonset/agent", owned("agent-x", "DaemonSet", "apps/v1", "agent"), id="DaemonSet"
    ),
    pytest.param("jobs.batch/train", owned("train-x", "Job", "batch/v1", "train"), id="Job"),
    pytest.param(
        "cj/night", owned("night-29-x", "Job", "batch/v1", "night-29270000"), id="CronJob"
    ),
    pytest.param(
        "lws/llm", labelled("llm-0-1", "leaderworkerset.sigs.k8s.io/name", "llm"), id="LWS"
    ),
    pytest.param(
        "jobset/ring", labelled("ring-a-0", "jobset.sigs.k8s.io/jobset-name", "ring"), id="JobSet"
    ),
    pytest.param("raycluster/ray", labelled("ray-head", "ray.io/cluster", "ray"), id="RayCluster"),
    pytest.param(
        "rayjob/tune", owned("x-head", "RayCluster", "ray.io/v1", "tune-k2f9x"), id="RayJob"
    ),
    pytest.param(
        "pytorchjob/bert",
        owned("bert-worker-0", "PyTorchJob", "kubeflow.org/v1", "bert"),
        id="torch",
    ),
    pytest.param(
        "isvc/chat", labelled("chat-x", "serving.kserve.io/inferenceservice", "chat"), id="KServe"
    ),
    pytest.param(
        "vm/desk", owned("virt-x", "VirtualMachineInstance", "kubevirt.io/v1", "desk"), id="VM"
    ),
    pytest.param("workloads/job-train-0a1b2", owned("t-x", "Job", "batch/v1", "train"), id="Kueue"),
    pytest.param(
        "vcjob/mpi", owned("mpi-0", "Job", "batch.volcano.sh/v1alpha1", "mpi"), id="Volcano"
    ),
]


@pytest.mark.parametrize(("named", "waiting"), WAITING)
def test_a_workload_stands_for_its_pods_that_wait(
    tmp_path: Path, named: str, waiting: Json
) -> None:
    other = owned("other-x", "Job", "example.com/v1", named.partition("/")[2])
    desk = Desk(tmp_path, *cluster(waiting, other))
    found = desk.document("explain", named, "-n", "ns", status=1)
    assert found["name"] == waiting["metadata"]["name"]
    assert found["workload"]["pods"] == [found["name"]]
    assert found["answer"] == "NeverFits"


def test_a_replicaset_of_a_longer_name_is_of_another_deployment(tmp_path: Path) -> None:
    labels = {"pod-template-hash": "5d8f"}
    theirs = owned("web-api-5d8f-x", "ReplicaSet", "apps/v1", "web-api-5d8f", **labels)
    desk = Desk(tmp_path, *cluster(theirs))
    assert (
        desk.document("explain", "deploy/web-api", "-n", "ns", status=1)["name"] == "web-api-5d8f-x"
    )
    for other, near in (("web", ""), ("web-apo", "; did you mean deployment/web-api?")):
        result = invoke("explain", f"deploy/{other}", "-n", "ns", "--snapshot", desk.file)
        assert result.exit_code == 2
        assert result.stderr == f"Error: no pod of deployment ns/{other} found{near}\n"


def test_pods_alike_have_one_answer(tmp_path: Path) -> None:
    pods = [owned(f"train-{end}", "Job", "batch/v1", "train") for end in range(12)]
    runs = owned("train-12", "Job", "batch/v1", "train", node="n")
    desk = Desk(tmp_path, *cluster(*pods, runs))
    printed = desk.run("explain", "job", "train", "-n", "ns", status=1)
    first, *rest = printed.splitlines()
    assert first.startswith("Job ns/train: 12 waiting, 1 running. train-0, train-1")
    assert first.endswith("are alike; this is the answer for train-0.")
    assert sum("can never fit" in line for line in rest) == 1


def test_a_workload_whose_pods_run_says_what_they_have(tmp_path: Path) -> None:
    runs = owned("train-0", "Job", "batch/v1", "train", node="n")
    has = held(claim("two"), ("n", "device-0"), pods=[runs])
    desk = Desk(tmp_path, *cluster(runs)[:3], has, runs)
    printed = desk.run("explain", "job/train", "-n", "ns")
    assert printed.startswith("No pod of Job ns/train waits: 1 running.")
    assert f"{DRIVER}/n/device-0" in printed


def test_a_namespace_that_is_called_as_a_kind_is(tmp_path: Path) -> None:
    there = pod("train", "jobs")
    desk = Desk(tmp_path, *cluster(there))
    result = invoke("explain", "jobs/train", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert "for the pod of namespace jobs write `pod jobs/train`" in result.stderr
    assert "Pod jobs/train" in desk.run("explain", "pod", "jobs/train")


@pytest.mark.parametrize(
    "words",
    [
        ("pod/train-0",),
        ("ns/train-0",),
        ("train-0",),
        ("job/train",),
        ("pods", "ns/train-0"),
    ],
)
@pytest.mark.parametrize(
    "command", [("explain",), ("simulate",), ("preempt", "--dry-run"), ("defrag",)]
)
def test_all_commands_have_one_grammar(
    tmp_path: Path, command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    waiting = owned("train-0", "Job", "batch/v1", "train")
    desk = Desk(tmp_path, *cluster(waiting, devices=4))
    ran = invoke(*command, *words, "-n", "ns", "--snapshot", desk.file)
    assert "train-0" in ran.stdout
    assert ran.exit_code < 2


@pytest.mark.parametrize("command", ["explain", "simulate", "preempt", "defrag"])
def test_an_unknown_kind_names_those_that_are_known(tmp_path: Path, command: str) -> None:
    desk = Desk(tmp_path, *cluster())
    more = ["--dry-run"] if command == "preempt" else []
    ran = invoke(command, "deploymnt", "web", *more, "--snapshot", desk.file)
    assert ran.exit_code == 2
    assert 'unknown kind "deploymnt": kinds are pod, ' in ran.stderr
    assert 'did you mean "deployment"?' in ran.stderr


def test_more_pods_of_a_workload_that_runs(tmp_path: Path) -> None:
    runs = owned("web-7d9f-x", "ReplicaSet", "apps/v1", "web-7d9f", node="n")
    runs["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "pair"}]
    pair = objects.template("pair", "ns", CLASS, 2)
    desk = Desk(tmp_path, *cluster(runs, pair, devices=5))
    found = desk.document("simulate", "deploy/web", "-n", "ns", "--replicas", 3, status=1)
    assert (found["placed"], len(found["notPlaced"])) == (2, 1)
    ran = invoke("simulate", "deploy/web", "-n", "ns", "--snapshot", desk.file)
    assert (ran.exit_code, "--replicas N places N more" in ran.stderr) == (2, True)


def template_of(count: int, name: str = "set") -> Json:
    return objects.template(name, "ns", CLASS, count)


def jobset(name: str, workers: int) -> Json:
    """Return a JobSet with a leader and workers, for one device each."""

    def replicated(role: str, many: int) -> Json:
        spec = pod(templates={"gpu": "one"})["spec"]
        job = {"parallelism": many, "completions": many, "template": {"spec": spec}}
        return {"name": role, "replicas": 1, "template": {"spec": job}}

    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"replicatedJobs": [replicated("leader", 1), replicated("worker", workers)]},
    }


def deployment(name: str, replicas: int) -> Json:
    spec = pod(templates={"gpu": "one"})["spec"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"replicas": replicas, "template": {"spec": spec}},
    }


def simulated(tmp_path: Path, *manifests: Json, devices: int, status: int) -> Json:
    desk = Desk(tmp_path, *cluster(devices=devices))
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all([template_of(1, "one"), *manifests]))
    found: Json = desk.document("simulate", "-f", file, status=status)
    return found


def places(found: Json) -> list[tuple[str, int, int]]:
    return [(one["name"], one["placed"], len(one["notPlaced"])) for one in found["workloads"]]


def test_files_of_several_workloads_are_answered_one_by_one(tmp_path: Path) -> None:
    found = simulated(
        tmp_path, deployment("a", 2), jobset("ring", 3), deployment("b", 3), devices=4, status=1
    )
    # The gang takes nothing where it does not fit whole, so that what follows has room.
    assert places(found) == [
        ("Deployment ns/a", 2, 0),
        ("JobSet ns/ring", 0, 4),
        ("Deployment ns/b", 2, 1),
    ]


def test_a_gang_that_fits_is_placed_whole(tmp_path: Path) -> None:
    found = simulated(tmp_path, jobset("ring", 3), devices=4, status=0)
    assert places(found) == [("JobSet ns/ring", 4, 0)]
    assert found["workloads"][0]["allOrNone"]


def test_groups_of_a_leaderworkerset_are_placed_one_by_one(tmp_path: Path) -> None:
    spec = pod(templates={"gpu": "one"})["spec"]
    lws = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llm", "namespace": "ns"},
        "spec": {
            "replicas": 3,
            "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": spec}},
        },
    }
    found = simulated(tmp_path, lws, devices=5, status=1)
    assert places(found) == [("LeaderWorkerSet ns/llm", 4, 2)]


def test_pods_of_one_podgroup_are_one_gang(tmp_path: Path) -> None:
    pods = [pod(f"rank-{end}", templates={"gpu": "one"}) for end in range(3)]
    for one in pods:
        one["spec"]["schedulingGroup"] = {"podGroupName": "ranks"}
    found = simulated(tmp_path, *pods, devices=2, status=1)
    assert places(found) == [("PodGroup ns/ranks", 0, 3)]


def pod_group(**spec: Any) -> Json:
    about = {"name": "ranks", "namespace": "ns"}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": about,
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("group", "placed"),
    [
        pytest.param(pod_group(schedulingPolicy={"gang": {"minCount": 2}}), 2, id="two suffice"),
        pytest.param(pod_group(schedulingPolicy={"gang": {"minCount": 3}}), 0, id="all are needed"),
        pytest.param(pod_group(schedulingPolicy={"basic": {}}), 2, id="each is alone"),
        pytest.param(
            {**pod_group(minMember=2), "apiVersion": "scheduling.x-k8s.io/v1alpha1"},
            2,
            id="Coscheduling",
        ),
    ],
)
def test_a_podgroup_says_how_many_of_its_pods_are_needed(
    tmp_path: Path, group: Json, placed: int
) -> None:
    pods = [pod(f"rank-{end}", templates={"gpu": "one"}) for end in range(3)]
    for one in pods:
        one["spec"]["schedulingGroup"] = {"podGroupName": "ranks"}
    found = simulated(tmp_path, group, *pods, devices=2, status=1)
    assert sum(one["placed"] for one in found["workloads"]) == placed
    file = tmp_path / "group.yaml"
    file.write_text(yaml.safe_dump_all([template_of(1, "one"), group, *pods]))
    said = invoke("explain", "-f", file, "--snapshot", tmp_path / "cluster.jsonl").stdout
    enough = "PodGroup ns/ranks: 2 of 3 pods fit together; it needs 2 at once." in said
    assert enough is (placed == 2 and "basic" not in str(group))


def test_workloads_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    job = {**deployment("same", 1), "apiVersion": "batch/v1", "kind": "Job"}
    found = simulated(tmp_path, deployment("same", 2), job, devices=8, status=0)
    assert places(found) == [("Deployment ns/same", 2, 0), ("Job ns/same", 1, 0)]


def test_a_daemonset_has_a_pod_on_each_node_that_admits_it(tmp_path: Path) -> None:
    spec = pod(templates={"gpu": "one"})["spec"]
    made = {**deployment("agent", 1), "kind": "DaemonSet", "spec": {"template": {"spec": spec}}}
    nodes = [objects.node(name) for name in ("a", "b", "c")]
    nodes[2]["spec"] = {"taints": [{"key": "other", "effect": "NoSchedule"}]}
    desk = Desk(tmp_path, *nodes, device_class(), pool("a", 1), pool("c", 3))
    file = tmp_path / "daemons.yaml"
    file.write_text(yaml.safe_dump_all([template_of(1, "one"), made]))
    found = desk.document("simulate", "-f", file, status=1)
    assert [one["name"] for one in found["nodes"]] == ["a"]
    assert found["notPlaced"] == ["agent-b"]


def test_tests_of_a_chart_are_left_out(tmp_path: Path) -> None:
    smoke = pod("smoke", templates={"gpu": "one"})
    smoke["metadata"]["annotations"] = {"helm.sh/hook": "test"}
    desk = Desk(tmp_path, *cluster(devices=1))
    file = tmp_path / "chart.yaml"
    file.write_text(yaml.safe_dump_all([template_of(1, "one"), smoke, deployment("a", 1)]))
    ran = invoke("simulate", "-f", file, "--snapshot", desk.file)
    assert ran.exit_code == 0
    assert "left out, as only `helm test` creates it: Pod ns/smoke" in ran.stdout


def test_explain_says_whether_a_gang_fits_together(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *cluster(devices=4))
    file = tmp_path / "gang.yaml"
    for workers, fits in ((3, True), (4, False)):
        file.write_text(yaml.safe_dump_all([template_of(1, "one"), jobset("ring", workers)]))
        printed = desk.run("explain", "-f", file, status=int(not fits))
        said = "all 4 pods fit together" if fits else "its 5 pods do not all fit together"
        assert printed.startswith(f"JobSet ns/ring: {said}.")
        assert "Pod ns/ring-leader fits on 1 of 1 nodes" in printed


def test_limits_of_extended_resources_count_as_requests(tmp_path: Path) -> None:
    made = deployment("classic", 40)
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 2}}}
    made["spec"]["template"]["spec"] = {"containers": [container]}
    node = objects.node("n")
    for key in ("allocatable", "capacity"):
        node["status"][key] = {**node["status"][key], "nvidia.com/gpu": "8"}
    served = {
        **device_class(),
        "spec": {**device_class()["spec"], "extendedResourceName": "nvidia.com/gpu"},
    }
    file = tmp_path / "classic.yaml"
    file.write_text(yaml.safe_dump(made))
    for manifests in ([node], [objects.node("n"), served, pool("n", 8)]):
        desk = Desk(tmp_path, *manifests)
        found = desk.document("simulate", "-f", file, status=1)
        assert (found["placed"], len(found["notPlaced"])) == (4, 36)


def test_snapshots_keep_the_labels_by_which_pods_are_of_a_workload() -> None:
    assert {label for kind in KINDS.values() for label in kind.labels} <= selected_labels([])
