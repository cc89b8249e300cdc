"""Known faults of the real stock controller: seen, counted, and told on the pod concerned."""

import pytest

from tests.e2e.modes.conftest import MakeOperator
from tests.e2e.modes.metered import Metered
from tests.e2e.setup import Setup
from tests.e2e.versions import VERSION
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER

LONG = 3600.0
fixed_in_1_37 = pytest.mark.skipif(
    VERSION >= (1, 37), reason="the built-in controller does not have this fault since 1.37"
)
SECOND = f"{CLAIM_CONTROLLER}-second"


def check_reported(setup: Setup, operator: Metered, fault: str) -> None:
    """Wait until a fault was counted, and told on a pod of this namespace."""
    wait_for(lambda: operator.faults_seen(fault), 60, f"{fault} to be counted", every=0.5)
    event = setup.event(fault)[0]
    pods = {pod["metadata"]["uid"] for pod in setup.api.list("pods", setup.namespace)}
    assert event["regarding"]["kind"] == "Pod"
    assert event["regarding"]["uid"] in pods
    assert event["type"] == "Warning"


@pytest.mark.slow
@fixed_in_1_37
def test_claims_that_are_made_again_for_finished_pods_are_reported(
    setup: Setup, make_operator: MakeOperator
) -> None:
    operator = make_operator("assist", grace=LONG)
    setup.plane.start_stock_controller(UNTHROTTLED)
    names = [f"pod-{number}" for number in range(160)]
    setup.apply(setup.template())
    setup.api.create_many(setup.pod(name) for name in names)
    for name in names:
        setup.published(name)
    setup.finish(*names)
    check_reported(setup, operator, "ClaimForFinishedPod")
    assert setup.writes(refused=None).keys() <= {"create events"}


@fixed_in_1_37
def test_a_status_that_loses_and_regains_valid_claims_is_reported(
    setup: Setup, make_operator: MakeOperator
) -> None:
    operator = make_operator("assist", grace=LONG)
    setup.plane.start_stock_controller(UNTHROTTLED)
    entries = ("a", "b", "c")
    setup.apply(setup.template(), setup.pod(templates=dict.fromkeys(entries, "template")))
    bound = setup.published(entries=entries)
    setup.api.delete("resourceclaims", bound["b"], setup.namespace)
    check_reported(setup, operator, "ClaimStatusFlapping")


@pytest.mark.slow
def test_two_claims_for_one_entry_are_reported_and_the_unused_one_is_removed(
    setup: Setup, make_operator: MakeOperator
) -> None:
    operator = make_operator("assist", grace=1)
    plane = setup.plane
    for name in (CLAIM_CONTROLLER, SECOND):
        plane.start_controllers(name, [CLAIM_CONTROLLER])
    names = [f"pod-{number}" for number in range(20)]
    setup.apply(setup.template())
    setup.api.create_many(setup.pod(name) for name in names)
    check_reported(setup, operator, "DuplicateClaim")
    for name in (CLAIM_CONTROLLER, SECOND):
        plane.stop_part(name)
    wait_for(lambda: len(setup.claims()) == len(names), 60, "the duplicates to go", every=0.5)
    bound = {setup.published(name)["a"] for name in names}
    assert bound == setup.claims().keys()
