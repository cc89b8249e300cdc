"""Lists and watches that fail in every way: nothing is lost, nothing is made twice."""

import pytest

from tests.e2e.faults import short_timeouts
from tests.e2e.faults.conftest import MakeSetup
from tests.e2e.faults.proxy import Rule
from tests.e2e.faults.setup import ALONE, FaultSetup
from tests.e2e.faults.streams import Ending
from tests.support.controlplane.api import wait_for

PLURALS = ("pods", "resourceclaims", "resourceclaimtemplates")


def break_watches(setup: FaultSetup, how: Ending, rounds: int = 2) -> None:
    """End all watches that are open, let some time pass, and do it again."""
    for _ in range(rounds):
        setup.workload.lasts(10)
        setup.look()
        wait_for(lambda: setup.proxy.end_watches(how, *PLURALS), message="an open watch")
        setup.workload.lasts(10)


@pytest.mark.parametrize(
    "how",
    [
        Ending.EXPIRED,
        Ending.FAILED,
        Ending.CUT_AND_RESET,
        pytest.param(Ending.CUT_AND_CLEAN, marks=pytest.mark.slow),
        pytest.param(Ending.BUSY, marks=pytest.mark.slow),
        pytest.param(Ending.CLEAN, marks=pytest.mark.slow),
        pytest.param(Ending.RESET, marks=pytest.mark.slow),
    ],
    ids=lambda how: how.value if isinstance(how, Ending) else how,
)
def test_watches_that_end_badly(make_setup: MakeSetup, how: Ending) -> None:
    with make_setup(ALONE) as setup:
        break_watches(setup, how)
        setup.calm()


def test_a_watch_line_that_is_no_json(make_setup: MakeSetup) -> None:
    with make_setup() as setup:
        break_watches(setup, Ending.GARBLED)
        setup.calm()


def test_watches_refused_with_410_and_lists_whose_continue_token_expires(
    make_setup: MakeSetup,
) -> None:
    with make_setup(ALONE) as setup:
        setup.workload.lasts(20)
        unserved = Rule(lambda call: "sendInitialEvents" in call.query, 422, "Invalid")
        small = Rule(lambda call: "limit" in call.query, rewrite={"limit": "3"})
        expired = Rule(lambda call: "continue" in call.query, 410, "Expired", times=2)
        gone = Rule(lambda call: call.watches, 410, "Expired", times=4)
        setup.proxy.add(unserved, small, expired, gone)
        break_watches(setup, Ending.EXPIRED)
        assert expired.hits == 2
        assert gone.hits == 4
        setup.calm()


def test_a_storm_of_503_while_all_watches_are_down(make_setup: MakeSetup) -> None:
    with make_setup(ALONE) as setup:
        setup.workload.lasts(15)
        setup.look()
        storm = setup.proxy.add(Rule(code=503, reason="ServiceUnavailable"))
        setup.proxy.end_watches(Ending.RESET)
        setup.workload.lasts(25)
        assert storm.hits > 5
        setup.calm()


def test_429_with_retry_after_on_everything(make_setup: MakeSetup) -> None:
    with make_setup(ALONE) as setup:
        setup.workload.lasts(15)
        rule = Rule(code=429, reason="TooManyRequests", retry_after=1, share=0.7)
        setup.proxy.add(rule)
        setup.proxy.end_watches(Ending.RESET)
        setup.workload.lasts(25)
        assert rule.hits > 5
        setup.calm()


def test_watches_that_fall_silent(make_setup: MakeSetup) -> None:
    with make_setup(ALONE, disguise=short_timeouts) as setup:
        setup.workload.lasts(15)
        setup.look()
        wait_for(lambda: setup.proxy.end_watches(Ending.STALL, *PLURALS), message="a watch")
        setup.workload.lasts(30)
        setup.operator.check()
        setup.workload.__exit__(None, None, None)
        setup._settled(60)
        setup.calm()


@pytest.mark.slow
def test_a_latency_of_two_seconds(make_setup: MakeSetup) -> None:
    with make_setup(ALONE) as setup:
        setup.proxy.add(Rule(delay=2.0, lag=2.0))
        break_watches(setup, Ending.RESET)
        setup.workload.lasts(60)
        setup.calm()


def test_a_claim_watch_that_lags_two_seconds(make_setup: MakeSetup) -> None:
    with make_setup() as setup:
        setup.proxy.add(Rule(lambda call: call.is_about("resourceclaims"), lag=2.0))
        setup.proxy.end_watches(Ending.RESET, "resourceclaims")
        setup.workload.lasts(60)
        setup.look()
        setup.calm()


def test_a_token_that_was_rotated(make_setup: MakeSetup) -> None:
    with make_setup(ALONE) as setup:
        setup.workload.lasts(15)
        old, user = setup.token.read_text(), setup.user
        setup.token.write_text(setup.plane.credentials.issuer.token(user.name, lifetime=3600))
        refused = setup.proxy.add(Rule(lambda call: call.token == old, 401, "Unauthorized"))
        setup.proxy.end_watches(Ending.CLEAN)
        setup.workload.lasts(25)
        assert refused.hits >= 1
        setup.calm()
