"""PodGroups without claims: their API is served, the gate DRAWorkloadResourceClaims is off."""

from collections.abc import Iterator

import pytest

from tests.e2e.lifecycle.test_podgroups import group, member
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess, Running
from tests.e2e.setup import Setup
from tests.e2e.versions import HAS_POD_GROUPS, NO_POD_GROUPS, POD_GROUPS
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import API_SERVER, ControlPlane

pytestmark = [
    pytest.mark.skipif(not HAS_POD_GROUPS, reason=NO_POD_GROUPS),
    pytest.mark.slow,
]
GATE = "DRAWorkloadResourceClaims"
METRICS = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Run a control plane that serves PodGroups, at first with claims."""
    with ControlPlane(
        feature_gates={"GenericWorkload": True, GATE: True},
        runtime_config={POD_GROUPS: True},
    ) as running:
        yield running


@pytest.fixture(scope="module")
def operator(plane: ControlPlane) -> Iterator[Running]:
    """Return an operator that may read the API server's metrics; the test starts it."""
    process = OperatorProcess(plane, plane.user("dragoman", (*OPERATOR_RULES, METRICS)))
    yield process
    process.stop()
    assert process.faults() == []


def turn_gate_off(plane: ControlPlane) -> None:
    """Restart the API server without the gate."""
    server = plane.processes[API_SERVER]
    changed = [part.replace(f"{GATE}=true", f"{GATE}=false") for part in server.command]
    assert changed != server.command
    server.command = changed
    plane.restart(API_SERVER)


def test_without_the_gate_each_pod_of_a_group_gets_a_claim_of_its_own(
    setup: Setup, operator: OperatorProcess
) -> None:
    """As the built-in controller does; PodGroups stored with claims keep them, and are ignored."""
    setup.apply(setup.template(), group(setup))
    turn_gate_off(setup.plane)
    assert setup.get("podgroups", "group")["spec"]["resourceClaims"]
    operator.start()
    setup.apply(member(setup, "first"), member(setup, "second"))
    setup.apply(member(setup, "third", of="missing"))
    names = {setup.published(name)["a"] for name in ("first", "second", "third")}
    assert setup.claims().keys() == names
    assert len(names) == 3
    owners = [claim["metadata"]["ownerReferences"][0] for claim in setup.claims().values()]
    assert {owner["kind"] for owner in owners} == {"Pod"}
    assert setup.events() == []


def test_a_flag_turns_claims_of_pod_groups_off(setup: Setup, operator: OperatorProcess) -> None:
    operator.stop()  # it leads
    setup.apply(setup.template())
    user = setup.plane.user(setup.user, OPERATOR_RULES)
    with OperatorProcess(setup.plane, user, "--podgroup-claims=off") as process:
        setup.apply(member(setup, "pod", of="missing"))
        assert setup.published() == {"a": next(iter(setup.claims()))}
        wait_for(lambda: "Controlling claims" in process.said(), message="the log")
        assert "have no claims" in process.said()
