"""`kubectl dra explain` ends with what autoscalers wrote, and which machine would have room."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dragoman.inventory.snapshots.snapshot import API_VERSION, MIGRATION, MIGRATION_OBJECT
from dragoman.kube.errors import ApiError
from dragoman_toolkit.dra.diagnosis.autoscaling import Autoscaling
from tests.support import manifests as objects
from tests.support.dra import Desk
from tests.support.worlds import inventory as builders
from tests.support.worlds.plugins import NVIDIA, node, serving

STATUS = """\
time: 2026-11-22 11:59:00.5 +0000 UTC
autoscalerStatus: Running
nodeGroups:
- name: eks-p4d-24xlarge-0c
  health:
    status: Healthy
    cloudProviderTarget: 0
    minSize: 0
    maxSize: 4
    nodeCounts: {registered: {total: 0}}
- name: p5-48xlarge-nodes
  health: {cloudProviderTarget: 2, maxSize: 2, nodeCounts: {registered: {total: 2}}}
"""


def desk(folder: Path, memory: str, *written: Mapping[str, Any]) -> Desk:
    """Make a cluster where no node has GPUs, a pod that asks for one, and what is written."""
    pod = objects.pod("train", "ml", claims={"gpu": "gpu"})
    pod["spec"]["containers"][0]["resources"] |= {"requests": {"memory": memory}}
    claim = objects.claim("gpu", "ml", NVIDIA)
    mode = {"allocationMode": "ExactCount", "count": 1}
    claim["spec"]["devices"]["requests"][0]["exactly"] |= mode
    made = builders.snapshot(
        node("cpu", allocatable={"pods": "110", "memory": "4Gi"}),
        serving(),
        claim,
        pod,
    )
    head = {"apiVersion": API_VERSION, "kind": MIGRATION_OBJECT}
    lines = tuple({**head, "autoscaler": one} for one in written)
    found = Desk(folder)
    found.write(replace(made, objects={**made.objects, MIGRATION: lines}))
    return found


EXPLAIN = ("explain", "train", "-n", "ml")


def test_a_pod_that_waits_names_the_machines_that_would_have_room(tmp_path: Path) -> None:
    status = {"kind": "ConfigMap", "data": {"status": STATUS}}
    there = desk(tmp_path, "3000Gi", status)
    silence, maximum, fits, empty = there.document(*EXPLAIN, status=1)["autoscaler"]
    assert silence == "cluster-autoscaler has said nothing about the pod"
    assert "node group p5-48xlarge-nodes has its maximum of 2 nodes" in maximum
    unchecked = "p4d.24xlarge (cpu and memory are not checked)"
    assert f"of its group aside: fits on: {unchecked}; not on: p5.48xlarge (has the dev" in fits
    assert empty.startswith("cluster-autoscaler has no node of p4d.24xlarge from which")
    assert fits in there.run(*EXPLAIN, status=1)


def test_machines_of_node_pools_are_tried(tmp_path: Path) -> None:
    one = {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["p5.48xlarge", "new.type"],
    }
    spec = {"template": {"spec": {"requirements": [one]}}}
    pool = {"kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec}
    lines = desk(tmp_path, "1Gi", pool).document(*EXPLAIN, status=1)["autoscaler"]
    assert lines == [
        "Karpenter: it ignores claims of pods unless IGNORE_DRA_REQUESTS=false is set",
        "a new node, labels and taints of its group aside: fits on: p5.48xlarge",
    ]


def test_a_cluster_without_autoscalers_has_no_such_paragraph(tmp_path: Path) -> None:
    there = desk(tmp_path, "1Gi")
    assert there.document(*EXPLAIN, status=1)["autoscaler"] == []
    assert "autoscaler" not in there.run(*EXPLAIN, status=1)


def test_autoscalers_are_explained_without_a_pod(tmp_path: Path) -> None:
    status = {"kind": "ConfigMap", "data": {"status": STATUS}}
    there = desk(tmp_path, "1Gi", status, {"unread": "events"})
    said = there.run("explain", "autoscaler", status=2)
    assert "p5-48xlarge-nodes has its maximum of 2 nodes" in said
    assert "not read: events" in said
    empty = desk(tmp_path, "1Gi").document("explain", "autoscaler")
    assert empty["autoscaler"][0].startswith("No autoscaler found")


class Busy:
    """An API server that has no time for what autoscalers write."""

    async def get(self, path: str, **_: str) -> Mapping[str, Any]:
        if path == "/apis":
            return {"groups": []}
        raise ApiError(429, "TooManyRequests", "too many requests")


def test_what_a_busy_server_does_not_list_is_named_and_no_error() -> None:
    source: Any = SimpleNamespace(
        snapshot="", namespace="ml", call=lambda read: asyncio.run(read(Busy()))
    )
    found = Autoscaling(source).report()
    assert found.blocks == ("not read: configmaps, events",)
    assert found.status == 2


def test_a_snapshot_of_a_snapshot_keeps_what_autoscalers_wrote(tmp_path: Path) -> None:
    there = desk(tmp_path, "1Gi", {"kind": "ConfigMap", "data": {"status": STATUS}})
    extras = ("--with", "migration", "--with", "autoscaler")
    said = there.document("explain", "autoscaler")
    there.file.write_text(there.run("snapshot", *extras))
    assert there.document("explain", "autoscaler") == said
    assert "has its maximum of 2 nodes" in str(said)
