"""What `doctor` says about queues and shapes."""

from pathlib import Path
from typing import Any

from tests.support import manifests as objects
from tests.support.dra import Desk
from tests.support.manifests import Json
from tests.support.worlds.plugins import GPU, NVIDIA, gpus, node
from tests.support.worlds.queues import (
    cluster_queue,
    devices,
    held,
    kueue,
    pod_of,
    workload,
)

ONLY = [part for one in ("QueueRefuses", "QueueDiffers") for part in ("--only", one)]
PODS = {
    "containers": [{"name": "main"}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}],
}


def findings(folder: Path, *manifests: Json, only: Any = ONLY) -> list[tuple[str, str, str]]:
    document = Desk(folder, *manifests).document("doctor", *only)
    return [(one["id"], one["object"]["text"], one["message"]) for one in document["findings"]]


def test_a_workload_that_kueue_never_admits_is_a_finding(tmp_path: Path) -> None:
    waits = [{"type": "QuotaReserved", "status": "False", "reason": "Inadmissible", "message": "x"}]
    found = findings(
        tmp_path,
        *devices(4),
        *kueue(config="resources: {}"),
        *cluster_queue("team", 4, 0),
        objects.template("gpus", "ml", NVIDIA, 1),
        workload("train", "team", admitted=False, spec=PODS, conditions=waits),
    )
    assert found == [
        (
            "QueueRefuses",
            "ml/train",
            "queue team never admits it: its DeviceClass is not mapped in deviceClassMappings",
        )
    ]


def test_devices_that_no_quota_counts_are_a_finding(tmp_path: Path) -> None:
    alone = pod_of("", 0, "n", template="gpus")
    found = findings(
        tmp_path, *devices(4), *kueue(), *cluster_queue("team", 4, 0), alone, held(alone, "gpu-0")
    )
    text = f"charged and held differ: 1 of {GPU} held and not counted"
    assert found == [("QueueDiffers", "kueue/team", text)]


def test_a_cluster_without_queues_has_none_of_these_findings(tmp_path: Path) -> None:
    assert findings(tmp_path, *devices(4)) == []


def test_a_node_with_fewer_devices_than_its_machine_type_is_a_finding(tmp_path: Path) -> None:
    kind = {"node.kubernetes.io/instance-type": "p5.48xlarge"}
    only = ("--only", "ShapeDiffers")
    nodes = (node("n", kind), node("m", kind), node("o"))
    found = findings(tmp_path, *nodes, gpus("n", 8), gpus("m", 7), gpus("o", 3), only=only)
    text = "gpu.nvidia.com publishes 7 devices, and shape aws-p5.48xlarge has 8"
    assert found == [("ShapeDiffers", "m", text)]
