"""`kubectl dra explain` names who holds a pod back, and answers about devices all the same."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import manifests as objects
from tests.support.dra import Desk
from tests.support.manifests import Json
from tests.support.worlds.plugins import GPU, NVIDIA
from tests.support.worlds.queues import cluster_queue, devices, kueue, pod_of, workload

PODS = {
    "containers": [{"name": "main"}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}],
}


def waiting(reason: str = "Pending", message: str = "") -> list[Json]:
    return [
        {"type": "QuotaReserved", "status": "False", "reason": reason, "message": message or "no"}
    ]


def gated(*gates: str, count: int = 2, **more: Any) -> list[Json]:
    """Make a template and a pod of Job `train` with scheduling gates."""
    names = [{"name": one} for one in gates]
    pod = pod_of("train", 0, "", schedulingGates=names, **more)
    pod["spec"]["resourceClaims"] = PODS["resourceClaims"]
    return [objects.template("gpus", "ml", NVIDIA, count), pod]


ADMISSION = "kueue.x-k8s.io/admission"
STOPPED = {
    "conditions": [
        {"type": "Active", "status": "False", "reason": "Stopped", "message": "it is stopped"}
    ]
}


def explained(folder: Path, *manifests: Json, what: Any = ("pod", "train-0")) -> tuple[Any, str]:
    desk = Desk(folder, *manifests)
    arguments = ("explain", *what, "-n", "ml")
    document = desk.document(*arguments, status=1)
    return document, desk.run(*arguments, status=1)


@pytest.mark.parametrize(
    ("manifests", "code", "text"),
    [
        pytest.param(
            [
                *cluster_queue("team", 4, 4),
                workload("eval", "team", 2, {GPU: 2}),
                workload("train", "team", admitted=False, spec=PODS, conditions=waiting()),
            ],
            "QueueHolds",
            "not by devices: Kueue holds the pod back. Workload ml/job-train waits for "
            f"ClusterQueue team: 2 more of {GPU} needed in flavor default. Quota 4, charged 4, "
            "held 0: 4 for ml/eval, whose pods are not started",
            id="quota",
        ),
        pytest.param(
            [
                *cluster_queue("team", 4, 0, resource="example.com/other"),
                workload("train", "team", admitted=False, spec=PODS, conditions=waiting()),
            ],
            "QueueHolds",
            f"team has no quota for {GPU}",
            id="no quota at all",
        ),
        pytest.param(
            [
                *cluster_queue("team", 4),
                workload(
                    "train",
                    "team",
                    admitted=False,
                    spec=PODS,
                    conditions=waiting("Inadmissible", "it can not be"),
                ),
            ],
            "QueueRefuses",
            "Kueue cannot admit it: it can not be",
            id="inadmissible",
        ),
        pytest.param(
            [
                *cluster_queue("team", 4, status=STOPPED),
                workload("train", "team", admitted=False, spec=PODS, conditions=waiting()),
            ],
            "QueueStopped",
            "ClusterQueue team is stopped: it is stopped",
            id="stopped",
        ),
        pytest.param(
            [
                workload("train", "team", admitted=False, spec=PODS, conditions=waiting()),
                *cluster_queue("other", 4),
            ],
            "QueueStopped",
            "LocalQueue ml/team does not exist",
            id="no queue",
        ),
        pytest.param(
            [
                *cluster_queue("team", 4, 2),
                workload(
                    "train",
                    "team",
                    1,
                    {GPU: 2},
                    admissionChecks=[
                        {"name": "capacity", "state": "Pending", "message": "no node yet"},
                        {"name": "budget", "state": "Ready"},
                    ],
                ),
            ],
            "ChecksWait",
            "waits for admission checks: capacity is Pending (no node yet)",
            id="checks",
        ),
        pytest.param(
            [*cluster_queue("team", 4)],
            "QueueHolds",
            "has made no Workload for it yet",
            id="no workload",
        ),
    ],
)
def test_the_queue_is_named_before_devices(
    tmp_path: Path, manifests: list[Json], code: str, text: str
) -> None:
    document, said = explained(tmp_path, *kueue(), *devices(), *manifests, *gated(ADMISSION))
    assert document["obstacles"][0]["code"] == code
    assert (document["answer"], document["whenLetThrough"]) == ("Stopped", "Fits")
    assert text.lower() in said.lower()
    assert "When it is let through it fits: Pod ml/train-0 fits on 1 of 1 nodes: n." in said


def test_a_held_pod_that_does_not_fit_either_says_both(tmp_path: Path) -> None:
    world = (*kueue(), *devices(1), *cluster_queue("team", 4))
    held = workload("train", "team", admitted=False, spec=PODS, conditions=waiting())
    document, said = explained(tmp_path, *world, held, *gated(ADMISSION, count=3))
    assert document["whenLetThrough"] == "NeverFits"
    assert "When it is let through it still does not fit: " in said


def test_a_class_that_is_not_mapped_is_refused_with_its_remedy(tmp_path: Path) -> None:
    world = (*kueue(config="resources: {}"), *devices(), *cluster_queue("team", 4))
    held = workload("train", "team", admitted=False, spec=PODS, conditions=waiting())
    document, _ = explained(tmp_path, *world, held, *gated(ADMISSION))
    first = document["obstacles"][0]
    assert first["code"] == "QueueRefuses"
    assert "is not mapped in deviceClassMappings" in first["message"]
    assert first["remedy"] == "map it and restart kueue-controller-manager"


def test_the_topology_is_waited_for_after_the_admission(tmp_path: Path) -> None:
    world = (*kueue(), *devices(), *cluster_queue("team", 4, 2))
    held = workload("train", "team", 1, {GPU: 2})
    document, _ = explained(tmp_path, *world, held, *gated("kueue.x-k8s.io/topology"))
    assert [one["code"] for one in document["obstacles"]] == ["TopologyWait"]


def test_a_foreign_gate_is_named_with_what_is_known_of_it(tmp_path: Path) -> None:
    document, said = explained(tmp_path, *devices(), *gated("example.com/x"))
    assert [one["code"] for one in document["obstacles"]] == ["GateHolds"]
    assert "held by scheduling gate example.com/x" in said
    assert "not known" in said


@pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
def test_a_group_of_volcano_is_named_with_its_phase(tmp_path: Path, phase: str) -> None:
    api = "scheduling.volcano.sh/v1beta1"
    refused = {
        "type": "Unschedulable",
        "status": "True",
        "reason": "NotEnoughResources",
        "message": "queue resource quota insufficient",
    }
    template, pod = gated()
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "train"}
    document, said = explained(
        tmp_path,
        *devices(),
        {"apiVersion": api, "kind": "Queue", "metadata": {"name": "vision"}, "spec": {}},
        {
            "apiVersion": api,
            "kind": "PodGroup",
            "metadata": {"name": "train", "namespace": "ml"},
            "spec": {"queue": "vision"},
            "status": {"phase": phase, "conditions": [refused]},
        },
        *(template, pod),
    )
    assert [one["code"] for one in document["obstacles"]] == ["VolcanoHolds"]
    assert f"queue vision is {phase}" in said
    assert "NotEnoughResources: queue resource quota insufficient" in said


def test_a_queue_of_kai_that_is_no_leaf_is_named(tmp_path: Path) -> None:
    api = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue"}
    template, pod = gated()
    pod["metadata"]["labels"] = {"kai.scheduler/queue": "root"}
    document, _ = explained(
        tmp_path,
        *devices(),
        {**api, "metadata": {"name": "root"}},
        {**api, "metadata": {"name": "leaf"}, "spec": {"parentQueue": "root"}},
        *(template, pod),
    )
    assert [one["code"] for one in document["obstacles"]] == ["KaiHolds"]


def test_a_suspended_job_names_its_queue(tmp_path: Path) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml", "uid": "u-train"},
        "spec": {"suspend": True},
    }
    held = workload("train", "team", admitted=False, spec=PODS, conditions=waiting())
    world = (*kueue(), *devices(), *cluster_queue("team", 0), *gated()[:1])
    document, said = explained(tmp_path, *world, job, held, what=("job/train",))
    codes = [one["code"] for one in document["obstacles"]]
    assert codes == ["JobSuspended", "QueueHolds"]
    assert "No pods: the Job is suspended" in said
