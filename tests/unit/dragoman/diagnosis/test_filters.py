"""Node filters beside devices, in the scheduler's words."""

from typing import Any

import pytest

from dragoman.diagnosis.filters import Load, rejections
from dragoman.inventory.facts.parser import parse, pod_fact
from dragoman.inventory.snapshots.documents import reduced
from dragoman.model.needs import Needs
from tests.support import manifests as objects
from tests.support.worlds.inventory import pod, snapshot

NO_SCHEDULE = {"key": "team", "value": "a", "effect": "NoSchedule"}
AFFINITY = "node(s) didn't match Pod's node affinity/selector"


def affinity(*values: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [*values]}]}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("node", "spec", "expected"),
    [
        pytest.param({}, {}, (), id="an ordinary node"),
        pytest.param(
            {"unschedulable": True}, {}, ("node(s) were unschedulable",), id="a cordoned node"
        ),
        pytest.param(
            {"unschedulable": True},
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            (),
            id="a toleration of cordons",
        ),
        pytest.param(
            {"taints": [NO_SCHEDULE]}, {}, ("node(s) had untolerated taint(s)",), id="a taint"
        ),
        pytest.param(
            {"taints": [NO_SCHEDULE]},
            {"tolerations": [{"key": "team", "value": "a"}]},
            (),
            id="its toleration",
        ),
        pytest.param(
            {"taints": [{**NO_SCHEDULE, "effect": "PreferNoSchedule"}]}, {}, (), id="a preference"
        ),
        pytest.param({}, {"nodeSelector": {"zone": "z"}}, (), id="a selector that is met"),
        pytest.param({}, {"nodeSelector": {"zone": "y"}}, (AFFINITY,), id="a selector not met"),
        pytest.param({}, {"affinity": affinity("y", "z")}, (), id="affinity that is met"),
        pytest.param({}, {"affinity": affinity("y")}, (AFFINITY,), id="affinity not met"),
    ],
)
def test_rejections(node: dict[str, Any], spec: dict[str, Any], expected: tuple[str, ...]) -> None:
    manifest = objects.node("n")
    manifest["metadata"]["labels"]["zone"] = "z"
    manifest["spec"] = node
    world = parse(snapshot(manifest))
    wanted = pod_fact(reduced("pods", pod(**spec)))
    assert rejections(wanted, world.nodes["n"], Load(), wanted.needs.requests) == expected


def test_what_does_not_fit_beside_other_pods() -> None:
    manifest = objects.node("n", pods=1)
    manifest["status"]["allocatable"] |= {"cpu": "2", "memory": "1Gi"}
    other = pod("other", node="n")
    other["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1500m"}}
    done = pod("done", node="n")
    done["spec"]["containers"][0]["resources"] = {"requests": {"memory": "1Gi"}}
    done["status"] = {"phase": "Succeeded"}
    world = parse(snapshot(manifest, other, done))
    wanted = pod()
    wanted["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}}
    load = Load.of(world)
    fact = pod_fact(wanted)
    found = rejections(fact, world.nodes["n"], load, fact.needs.requests)
    assert found == ("Too many pods", "Insufficient cpu")


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({"containers": [container("1"), container("2")]}, 3, id="containers add up"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("5"), container("4")]},
            5,
            id="the largest init container counts",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("2", restartPolicy="Always"), container("2")],
            },
            4,
            id="sidecars run beside later init containers",
        ),
        pytest.param(
            {"containers": [container("1")], "overhead": {"cpu": "2"}}, 3, id="overhead is added"
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "4"}}},
            4,
            id="the pod's own request replaces all",
        ),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"limits": {"cpu": "3"}}}]},
            3,
            id="limits stand in for requests",
        ),
    ],
)
def test_requests(spec: dict[str, Any], cpu: int) -> None:
    assert Needs.parse(spec).requests["cpu"] == cpu * 10**9
