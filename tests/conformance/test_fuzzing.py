"""Answers of unstable order: which differences the fuzzer accepts, and which not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.fuzz import one_of

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
