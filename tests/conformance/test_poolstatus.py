"""Random pools, and their status by kube-controller-manager's own function and by dragoman."""

import os
from collections import Counter

import pytest

from tests.conformance.oracle import OracleUnavailableError
from tests.conformance.poolstatus import ORDERED, Json, differences, generate, ours
from tests.conformance.poolstatus_oracle import MODULES, oracle

pytestmark = pytest.mark.slow  # the first build of the oracle takes minutes

WORLDS = int(os.environ.get("DRAGOMAN_WORLDS", "300"))
AGAIN = 30
"""How often the same is asked: a Go map yields slices, and with them errors, in any order."""


@pytest.mark.parametrize("kubernetes", MODULES)
def test_pools_have_the_status_that_the_stock_controller_gives_them(kubernetes: str) -> None:
    try:
        asking = oracle(kubernetes)
    except OracleUnavailableError as reason:
        pytest.skip(str(reason))
    seen: Counter[str] = Counter()
    with asking:
        for seed in range(WORLDS):
            world = generate(seed)
            found = [ours(world, request) for request in world["requests"]]
            for one in (pool for pools in found for pool in pools):
                seen[one.get("validationError", "counted").partition(":")[0]] += 1
                seen.update(key for key in ("partitionSummary", "shareableSummary") if key in one)
            said = [""]
            for _ in range(AGAIN):
                answers = asking.ask(world)["statuses"]
                said = compared(world, found, answers, kubernetes)
                if not said:
                    break
            assert said == [], f"seed {seed}"
    print(dict(seen))
    if WORLDS >= 300:
        kinds = {"counted", "PoolIncomplete", "PoolInvalid", *(one[:-1] for one in ORDERED)}
        assert kinds <= seen.keys()
        assert seen["partitionSummary"] >= 20
        assert seen["shareableSummary"] >= 20


def compared(
    world: Json, found: list[list[Json]], answers: list[Json], kubernetes: str
) -> list[str]:
    """Return all differences of a world."""
    return [
        line
        for pools, answer in zip(found, answers, strict=True)
        for line in differences(world, pools, answer.get("pools") or [], kubernetes)
    ]
