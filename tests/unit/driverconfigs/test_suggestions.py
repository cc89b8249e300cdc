"""What did somebody mean? Only names that are really near are suggested."""

from __future__ import annotations

import pytest

from dragoman.driverconfigs.suggestions import EFFORT, MAX_NAME, Effort, distance, nearest

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
    assert nearest(name, NAMES) == meant


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
    assert distance(one, two, 3) == apart
    assert distance(two, one, 3) == apart
    if apart:
        assert distance(one, two, apart - 1) is None


def test_long_names_are_near_only_when_they_differ_in_letter_case() -> None:
    long = "a" * (MAX_NAME + 1)
    assert distance(long, long.upper(), 2) == 0
    assert distance(long, long + "b", 2) is None


LONG = ["".join("abcd"[(n >> 2 * i) & 3] for i in range(8)) * 8 for n in range(0, 65_536, 97)]


def test_a_search_that_takes_too_long_suggests_nothing() -> None:
    effort = Effort()
    assert nearest("bcda" * 15, LONG, effort=effort) is None
    assert effort.left < 0
    assert effort.steps == EFFORT // 3


def test_searches_share_their_effort() -> None:
    effort = Effort()
    assert nearest("strateg", NAMES, effort=effort) == "strategy"
    spent = EFFORT - effort.left
    assert nearest("intervall", NAMES, effort=effort) == "interval"
    assert EFFORT - effort.left > spent
    effort.left = 0
    assert nearest("strateg", NAMES, effort=effort) is None
