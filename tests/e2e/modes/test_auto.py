"""`--claims=auto` beside the real stock controller: who is the claim controller, and when."""

import random
from datetime import datetime

import pytest

from dragoman.controllers.claims.mode import MODE_ANNOTATION
from dragoman.process.operator import LEASE_NAME
from tests.e2e.faults.expected import Settled
from tests.e2e.faults.workload import Workload
from tests.e2e.modes.conftest import MakeOperator
from tests.e2e.modes.metered import Metered
from tests.e2e.modes.stock import start_stock
from tests.e2e.setup import Setup
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.components import UNTHROTTLED, StockController
from tests.support.controlplane.plane import CLAIM_CONTROLLER

ALL_CLAIMS = 30.0
"""Seconds after which a duplicate is removed, in claims/deallocation.py."""


def burst(setup: Setup, count: int) -> list[str]:
    """Create pods of one claim each."""
    names = [f"burst-{number}" for number in range(count)]
    setup.api.create_many(setup.pod(name) for name in names)
    return names


def beside_a_slow_stock_controller(
    setup: Setup, make_operator: MakeOperator, count: int, grace: float
) -> None:
    start_stock(setup.plane, StockController())
    operator = make_operator("auto", grace=grace, takeover_after=grace)
    setup.apply(setup.template())
    names = burst(setup, count)
    wait_for(lambda: len(setup.claims()) == count, 30 + count / 4, "the stock controller's claims")
    bound = {name: setup.published(name)["a"] for name in names}
    assert sorted(bound.values()) == sorted(setup.claims())
    assert setup.writes(refused=None) == {}
    assert operator.mode == "assist"


def test_beside_the_stock_controller_at_its_default_limits_it_creates_nothing_in_a_burst(
    setup: Setup, make_operator: MakeOperator
) -> None:
    beside_a_slow_stock_controller(setup, make_operator, 120, grace=6)


@pytest.mark.slow
def test_in_a_burst_of_a_thousand_pods_it_creates_nothing_either(
    setup: Setup, make_operator: MakeOperator
) -> None:
    beside_a_slow_stock_controller(setup, make_operator, 1000, grace=30)


def become_own(setup: Setup, operator: Metered, pods: int = 4) -> None:
    """Let overdue claims be created, and the quiet time pass."""
    setup.apply(setup.template())
    for number in range(pods):
        setup.api.create(setup.pod(f"first-{number}"))
    for number in range(pods):
        setup.published(f"first-{number}")
    operator.becomes("own")


def kept_mode(setup: Setup) -> str:
    """Return the mode that stands in the Lease."""
    lease = setup.api.get("leases", LEASE_NAME, setup.namespace)
    return str((lease["metadata"].get("annotations") or {}).get(MODE_ANNOTATION))


def created(document: Json) -> datetime:
    """Return when an object was created, cut to seconds."""
    return datetime.fromisoformat(document["metadata"]["creationTimestamp"])


def test_without_another_it_creates_what_is_overdue_becomes_own_and_hands_over_at_a_sign(
    setup: Setup, make_operator: MakeOperator
) -> None:
    grace = 3
    operator = make_operator("auto", grace=grace, takeover_after=5)
    setup.apply(setup.template())
    pod = setup.api.create(setup.pod("lonely"))
    waited = created(setup.claim_of("lonely")) - created(pod)
    assert waited.total_seconds() >= grace - 1, "it was created early (times are in seconds)"
    become_own(setup, operator)
    setup.api.create(setup.pod("at-once"))
    setup.published("at-once")
    wait_for(lambda: kept_mode(setup) == "own", 30, "the mode in the Lease")

    setup.plane.start_stock_controller(UNTHROTTLED)
    assert operator.mode == "own"
    number = 0

    def noticed() -> bool:
        nonlocal number
        number += 1
        setup.api.create(setup.pod(f"later-{number}"))
        return operator.mode == "assist"

    wait_for(noticed, 60, "the stock controller's first visible write", every=0.2)
    wait_for(lambda: kept_mode(setup) == "assist", 30, "the mode in the Lease")


def test_a_new_leader_goes_on_in_the_mode_that_the_lease_keeps(
    setup: Setup, make_operator: MakeOperator
) -> None:
    # As short as a busy machine can renew it.
    lease = ("--lease-duration=8", "--renew-deadline=6", "--retry-period=1")
    first = make_operator("auto", *lease, grace=1, takeover_after=3)
    second = make_operator("auto", *lease, grace=1, takeover_after=3, name="-second")
    become_own(setup, first)
    wait_for(lambda: kept_mode(setup) == "own", 30, "the mode in the Lease")
    assert second.mode == "assist"
    first.kill()
    second.becomes("own")
    setup.api.create(setup.pod("next"))
    setup.published("next")


@pytest.mark.slow
@pytest.mark.parametrize(
    "comes",
    [True, False],
    ids=["the stock controller comes", "the stock controller goes"],
)
def test_a_hand_over_under_churn_leaves_no_duplicate(
    setup: Setup, make_operator: MakeOperator, comes: bool
) -> None:
    operator = make_operator("auto", grace=2, takeover_after=4)
    plane = setup.plane
    if comes:
        become_own(setup, operator)
    else:
        plane.start_stock_controller(UNTHROTTLED)
    chance = random.Random(comes)
    workload = Workload(
        plane, setup.namespace, setup.devices(), chance, finishes=False, meddles=False
    )
    workload.prepare()
    with workload:
        workload.lasts(40)
        if comes:
            plane.start_stock_controller(UNTHROTTLED)
        else:
            plane.stop_part(CLAIM_CONTROLLER)
        workload.lasts(80)
    operator.becomes("assist" if comes else "own")

    def right() -> bool:
        return not Settled.read(setup.api, setup.namespace).differences()

    try:
        wait_for(right, ALL_CLAIMS + 60, "the world to be right", every=1)
    except TimeoutError as error:
        found = Settled.read(setup.api, setup.namespace).differences()
        raise AssertionError("\n".join(found)) from error
