"""`kubectl dra doctor --target`: what an upgrade takes away, as a real API server shows it."""

from collections.abc import Iterator

import pytest

from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.test_doctor import Ward
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.doctor import World

STUCK, MOVED = World("stuck"), World("moved")
GATES: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "kube-scheduler-x",
        "namespace": "kube-system",
        "labels": {"tier": "control-plane"},
    },
    "spec": {
        "containers": [
            {
                "name": "kube-scheduler",
                "image": "example.com/kube-scheduler",
                "command": ["kube-scheduler", "--feature-gates=DynamicResourceAllocation=true"],
            }
        ]
    },
}


def beta(world: World) -> Json:
    """Return a slice as a driver of v1beta1 writes it."""
    made = world.slice(("d0",))
    made["apiVersion"] = "resource.k8s.io/v1beta1"
    made["spec"]["devices"] = [{"name": "d0", "basic": {}}]
    del made["metadata"]["ownerReferences"]
    return made


@pytest.fixture(scope="module")
def served() -> Iterator[ControlPlane]:
    """Run an API server that serves v1beta1, which is off by default."""
    flag = "--runtime-config=resource.k8s.io/v1beta1=true"
    with ControlPlane(extra_apiserver_flags=(flag,)) as plane:
        yield plane


@pytest.fixture(scope="module")
def ward(served: ControlPlane) -> Ward:
    """Let two drivers write v1beta1; one of them writes v1 since."""
    made, slices = Ward(served), "/apis/resource.k8s.io/{}/resourceslices"
    nodes = [world.node() for world in (STUCK, MOVED)]
    for node in nodes:
        made.create(node)
    for world in (STUCK, MOVED):
        made.api.request("POST", slices.format("v1beta1"), beta(world), fieldManager="driver")
    name = beta(MOVED)["metadata"]["name"]
    path = f"{slices.format('v1')}/{name}"
    current = made.api.request("GET", path)
    current["spec"]["devices"][0]["attributes"] = {"model": {"string": "a"}}
    made.api.request("PUT", path, current, fieldManager="driver")
    made.create(GATES)
    return made


def findings(ward: Ward, *arguments: object) -> dict[str, list[tuple[str, str]]]:
    """Return subject and severity of the findings of the rules of upgrades."""
    said = dra(
        "doctor", "--kubeconfig", ward.plane.kubeconfig, "-o", "json", *arguments, expected=(0, 1)
    )
    found: dict[str, list[tuple[str, str]]] = {}
    for one in said.document["findings"]:
        found.setdefault(one["id"], []).append((one["object"]["text"], one["severity"]))
    assert not {"ApiRemoved", "DriverOutdated", "GateRemoved"} & said.document["partial"].keys()
    return found


def test_a_driver_that_is_stuck_on_v1beta1_is_named_and_the_other_is_not(ward: Ward) -> None:
    found = findings(ward, "--target", "1.38")
    assert found["DriverOutdated"] == [(f"{STUCK.driver} v1beta1", "error")]
    assert findings(ward, "--target", "1.37")["DriverOutdated"] == [
        (f"{STUCK.driver} v1beta1", "warning")
    ]
    assert "DriverOutdated" not in findings(ward)


def test_the_metrics_name_what_was_asked_for(ward: Ward) -> None:
    assert ("v1beta1 resourceslices", "error") in findings(ward, "--target=1.38")["ApiRemoved"]


def test_the_audit_log_names_who_asked(ward: Ward) -> None:
    arguments = ("doctor", "--target=1.38", "--audit-log", ward.plane.audit.path)
    cluster = ("--only=ApiRemoved", "-o", "json", "--kubeconfig", ward.plane.kubeconfig)
    found = dra(*arguments, *cluster, expected=(1,)).document["findings"]
    (one,) = [one for one in found if one["object"]["text"] == "v1beta1 resourceslices"]
    assert "asked for by " in one["message"]


def test_gates_in_flags_are_named(ward: Ward) -> None:
    subject = "kube-system/kube-scheduler-x DynamicResourceAllocation"
    assert findings(ward, "--target=1.38")["GateRemoved"] == [(subject, "error")]
