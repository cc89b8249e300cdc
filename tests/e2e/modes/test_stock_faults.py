"""Known faults of the real stock controller: seen, counted, and told on the pod concerned."""

import pytest

from tests.e2e.modes.conftest import MakeOperator
from tests.e2e.modes.watched import Watched
from tests.e2e.scene import Scene
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER

LONG = 3600.0
SECOND = f"{CLAIM_CONTROLLER}-second"


def check_reported(stage: Scene, operator: Watched, fault: str) -> None:
    """Wait until a fault was counted, and told on a pod of this namespace."""
    wait_for(lambda: operator.faults_seen(fault), 60, f"{fault} to be counted", every=0.5)
    event = stage.event(fault)[0]
    pods = {pod["metadata"]["uid"] for pod in stage.api.list("pods", stage.namespace)}
    assert event["regarding"]["kind"] == "Pod"
    assert event["regarding"]["uid"] in pods
    assert event["type"] == "Warning"


@pytest.mark.slow
def test_claims_that_are_made_again_for_finished_pods_are_reported(
    stage: Scene, make_operator: MakeOperator
) -> None:
    operator = make_operator("assist", grace=LONG)
    stage.plane.start_stock_controller(UNTHROTTLED)
    names = [f"pod-{number}" for number in range(160)]
    stage.apply(stage.template())
    stage.api.create_many(stage.pod(name) for name in names)
    for name in names:
        stage.published(name)
    stage.finish(*names)
    check_reported(stage, operator, "ClaimForFinishedPod")
    assert stage.writes(refused=None).keys() <= {"create events"}


def test_a_status_that_loses_and_regains_valid_claims_is_reported(
    stage: Scene, make_operator: MakeOperator
) -> None:
    operator = make_operator("assist", grace=LONG)
    stage.plane.start_stock_controller(UNTHROTTLED)
    entries = ("a", "b", "c")
    stage.apply(stage.template(), stage.pod(templates=dict.fromkeys(entries, "template")))
    bound = stage.published(entries=entries)
    stage.api.delete("resourceclaims", bound["b"], stage.namespace)
    check_reported(stage, operator, "ClaimStatusFlapping")


@pytest.mark.slow
def test_two_claims_for_one_entry_are_reported_and_the_unused_one_is_removed(
    stage: Scene, make_operator: MakeOperator
) -> None:
    operator = make_operator("assist", grace=1)
    plane = stage.plane
    for name in (CLAIM_CONTROLLER, SECOND):
        plane.start_controllers(name, [CLAIM_CONTROLLER])
    names = [f"pod-{number}" for number in range(20)]
    stage.apply(stage.template())
    stage.api.create_many(stage.pod(name) for name in names)
    check_reported(stage, operator, "DuplicateClaim")
    for name in (CLAIM_CONTROLLER, SECOND):
        plane.stop_part(name)
    wait_for(lambda: len(stage.claims()) == len(names), 60, "the duplicates to go", every=0.5)
    bound = {stage.published(name)["a"] for name in names}
    assert bound == stage.claims().keys()
