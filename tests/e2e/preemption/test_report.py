"""Report mode on a real API server: the object with its printer columns, and the Event."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.maintenance.ward import Ward, served, uninstall
from tests.e2e.rbac import EXPLAIN_RULES, OPERATOR_RULES, PREEMPTION_RULES
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

CRD = Path(__file__).parents[3] / "crds/devicepreemptions.yaml"
PLURAL = "devicepreemptions.dragoman.dev"
REASON = "DevicePreemptionPlanned"


@pytest.fixture(scope="module")
def ward(plane: ControlPlane) -> Iterator[Ward]:
    """Run an operator in report mode beside one node with two devices."""
    api = plane.api()
    api.apply(yaml.safe_load(CRD.read_text()))
    wait_for(lambda: served(plane, PLURAL), message="DevicePreemptions to be served")
    user = plane.user("dragoman-report", [*OPERATOR_RULES, *EXPLAIN_RULES, *PREEMPTION_RULES])
    flags = ("--no-leader-elect", "--explain-events", "--preemption=report", "--preemption-after=0")
    try:
        with OperatorProcess(plane, user, *flags) as running:
            yield Ward(plane, nodes=1)
            assert running.faults() == []
    finally:
        uninstall(plane, PLURAL)


def test_a_plan_is_an_object_with_columns_and_an_event(ward: Ward, namespace: str) -> None:
    api, name = ward.api, ward.name
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": 1000,
    }
    api.create(priority)
    api.create(objects.template("one", namespace, name))
    api.create(objects.template("two", name, name, 2))
    ward.pod("own")
    api.create(objects.pod("foreign", namespace, templates={"gpu": "one"}))
    ward.placed("own")
    wait_for(lambda: api.get("pods", "foreign", namespace)["spec"].get("nodeName"))
    train = ward.pod("train", template="two", priorityClassName=name)

    found = wait_for(lambda: [one for one in api.list(PLURAL, name) if one.get("status")])[0]

    assert found["metadata"]["name"] == train["metadata"]["uid"]
    assert [one["name"] for one in found["spec"]["victims"]] == ["own"]
    assert found["spec"]["victimsElsewhere"] == 1
    assert len(found["spec"]["devices"]) == 2
    head, row = ward.plane.kubectl("get", "dpre", "-n", name).stdout.splitlines()
    assert head.split() == [*("NAME", "POD", "PRIORITY", "NODE", "VICTIMS", "MODE", "PHASE", "AGE")]
    assert row.split()[1:-1] == ["train", "1000", ward.nodes[0], "2", "Report", "Reported"]
    said = wait_for(
        lambda: [one for one in api.list("events.events.k8s.io", name) if one["reason"] == REASON]
    )[0]
    assert f"{name}/own (priority 0), 1 of other namespaces" in said["note"]
    assert not api.get("pods", "own", name)["metadata"].get("deletionTimestamp")

    # Once a place comes free, the record goes as well.
    api.delete("pods", "train", name, gracePeriodSeconds=0)
    wait_for(lambda: not api.list(PLURAL, name))
