"""Lists and watches that fail in every way: nothing is lost, nothing is made twice."""

import pytest

from tests.e2e.faults import impatient
from tests.e2e.faults.conftest import MakeStage
from tests.e2e.faults.proxy import Rule
from tests.e2e.faults.stage import ALONE, Stage
from tests.e2e.faults.streams import Ending
from tests.support.controlplane.api import wait_for

PLURALS = ("pods", "resourceclaims", "resourceclaimtemplates")


def break_watches(stage: Stage, how: Ending, rounds: int = 2) -> None:
    """End all watches that are open, let some time pass, and do it again."""
    for _ in range(rounds):
        stage.churn.lasts(10)
        stage.look()
        wait_for(lambda: stage.proxy.end_watches(how, *PLURALS), message="an open watch")
        stage.churn.lasts(10)


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
def test_watches_that_end_badly(make_stage: MakeStage, how: Ending) -> None:
    with make_stage(ALONE) as stage:
        break_watches(stage, how)
        stage.calm()


def test_a_watch_line_that_is_no_json(make_stage: MakeStage) -> None:
    with make_stage() as stage:
        break_watches(stage, Ending.GARBLED)
        stage.calm()


def test_watches_refused_with_410_and_lists_whose_continue_token_expires(
    make_stage: MakeStage,
) -> None:
    with make_stage(ALONE) as stage:
        stage.churn.lasts(20)
        unserved = Rule(lambda call: "sendInitialEvents" in call.query, 422, "Invalid")
        small = Rule(lambda call: "limit" in call.query, rewrite={"limit": "3"})
        expired = Rule(lambda call: "continue" in call.query, 410, "Expired", times=2)
        gone = Rule(lambda call: call.watches, 410, "Expired", times=4)
        stage.proxy.add(unserved, small, expired, gone)
        break_watches(stage, Ending.EXPIRED)
        assert expired.hits == 2
        assert gone.hits == 4
        stage.calm()


def test_a_storm_of_503_while_all_watches_are_down(make_stage: MakeStage) -> None:
    with make_stage(ALONE) as stage:
        stage.churn.lasts(15)
        stage.look()
        storm = stage.proxy.add(Rule(code=503, reason="ServiceUnavailable"))
        stage.proxy.end_watches(Ending.RESET)
        stage.churn.lasts(25)
        assert storm.hits > 5
        stage.calm()


def test_429_with_retry_after_on_everything(make_stage: MakeStage) -> None:
    with make_stage(ALONE) as stage:
        stage.churn.lasts(15)
        rule = Rule(code=429, reason="TooManyRequests", retry_after=1, share=0.7)
        stage.proxy.add(rule)
        stage.proxy.end_watches(Ending.RESET)
        stage.churn.lasts(25)
        assert rule.hits > 5
        stage.calm()


def test_watches_that_fall_silent(make_stage: MakeStage) -> None:
    with make_stage(ALONE, disguise=impatient) as stage:
        stage.churn.lasts(15)
        stage.look()
        wait_for(lambda: stage.proxy.end_watches(Ending.STALL, *PLURALS), message="a watch")
        stage.churn.lasts(30)
        stage.operator.check()
        stage.churn.__exit__(None, None, None)
        stage._settled(60)
        stage.calm()


@pytest.mark.slow
def test_a_latency_of_two_seconds(make_stage: MakeStage) -> None:
    with make_stage(ALONE) as stage:
        stage.proxy.add(Rule(delay=2.0, lag=2.0))
        break_watches(stage, Ending.RESET)
        stage.churn.lasts(60)
        stage.calm()


def test_a_claim_watch_that_lags_two_seconds(make_stage: MakeStage) -> None:
    with make_stage() as stage:
        stage.proxy.add(Rule(lambda call: call.is_about("resourceclaims"), lag=2.0))
        stage.proxy.end_watches(Ending.RESET, "resourceclaims")
        stage.churn.lasts(60)
        stage.look()
        stage.calm()


def test_a_token_that_was_rotated(make_stage: MakeStage) -> None:
    with make_stage(ALONE) as stage:
        stage.churn.lasts(15)
        old, user = stage.token.read_text(), stage.user
        stage.token.write_text(stage.plane.credentials.issuer.token(user.name, lifetime=3600))
        refused = stage.proxy.add(Rule(lambda call: call.token == old, 401, "Unauthorized"))
        stage.proxy.end_watches(Ending.CLEAN)
        stage.churn.lasts(25)
        assert refused.hits >= 1
        stage.calm()
