"""Processes that die and come back: the operator, the API server, etcd."""

import pytest

from tests.e2e.faults import unsteady
from tests.e2e.faults.conftest import MakeStage
from tests.e2e.faults.proxy import Rule
from tests.e2e.faults.stage import ALONE, Stage
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import API_SERVER, ETCD


def test_the_api_server_dies_and_comes_back(make_stage: MakeStage) -> None:
    with make_stage(ALONE) as stage:
        stage.churn.lasts(20)
        stage.look()
        stage.plane.restart(API_SERVER)
        stage.churn.lasts(20)
        stage.calm()


def test_etcd_dies_and_forgets_old_revisions(make_stage: MakeStage) -> None:
    with make_stage(ALONE) as stage:
        stage.churn.lasts(20)
        stage.look()
        stage.plane.restart(ETCD)
        stage.compact()
        stage.plane.restart(API_SERVER)
        stage.churn.lasts(20)
        stage.calm()


def test_etcd_is_restored_from_a_backup(make_stage: MakeStage) -> None:
    with make_stage() as stage:
        stage.churn.lasts(25)
        backup = stage.back_up()
        stage.churn.lasts(60)
        stage.restore(backup)
        stage.churn.lasts(30)
        stage.calm()


def test_the_wall_clock_jumps_by_hours_and_years(make_stage: MakeStage) -> None:
    terms = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
    with make_stage(*terms, disguise=unsteady) as stage:
        for _ in range(4):
            stage.churn.lasts(40)
            stage.look()
        assert "No longer leading" not in stage.operator.said()
        stage.calm()


def kill_often(stage: Stage, times: int) -> None:
    """Kill the operator at random points and start it again at once."""
    for _ in range(times):
        stage.churn.lasts(stage.chance.randint(20, 80))
        stage.look()
        stage.operator.kill()
        stage.operator.launch()
    wait_for(stage.operator.ready, 60, "the operator to be ready")
    stage.churn.lasts(10)
    stage.calm()


@pytest.mark.parametrize("times", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_the_operator_is_killed_at_random_points(make_stage: MakeStage, times: int) -> None:
    with make_stage(ALONE) as stage:
        kill_often(stage, times)


def test_the_lease_is_stolen_again_and_again(make_stage: MakeStage) -> None:
    terms = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
    with make_stage(*terms) as stage:
        for _ in range(2):
            stage.churn.lasts(30)
            stage.look()
            stage.steal_lease()
            stage.churn.lasts(60)
        stage.calm()


def test_sigterm_is_obeyed_within_five_seconds_also_where_no_write_is_answered(
    make_stage: MakeStage,
) -> None:
    with make_stage("--lease-duration=15") as stage:
        stage.churn.lasts(20)
        hanging = stage.proxy.add(Rule(lambda call: call.method != "GET", hangs=True))
        wait_for(lambda: hanging.hits > 3, message="writes that hang")
        assert stage.operator.stop(grace=5) == 0
        stage.proxy.heal()
        stage.operator.command += [ALONE]
        stage.operator.start()
        stage.calm()
