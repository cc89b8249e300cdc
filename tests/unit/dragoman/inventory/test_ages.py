"""Durations read as kubectl's."""

import pytest

from dragoman.inventory.ages import age, duration


@pytest.mark.parametrize(
    ("elapsed", "text"),
    [
        *((-5, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h")),
        *((2 * 86400 - 1, "47h"), (2 * 86400, "2d"), (90 * 86400, "90d")),
    ],
)
def test_duration(elapsed: float, text: str) -> None:
    assert duration(elapsed) == text


@pytest.mark.parametrize("then", ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-22T12:00:00"])
def test_what_is_not_a_timestamp_has_an_unknown_age(then: str) -> None:
    assert age("2026-11-22T12:00:00Z", then) == "-"


def test_age() -> None:
    assert age("2026-11-22T12:00:00Z", "2026-11-22T11:46:00.123456Z") == "13m"
