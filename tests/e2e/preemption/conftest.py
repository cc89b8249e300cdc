"""A control plane with DeviceTaintRules, and the operator in mode on beside it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dragoman.inventory.snapshots.documents import PREEMPTION
from tests.charts.rendering import NAMESPACE, RELEASE, render
from tests.e2e.maintenance.ward import Site, Ward, served, uninstall
from tests.e2e.rbac import (
    EXPLAIN_RULES,
    IMPERSONATION,
    OPERATOR_RULES,
    PREEMPTING_RULES,
    PREEMPTION_ACCOUNT,
)
from tests.e2e.running import OperatorProcess
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

CRD = Path(__file__).parents[3] / "crds/devicepreemptions.yaml"
PREEMPTIONS = "devicepreemptions.dragoman.dev"
PRIORITIES = {"low": 1, "high": 1000, "higher": 2000}


def install(plane: ControlPlane) -> None:
    """Serve DevicePreemptions, and create classes of priority."""
    api = plane.api()
    api.apply(yaml.safe_load(CRD.read_text()))
    wait_for(lambda: served(plane, PREEMPTIONS), message="DevicePreemptions to be served")
    for name, value in PRIORITIES.items():
        meta = {"name": name}
        made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta}
        api.apply({**made, "value": value})


@pytest.fixture(scope="module")
def preempting(plane_with_rules: ControlPlane) -> Iterator[Site]:
    """Run an operator in mode on, whose preemptions have an account of their own."""
    plane = plane_with_rules
    install(plane)
    plane.user(PREEMPTION_ACCOUNT, PREEMPTING_RULES)
    rules = [*OPERATOR_RULES, *EXPLAIN_RULES, IMPERSONATION]
    user = plane.user("dragoman-preempting", rules)
    flags = (
        *("--no-leader-elect", "--explain-events", "--preemption=on", "--preemption-after=0"),
        *("--preemption-parallel=50", f"--preemption-account={PREEMPTION_ACCOUNT}"),
    )
    try:
        with OperatorProcess(plane, user, *flags) as running:
            yield Site(plane, running)
            assert running.faults() == []
            wait_for(lambda: cleared(plane), message="no preemption and no reservation to be left")
    finally:
        uninstall(plane, PREEMPTIONS)


def cleared(plane: ControlPlane) -> bool:
    """Delete DevicePreemptions, whose finalizers the operator removes; tell if all is gone."""
    api = plane.api()
    left = api.list(PREEMPTIONS)
    for one in left:
        api.delete(PREEMPTIONS, one["metadata"]["name"], one["metadata"]["namespace"])
    return not left and not api.list("devicetaintrules", labelSelector=PREEMPTION)


@pytest.fixture
def ward(preempting: Site) -> Iterator[Ward]:
    """Create one node with one device."""
    made = Ward(preempting.plane, nodes=1, devices=1)
    yield made
    made.clear_devices()


@pytest.fixture(scope="module")
def policies(preempting: Site) -> Iterator[None]:
    """Install the chart's admission policies, for the users of these tests."""
    values = {
        "preemption": {
            "mode": "on",
            "admissionPolicy": {"tolerations": True},
            "claimControllers": [preempting.operator.user.name],
        }
    }
    kept = [one for one in render(values) if "AdmissionPolicy" in one["kind"]]
    assert len(kept) == 8
    text = json.dumps(kept).replace(
        f"system:serviceaccount:{NAMESPACE}:{RELEASE}-preemption", PREEMPTION_ACCOUNT
    )
    api = preempting.plane.api()
    for one in json.loads(text):
        api.apply(one)
    yield
    for one in kept:
        plural = one["kind"].lower() + "s"
        api.delete(plural.replace("policys", "policies"), one["metadata"]["name"])
