"""Answers of unstable order: which differences the fuzzer accepts, and which not."""

from typing import Any

import pytest

from tests.conformance.fuzz import one_of
from tests.conformance.fuzzing.cases import SelectorCase
from tests.conformance.fuzzing.deviations import MUTABLE_QUANTITIES, explanation
from tests.conformance.fuzzing.expressions import Tree

GIVEN = [{"match": True, "actual_cost": cost} for cost in (5, 9, 14)]


@pytest.mark.parametrize(
    "ours",
    [
        pytest.param({"match": True, "actual_cost": 9}, id="an answer that Go gives"),
        pytest.param({"match": True, "actual_cost": 11}, id="a cost between those of Go"),
    ],
)
def test_one_of_several_answers_is_excused(ours: dict[str, Any]) -> None:
    assert one_of(GIVEN, ours)


@pytest.mark.parametrize(
    "ours",
    [
        pytest.param({"match": False, "actual_cost": 9}, id="another outcome"),
        pytest.param({"match_error": "no such key", "actual_cost": 9}, id="an error"),
        pytest.param({"match": True, "actual_cost": 20}, id="a cost above those of Go"),
        pytest.param({"match": True, "actual_cost": 4}, id="a cost below those of Go"),
        pytest.param({"crash": "TypeError()"}, id="a crash"),
    ],
)
def test_answers_that_vary_excuse_nothing_else(ours: dict[str, Any]) -> None:
    assert not one_of(GIVEN, ours)


MEMORY = 'device.capacity["dra.example.com"].memory'


@pytest.mark.parametrize(
    ("capacity", "cost", "explained"),
    [
        pytest.param("100Ti", 13, MUTABLE_QUANTITIES, id="Go adds to the capacity itself"),
        pytest.param("100Ti", 14, "", id="another cost"),
        pytest.param("10Ti", 13, "", id="a capacity that Go does not change"),
    ],
)
def test_a_sum_is_excused_only_where_go_changes_the_capacity(
    capacity: str, cost: int, explained: str
) -> None:
    """Kubernetes 1.36 answers true for 100Ti, which it keeps as a decimal, and false for 10Ti."""
    total = f'{MEMORY}.add(quantity("1"))'
    tree = Tree(("bool",), (f'{total}.isLessThan(quantity("1").add({MEMORY}))',))
    device = {"attributes": {}, "capacity": {"dra.example.com/memory": {"value": capacity}}}
    theirs = {"actual_cost": cost, "match": True, "max_cost": 13, "type": "bool"}
    assert explanation(SelectorCase(tree, device, lists=False), theirs) == explained
