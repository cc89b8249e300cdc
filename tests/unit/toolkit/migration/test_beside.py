"""What counts, bounds or admits extended resources beside kube-scheduler."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.dra import Desk, invoke
from tests.support.worlds.plugins import GPU, NVIDIA, asking, cluster, node, serving

Json = dict[str, Any]


def beside(api_version: str, kind: str, spec: Json, name: str = "x", **metadata: Any) -> Json:
    made = {"name": name, "namespace": "ml", **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": made, "spec": spec}


def reported(folder: Path, *manifests: Json, status: int = 0) -> Json:
    desk = Desk(folder)
    desk.write(cluster(*manifests))
    found: Json = desk.document("migrate", "report", status=status)
    return found


GROUP = "capacity.cluster-autoscaler.kubernetes.io/"
AUTOSCALERS = [
    pytest.param(
        {}, [beside("karpenter.sh/v1", "NodePool", {"limits": {GPU: "8"}})], True, id="pool"
    ),
    pytest.param(
        {},
        [beside("karpenter.sh/v1", "NodePool", {"limits": {"cpu": "8"}})],
        False,
        id="no devices",
    ),
    pytest.param(
        {},
        [beside("karpenter.sh/v1beta1", "NodeClaim", {"resources": {"requests": {GPU: "1"}}})],
        True,
        id="claim",
    ),
    pytest.param({"karpenter.sh/nodepool": "gpus"}, [], True, id="node of a pool"),
    pytest.param(
        {},
        [
            beside(
                *("cluster.x-k8s.io/v1beta1", "MachineDeployment", {}),
                annotations={f"{GROUP}gpu-type": GPU},
            )
        ],
        True,
        id="Cluster API",
    ),
    pytest.param(
        {},
        [
            beside(
                *("cluster.x-k8s.io/v1beta1", "MachineDeployment", {}),
                annotations={f"{GROUP}gpu-type": GPU, f"{GROUP}dra-driver": NVIDIA},
            )
        ],
        False,
        id="Cluster API with DRA",
    ),
]


@pytest.mark.parametrize(("labels", "objects", "waits"), AUTOSCALERS)
def test_autoscalers_that_wait_for_counts_of_nodes_are_named(
    tmp_path: Path, labels: dict[str, str], objects: list[Json], waits: bool
) -> None:
    fleet = [serving(), node("n", labels, allocatable={GPU: "4"})]
    found = reported(tmp_path, *fleet, *objects, status=int(waits))
    codes = [one["code"] for one in found["resources"][0]["losses"]]
    assert ("AutoscalerWaits" in codes) == waits


def hpa(metric: Json) -> Json:
    return beside("autoscaling/v2", "HorizontalPodAutoscaler", {"metrics": [metric]}, "scaler")


METRICS = [
    pytest.param(
        hpa({"type": "Pods", "pods": {"metric": {"name": "DCGM_FI_DEV_GPU_UTIL"}}}),
        ["MonitoringLabels"],
        id="dcgm-exporter",
    ),
    pytest.param(
        hpa({"external": {"metric": {"name": "kube_node_status_allocatable"}}}),
        ["NodeCounts"],
        id="counts of nodes",
    ),
    pytest.param(hpa({"resource": {"name": "cpu"}}), [], id="CPU"),
    pytest.param(
        beside(
            *("keda.sh/v1alpha1", "ScaledObject"),
            {"triggers": [{"metadata": {"query": 'sum(x{resource="nvidia_com_gpu"})'}}]},
        ),
        ["NodeCounts"],
        id="KEDA",
    ),
]


@pytest.mark.parametrize(("scaler", "codes"), METRICS)
def test_scalers_by_numbers_that_change_are_named(
    tmp_path: Path, scaler: Json, codes: list[str]
) -> None:
    found = reported(tmp_path, serving(), node("n", allocatable={GPU: "4"}), scaler)
    changes = [one["code"] for one in found["losses"] if one["rank"] == "changes"]
    assert changes == codes


def converted(folder: Path, manifest: Json, *manifests: Json, status: int) -> str:
    desk = Desk(folder)
    desk.write(cluster(serving(), node("n", allocatable={GPU: "4"}), *manifests))
    file = folder / "pod.yaml"
    file.write_text(yaml.safe_dump(manifest))
    result = invoke("migrate", "convert", "--claims", "-f", file, "--snapshot", desk.file)
    assert result.exit_code == status, result.output
    return result.stderr


@pytest.mark.parametrize(
    ("limits", "code", "status"),
    [
        ({"type": "Container", "default": {GPU: "1"}}, "LimitRangeInjects", 1),
        ({"type": "Container", "defaultRequest": {GPU: "1"}}, "LimitRangeInjects", 1),
        ({"type": "Pod", "max": {GPU: "4"}}, "LimitRangeIgnored", 0),
        ({"type": "Container", "max": {"cpu": "4"}}, "", 0),
    ],
)
def test_limit_ranges_act_on_limits_alone(
    tmp_path: Path, limits: Json, code: str, status: int
) -> None:
    ranges = beside("v1", "LimitRange", {"limits": [limits]})
    text = converted(tmp_path, asking("p", {GPU: "1"}), ranges, status=status)
    assert ("LimitRange" in text) == bool(code)
    assert code in text


def test_limit_ranges_of_other_namespaces_do_nothing(tmp_path: Path) -> None:
    ranges = beside("v1", "LimitRange", {"limits": [{"default": {GPU: "1"}}]}, namespace="web")
    text = converted(tmp_path, asking("p", {GPU: "1"}), ranges, status=0)
    assert "LimitRange" not in text


def kueue(
    *mappings: Json, covers: tuple[str, ...] = (GPU,), version: str = "v0.19.1"
) -> list[Json]:
    config = {"resources": {"deviceClassMappings": [*mappings]}}
    images = {"containers": [{"image": f"registry.k8s.io/kueue/kueue:{version}"}]}
    group = {"coveredResources": [*covers], "flavors": []}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system"},
            "spec": {"template": {"spec": images}},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
            "data": {"controller_manager_config.yaml": yaml.safe_dump(config)},
        },
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "ClusterQueue",
            "metadata": {"name": "all"},
            "spec": {"resourceGroups": [group]},
        },
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "LocalQueue",
            "metadata": {"name": "team", "namespace": "ml"},
            "spec": {"clusterQueue": "all"},
        },
    ]


def mapping(name: str, *sources: Json) -> Json:
    more = {"sources": [*sources]} if sources else {}
    return {"name": name, "deviceClassNames": [NVIDIA], **more}


COUNTER = {"counter": {"name": "memory", "driver": NVIDIA}}
QUEUED = [
    pytest.param(kueue(mapping("gpus.example.com")), ["KueueKeyChanges"], id="another name"),
    pytest.param(kueue(mapping(GPU)), [], id="its own name"),
    pytest.param(
        kueue(mapping("gpus.example.com"), covers=(GPU, "gpus.example.com")), [], id="both covered"
    ),
    pytest.param(
        kueue(mapping("gpus.example.com"), version="v0.18.2"), [], id="a version that maps none"
    ),
    pytest.param(kueue(), [], id="not mapped"),
    pytest.param(kueue(mapping(GPU, COUNTER)), ["KueueCounters"], id="counters"),
]


@pytest.mark.parametrize(("objects", "codes"), QUEUED)
def test_kueue_charges_resources_of_mapped_classes_under_other_names(
    tmp_path: Path, objects: list[Json], codes: list[str]
) -> None:
    pods = [asking(name, {GPU: "1"}, nodeName="n") for name in ("queued", "free")]
    pods[0]["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    fleet = [serving(), node("n", allocatable={GPU: "4"})]
    found = reported(tmp_path, *fleet, *pods, *objects, status=int(bool(codes)))
    blocks = {
        one["name"]: [loss["code"] for loss in one["losses"] if loss["rank"] == "blocks"]
        for one in found["workloads"]
    }
    assert blocks == {"queued": codes, "free": []}


@pytest.mark.parametrize(
    ("objects", "more", "code"),
    [
        (kueue(), {}, "KueueNotMapped"),
        (kueue(mapping("gpus.example.com")), {}, ""),
        (
            kueue(mapping("gpus.example.com")),
            {"resourceClaims": [{"name": "c", "resourceClaimName": "one"}]},
            "KueueClaimRef",
        ),
    ],
)
def test_kueue_refuses_claims_that_it_does_not_charge(
    tmp_path: Path, objects: list[Json], more: Json, code: str
) -> None:
    pod = asking("p", {GPU: "1"}, **more)
    pod["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    text = converted(tmp_path, pod, *objects, status=int(bool(code)))
    assert ("Kueue" in text) == bool(code)
    assert code in text
