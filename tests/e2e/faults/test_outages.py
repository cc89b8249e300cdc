"""Processes that die and come back: the operator, the API server, etcd."""

import pytest

from tests.e2e.faults import clock_jumps
from tests.e2e.faults.conftest import MakeSetup
from tests.e2e.faults.proxy import Rule
from tests.e2e.faults.setup import ALONE, FaultSetup
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import API_SERVER, ETCD


def test_the_api_server_dies_and_comes_back(make_setup: MakeSetup) -> None:
    with make_setup(ALONE) as setup:
        setup.workload.lasts(20)
        setup.look()
        setup.plane.restart(API_SERVER)
        setup.workload.lasts(20)
        setup.calm()


def test_etcd_dies_and_forgets_old_revisions(make_setup: MakeSetup) -> None:
    with make_setup(ALONE) as setup:
        setup.workload.lasts(20)
        setup.look()
        setup.plane.restart(ETCD)
        setup.compact()
        setup.plane.restart(API_SERVER)
        setup.workload.lasts(20)
        setup.calm()


def test_etcd_is_restored_from_a_backup(make_setup: MakeSetup) -> None:
    with make_setup() as setup:
        setup.workload.lasts(25)
        backup = setup.back_up()
        setup.workload.lasts(60)
        setup.restore(backup)
        setup.workload.lasts(30)
        setup.calm()


def test_the_wall_clock_jumps_by_hours_and_years(make_setup: MakeSetup) -> None:
    terms = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
    with make_setup(*terms, disguise=clock_jumps) as setup:
        for _ in range(4):
            setup.workload.lasts(40)
            setup.look()
        assert "No longer leading" not in setup.operator.said()
        setup.calm()


def kill_often(setup: FaultSetup, times: int) -> None:
    """Kill the operator at random points and start it again at once."""
    for _ in range(times):
        setup.workload.lasts(setup.chance.randint(20, 80))
        setup.look()
        setup.operator.kill()
        setup.operator.launch()
    wait_for(setup.operator.ready, 60, "the operator to be ready")
    setup.workload.lasts(10)
    setup.calm()


@pytest.mark.parametrize("times", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_the_operator_is_killed_at_random_points(make_setup: MakeSetup, times: int) -> None:
    with make_setup(ALONE) as setup:
        kill_often(setup, times)


def test_the_lease_is_stolen_again_and_again(make_setup: MakeSetup) -> None:
    terms = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
    with make_setup(*terms) as setup:
        for _ in range(2):
            setup.workload.lasts(30)
            setup.look()
            setup.steal_lease()
            setup.workload.lasts(60)
        setup.calm()


def test_sigterm_is_obeyed_within_five_seconds_also_where_no_write_is_answered(
    make_setup: MakeSetup,
) -> None:
    with make_setup("--lease-duration=15") as setup:
        setup.workload.lasts(20)
        hanging = setup.proxy.add(Rule(lambda call: call.method != "GET", hangs=True))
        wait_for(lambda: hanging.hits > 3, message="writes that hang")
        assert setup.operator.stop(grace=5) == 0
        setup.proxy.heal()
        setup.operator.command += [ALONE]
        setup.operator.start()
        setup.calm()
