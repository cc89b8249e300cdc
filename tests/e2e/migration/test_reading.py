"""`kubectl dra migrate` reads configs of plug-ins from a real API server, as rights allow."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.rbac import DRA, rule
from tests.support.controlplane.plane import ControlPlane
from tests.support.dra import invoke
from tests.support.worlds.plugins import node, plugin

Json = dict[str, Any]
RESOURCE = "nvidia.com/gpu"
IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
SHARED = {
    "version": "v1",
    "sharing": {"timeSlicing": {"resources": [{"name": RESOURCE, "replicas": 4}]}},
}
FEW = [
    rule("", "nodes", "list"),
    rule("", "pods", "list"),
    *(
        rule(DRA, one, "list")
        for one in ("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses")
    ),
]


@pytest.fixture
def shared(plane: ControlPlane, namespace: str) -> Iterator[None]:
    """Run a plug-in that shares each device of a node four times."""
    api = plane.api()
    daemons = plugin("nvidia", IMAGE, config="sharing")
    labels = {"app": "nvidia"}
    daemons["metadata"]["namespace"] = namespace
    daemons["spec"]["selector"] = {"matchLabels": labels}
    daemons["spec"]["template"]["metadata"] = {"labels": labels}
    daemons["spec"]["template"]["spec"]["containers"][0]["name"] = "plugin"
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "sharing", "namespace": namespace},
        "data": {"config.yaml": yaml.safe_dump(SHARED)},
    }
    api.create(config)
    api.create(daemons)
    api.create(node(namespace, allocatable={RESOURCE: "8"}))
    yield
    api.delete("nodes", namespace)


def report(*arguments: object, status: int = 1) -> Json:
    """Return the document of `migrate report`."""
    result = invoke("migrate", "report", "--resource", RESOURCE, "-o", "json", *arguments)
    assert result.exit_code == status, result.output
    found: Json = json.loads(result.stdout)
    return found


@pytest.mark.usefixtures("shared")
def test_a_cluster_and_its_snapshot_say_alike_how_devices_are_shared(
    plane: ControlPlane, tmp_path: Path
) -> None:
    live = report("--kubeconfig", plane.kubeconfig)
    (row,) = live["resources"]
    assert row["plugin"]["sharing"] == {"replicas": 4, "strategy": "time-slicing"}
    assert "ReplicasLost" in {one["code"] for one in row["losses"]}
    file = tmp_path / "cluster.jsonl"
    kept = ("--with", "migration", "--output", file)
    assert invoke("snapshot", "--kubeconfig", plane.kubeconfig, *kept).exit_code == 0
    assert report("--snapshot", file)["resources"] == live["resources"]


@pytest.mark.usefixtures("shared")
def test_what_rights_do_not_cover_is_named_and_a_file_takes_its_place(
    plane: ControlPlane, tmp_path: Path
) -> None:
    user = plane.user("migrates-little", FEW)
    result = invoke("migrate", "report", "--kubeconfig", user.kubeconfig)
    assert "daemonsets.apps" in result.output
    assert "could not be read" in result.output
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(SHARED))
    found = report("--kubeconfig", user.kubeconfig, "--plugin-config", file, status=2)
    (row,) = found["resources"]
    assert row["plugin"]["sharing"]["replicas"] == 4
