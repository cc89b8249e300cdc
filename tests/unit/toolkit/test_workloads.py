"""The pods of workloads: at the right place, in the right number, as their controllers do."""

from typing import Any

import pytest

from dragoman_toolkit.workloads import workload

SPEC = {
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    "containers": [{"name": "main", "resources": {"claims": [{"name": "gpu"}]}}],
}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": SPEC}
JOB = {"parallelism": 3, "completions": 6, "template": TEMPLATE}
RAY = {
    "headGroupSpec": {"template": TEMPLATE},
    "workerGroupSpecs": [
        {"groupName": "a100", "replicas": 2, "numOfHosts": 2, "template": TEMPLATE},
        {"groupName": "spare", "template": TEMPLATE},
    ],
}
KINDS: list[tuple[str, str, dict[str, Any], list[tuple[str, int | None]], int]] = [
    ("v1", "Pod", SPEC, [("", 1)], 0),
    ("apps/v1", "Deployment", {"replicas": 4, "template": TEMPLATE}, [("", 4)], 0),
    ("apps/v1", "DaemonSet", {"template": TEMPLATE}, [("", None)], 0),
    ("batch/v1", "Job", JOB, [("", 3)], 0),
    ("batch/v1", "Job", {"parallelism": 9, "completions": 2, "template": TEMPLATE}, [("", 2)], 0),
    ("batch/v1", "CronJob", {"jobTemplate": {"spec": JOB}}, [("", 3)], 0),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {"replicatedJobs": [{"name": "work", "replicas": 2, "template": {"spec": JOB}}]},
        [("work", 6)],
        1,
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {
            "replicas": 2,
            "leaderWorkerTemplate": {
                "size": 4,
                "leaderTemplate": TEMPLATE,
                "workerTemplate": TEMPLATE,
            },
        },
        [("leader", 2), ("worker", 6)],
        2,
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": TEMPLATE}},
        [("worker", 8)],
        2,
    ),
    ("ray.io/v1", "RayCluster", RAY, [("head", 1), ("a100", 4), ("spare", 0)], 1),
    (
        "ray.io/v1",
        "RayJob",
        {"rayClusterSpec": RAY},
        [("head", 1), ("a100", 4), ("spare", 0)],
        1,
    ),
    (
        "kubeflow.org/v1",
        "PyTorchJob",
        {
            "pytorchReplicaSpecs": {
                "Master": {"template": TEMPLATE},
                "Worker": {"replicas": 3, "template": TEMPLATE},
            }
        },
        [("master", 1), ("worker", 3)],
        1,
    ),
    (
        "kueue.x-k8s.io/v1beta1",
        "Workload",
        {"podSets": [{"name": "main", "count": 5, "template": TEMPLATE}]},
        [("main", 5)],
        1,
    ),
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        {"tasks": [{"name": "mpi", "replicas": 2, "template": TEMPLATE}]},
        [("mpi", 2)],
        1,
    ),
    ("example.com/v1", "Fleet", {"replicas": 3, "pods": {"template": TEMPLATE}}, [("", 3)], 0),
]


@pytest.mark.parametrize(("version", "kind", "spec", "roles", "gangs"), KINDS)
def test_pods_are_found_with_their_number(
    version: str,
    kind: str,
    spec: dict[str, Any],
    roles: list[tuple[str, int | None]],
    gangs: int,
) -> None:
    tree = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    found = workload(tree)
    assert found is not None
    assert [(one.role, one.copies) for one in found.pods] == roles
    assert found.gangs == gangs
    for pods in found.pods:
        place: Any = tree
        for step in pods.steps:
            place = place[step]
        assert place is pods.spec
        assert pods.plain() == SPEC


def test_kserve_has_a_container_beside_the_fields_of_the_spec() -> None:
    predictor = {
        "minReplicas": 2,
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
        "model": {"modelFormat": {"name": "vllm"}, "resources": {"claims": [{"name": "gpu"}]}},
    }
    found = workload(
        {
            "apiVersion": "serving.kserve.io/v1beta1",
            "kind": "InferenceService",
            "spec": {"predictor": predictor},
        }
    )
    assert found is not None
    (pods,) = found.pods
    assert (pods.role, pods.copies) == ("predictor", 2)
    assert [steps for steps, _ in pods.containers()] == [("spec", "predictor", "model")]
    (container,) = pods.plain()["containers"]
    assert container["resources"]["claims"] == [{"name": "gpu"}]


def test_a_virtual_machine_is_a_pod_with_its_claims() -> None:
    devices = {"gpus": [{"name": "gpu1", "claimName": "gpu", "requestName": "one"}]}
    spec = {
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
        "nodeSelector": {"zone": "a"},
        "domain": {"devices": devices, "resources": {"requests": {"memory": "4Gi"}}},
    }
    found = workload(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "spec": {"runStrategy": "Always", "template": {"spec": spec}},
        }
    )
    assert found is not None
    plain = found.pods[0].plain()
    assert plain["nodeSelector"] == {"zone": "a"}
    (container,) = plain["containers"]
    assert container["resources"]["claims"] == [{"name": "gpu", "request": "one"}]
    assert container["resources"]["requests"] == {"memory": "4Gi"}


@pytest.mark.parametrize("kind", ["CustomResourceDefinition", "ConfigMap", "Secret"])
def test_text_that_holds_pods_is_none(kind: str) -> None:
    assert workload({"apiVersion": "v1", "kind": kind, "data": {"x": {"spec": SPEC}}}) is None


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
        ("argoproj.io/v1alpha1", "Application"),
        ("kyverno.io/v1", "ClusterPolicy"),
        ("apiextensions.crossplane.io/v1", "Composition"),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ],
)
def test_values_patterns_and_patches_have_parts_of_pods_alone(version: str, kind: str) -> None:
    assert workload({"apiVersion": version, "kind": kind, "spec": {"values": SPEC}}) is None
    shown = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Sensor", "spec": {"job": SPEC}}
    assert workload(shown) is not None


def test_a_manifest_within_another_one_counts_its_own_pods() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": JOB}
    wrapper = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper"}
    found = workload({**wrapper, "spec": {"components": [{"template": job}]}})
    assert found is not None
    (pods,) = found.pods
    assert pods.copies == 3
    assert pods.steps == ("spec", "components", 0, "template", "spec", "template", "spec")
    for kind, version in (("Pod", "v1"), ("VirtualMachineInstance", "kubevirt.io/v1")):
        owner = {"apiVersion": version, "kind": kind, "name": "a"}
        assert workload({"apiVersion": "v1", "kind": "Event", "involvedObject": owner}) is None
        assert workload({"kind": "Test", "results": [{"kind": kind}]}) is None
    daemons = {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "DaemonSet"}
    kruise = workload({**daemons, "spec": {"template": TEMPLATE}})
    assert kruise is not None
    assert kruise.pods[0].copies is None


def test_hostile_trees_have_no_pods() -> None:
    for version, kind, _, _, _ in KINDS:
        hostile: list[Any] = [None, [], "x", {"template": 1, "replicas": "7"}, {"podSets": [1]}]
        for spec in hostile:
            found = workload({"apiVersion": version, "kind": kind, "spec": spec})
            assert all(one.plain() in ({}, spec) for one in (found.pods if found else ()))
