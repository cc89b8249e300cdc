"""Writes that are refused, lost on the way, or done without an answer."""

import pytest

from tests.e2e.faults import short_timeouts
from tests.e2e.faults.conftest import MakeSetup
from tests.e2e.faults.proxy import Loss, Rule
from tests.e2e.faults.setup import FaultSetup

SHARE = 0.4


def run(setup: FaultSetup, rule: Rule) -> None:
    """Let the rule befall a share of all writes for a while."""
    setup.workload.lasts(10)
    setup.proxy.add(rule)
    for _ in range(4):
        setup.workload.lasts(12)
        setup.look()
    assert rule.hits >= 5
    setup.calm()


def writes(**fault: object) -> Rule:
    return Rule(lambda call: call.writes, share=SHARE, **fault)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rule",
    [
        writes(loss=Loss.BEFORE),
        writes(loss=Loss.AFTER),
        writes(code=500, reason="InternalError"),
        writes(code=429, reason="TooManyRequests", retry_after=1),
        writes(code=409, reason="Conflict"),
        writes(code=404, reason="NotFound"),
        pytest.param(writes(code=503, reason="ServiceUnavailable"), marks=pytest.mark.slow),
        pytest.param(writes(code=403, reason="Forbidden"), marks=pytest.mark.slow),
        pytest.param(writes(code=504, reason="Timeout"), marks=pytest.mark.slow),
    ],
    ids=[
        "a reset before the server has done it",
        "a reset after the server has done it",
        "500",
        "429 with Retry-After",
        "409",
        "404",
        "503",
        "403",
        "504",
    ],
)
def test_a_share_of_all_writes_fails(make_setup: MakeSetup, rule: Rule) -> None:
    with make_setup() as setup:
        run(setup, rule)


@pytest.mark.parametrize(
    ("path", "loss"),
    [
        ("/resourceclaims", Loss.AFTER),
        ("/pods", Loss.AFTER),
        pytest.param("/resourceclaims", Loss.BEFORE, marks=pytest.mark.slow),
        pytest.param("/pods", Loss.BEFORE, marks=pytest.mark.slow),
    ],
    ids=[
        "claims, done without an answer",
        "statuses, done without an answer",
        "claims, lost on the way",
        "statuses, lost on the way",
    ],
)
def test_every_write_of_one_kind_is_lost_for_a_while(
    make_setup: MakeSetup, path: str, loss: Loss
) -> None:
    with make_setup() as setup:
        setup.workload.lasts(10)
        rule = setup.proxy.add(Rule(lambda call: call.writes and path in call.path, loss=loss))
        setup.workload.lasts(25)
        assert rule.hits >= 5
        setup.calm()


@pytest.mark.slow
def test_writes_that_hang_are_given_up_and_done_again(make_setup: MakeSetup) -> None:
    with make_setup(disguise=short_timeouts) as setup:
        run(setup, Rule(lambda call: call.writes, hangs=True, share=0.3))
