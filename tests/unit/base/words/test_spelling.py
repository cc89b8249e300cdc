"""Only the closest name is suggested, within a budget."""

import pytest

from dragoman_base.words.spelling import (
    LETTER_PAIRS,
    MAX_NAME,
    SuggestionBudget,
    closest,
    edit_distance,
)

NAMES = ["strategy", "timeSlicingConfig", "mpsConfig", "interval"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("strateg", "strategy"),
        ("stratgey", "strategy"),
        ("Strategy", "strategy"),
        ("timeSlicingCfg", "timeSlicingConfig"),
        ("timeslicingconfig", "timeSlicingConfig"),
        ("mpsConf", "mpsConfig"),
        ("x", None),
        ("", None),
        ("policy", None),
        ("s" * 10_000, None),
    ],
)
def test_the_nearest_name_is_found(name: str, meant: str | None) -> None:
    assert closest(name, NAMES) == meant


@pytest.mark.parametrize(
    ("one", "two", "apart"),
    [
        ("a.b", "A.B", 0),
        ("abc", "abd", 1),
        ("abc", "ab", 1),
        ("abcd", "abdc", 1),
        ("abcdef", "xbcdey", 2),
        ("abcdef", "bcdefg", 2),
        ("kitten", "sitting", 3),
    ],
)
def test_letters_apart_are_counted_up_to_the_limit(one: str, two: str, apart: int) -> None:
    assert edit_distance(one, two, 3) == apart
    assert edit_distance(two, one, 3) == apart
    if apart:
        assert edit_distance(one, two, apart - 1) is None


def test_long_names_are_near_only_when_they_differ_in_letter_case() -> None:
    long = "a" * (MAX_NAME + 1)
    assert edit_distance(long, long.upper(), 2) == 0
    assert edit_distance(long, long + "b", 2) is None


LONG = ["".join("abcd"[(n >> 2 * i) & 3] for i in range(8)) * 8 for n in range(0, 65_536, 97)]


def test_a_search_that_takes_too_long_suggests_nothing() -> None:
    budget = SuggestionBudget()
    assert closest("bcda" * 15, LONG, budget=budget) is None
    assert budget.left < 0
    assert budget.steps == LETTER_PAIRS // 3


def test_searches_share_their_effort() -> None:
    budget = SuggestionBudget()
    assert closest("strateg", NAMES, budget=budget) == "strategy"
    spent = LETTER_PAIRS - budget.left
    assert closest("intervall", NAMES, budget=budget) == "interval"
    assert LETTER_PAIRS - budget.left > spent
    budget.left = 0
    assert closest("strateg", NAMES, budget=budget) is None
