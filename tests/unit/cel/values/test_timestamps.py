"""Timestamps: the values, texts and errors of Go's time package and cel-go."""

from collections.abc import Callable

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.durations import Duration
from dragoman_cel.values.timestamps import (
    TIMESTAMP_GETTERS,
    parse_timestamp,
    timestamp_from_seconds,
)

FIRST = "0001-01-01T00:00:00Z"
LAST = "9999-12-31T23:59:59.999999999Z"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2024-02-29T12:34:56Z", "2024-02-29T12:34:56Z"),
        ("2024-01-01T00:00:00.120+05:30", "2024-01-01T00:00:00.12+05:30"),
        ("2024-01-01T1:02:03Z", "2024-01-01T01:02:03Z"),
        ("2024-01-01T00:00:00,5-08:00", "2024-01-01T00:00:00.5-08:00"),
        ("2024-01-01T00:00:00.1234567899Z", "2024-01-01T00:00:00.123456789Z"),
        ("2024-01-01T00:00:00+00:00", "2024-01-01T00:00:00Z"),
        (FIRST, FIRST),
        (LAST, LAST),
    ],
)
def test_timestamps_keep_their_offset_and_nanoseconds(text: str, printed: str) -> None:
    assert str(parse_timestamp(text)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-01-01",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-01-01t00:00:00Z",
        "2024-01-01T00:00:00z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:60Z",
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:00+25:00",
        "٢024-01-01T00:00:00Z",
    ],
)
def test_what_is_no_timestamp_is_a_conversion_error(text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_timestamp(text)
    assert caught.value.message == (
        "type conversion error from 'string' to 'google.protobuf.Timestamp'"
    )


def test_offsets_do_not_count_in_comparison() -> None:
    assert parse_timestamp("2024-01-01T02:00:00+02:00") == parse_timestamp("2024-01-01T00:00:00Z")
    assert parse_timestamp("2024-01-01T00:00:00+02:00") < parse_timestamp("2024-01-01T00:00:00Z")


def test_timestamps_end_at_years_1_and_9999() -> None:
    nano = Duration(1)
    beyond: Callable[[], object]
    for beyond in (
        lambda: parse_timestamp(LAST).plus(nano),
        lambda: parse_timestamp(FIRST).minus(nano),
        lambda: parse_timestamp("0001-01-01T00:00:00+01:00"),
        lambda: timestamp_from_seconds(253402300800),
    ):
        with pytest.raises(EvaluationError, match=r"^timestamp overflow$"):
            beyond()


def test_the_time_between_two_points_is_bounded_by_int64_nanoseconds() -> None:
    assert parse_timestamp("2024-01-01T00:00:01Z").since(
        parse_timestamp("2024-01-01T00:00:00.5Z")
    ) == Duration(500_000_000)
    with pytest.raises(EvaluationError, match=r"^integer overflow$"):
        parse_timestamp(LAST).since(parse_timestamp(FIRST))


@pytest.mark.parametrize(
    ("getter", "utc", "new_york", "kolkata"),
    [
        ("year", 2024, 2023, 2024),
        ("month", 0, 11, 0),
        ("day_of_month_1_based", 1, 31, 1),
        ("day_of_month", 0, 30, 0),
        ("day_of_year", 0, 364, 0),
        ("day_of_week", 1, 0, 1),
        ("hours", 1, 20, 6),
        ("minutes", 2, 2, 32),
        ("seconds", 3, 3, 3),
        ("milliseconds", 456, 456, 456),
    ],
)
def test_getters_answer_in_utc_or_in_the_zone_asked_for(
    getter: str, utc: int, new_york: int, kolkata: int
) -> None:
    moment = parse_timestamp("2024-01-01T03:02:03.456789+02:00")
    get = TIMESTAMP_GETTERS[getter]
    assert get(moment) == utc
    assert get(moment, "America/New_York") == new_york
    assert get(moment, "+05:30") == get(moment, "Asia/Kolkata") == kolkata


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        ("Nowhere/X", "unknown time zone Nowhere/X"),
        ("../etc/passwd", "time: invalid location name"),
        ("/etc/passwd", "time: invalid location name"),
        ("x:1", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("1:", 'strconv.Atoi: parsing "": invalid syntax'),
        (
            "99999999999999999999:0",
            'strconv.Atoi: parsing "99999999999999999999": value out of range',
        ),
    ],
)
def test_zones_that_do_not_exist(zone: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        TIMESTAMP_GETTERS["hours"](parse_timestamp(FIRST), zone)
    assert caught.value.message == message


def test_local_dates_may_lie_outside_of_the_range_of_timestamps() -> None:
    assert TIMESTAMP_GETTERS["year"](parse_timestamp(FIRST), "-08:00") == 0
    assert TIMESTAMP_GETTERS["year"](parse_timestamp(LAST), "+08:00") == 10_000
