"""Durations: the values, texts and errors of Go's time package and cel-go."""

from collections.abc import Callable

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.durations import DURATION_GETTERS, Duration, parse_duration
from dragoman_cel.values.timestamps import (
    timestamp_from_seconds,
)
from tests.support.gotexts import go_duration

LONGEST = "9223372036854775807ns"


@pytest.mark.parametrize(
    ("text", "nanos", "printed", "in_go"),
    [
        ("1h30m", 5400 * 10**9, "5400s", "1h30m0s"),
        ("-1.5h", -5400 * 10**9, "-5400s", "-1h30m0s"),
        ("90s", 90 * 10**9, "90s", "1m30s"),
        ("0", 0, "0s", "0s"),
        ("1ns", 1, "0.000000001s", "1ns"),
        ("1.5us", 1500, "0.0000015s", "1.5\u00b5s"),
        ("3\u00b5s", 3000, "0.000003s", "3\u00b5s"),
        ("100ms", 10**8, "0.1s", "100ms"),
        (".5s", 5 * 10**8, "0.5s", "500ms"),
        ("+1.s", 10**9, "1s", "1s"),
        (LONGEST, 2**63 - 1, "9223372036.854776s", "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", -(2**63), "-9223372036.854776s", "-2562047h47m16.854775808s"),
    ],
)
def test_durations(text: str, nanos: int, printed: str, in_go: str) -> None:
    duration = parse_duration(text)
    assert (duration.nanos, str(duration), go_duration(duration)) == (nanos, printed, in_go)


@pytest.mark.parametrize(
    "text", ["", "-", "1", "1d", "1 s", "s", ".s", "1h 1m", "9223372036854775808ns", "1e3s"]
)
def test_what_is_no_duration_is_a_conversion_error(text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_duration(text)
    assert caught.value.message == (
        "type conversion error from 'string' to 'google.protobuf.Duration'"
    )


def test_arithmetic_on_durations_overflows_at_int64() -> None:
    longest, nano = parse_duration(LONGEST), Duration(1)
    assert longest.minus(nano).plus(nano) == longest
    beyond: Callable[[], object]
    for beyond in (
        lambda: longest.plus(nano),
        lambda: longest.negated().minus(nano).minus(nano),
        lambda: Duration(-(2**63)).negated(),
        lambda: timestamp_from_seconds(0).minus(Duration(-(2**63))),
    ):
        with pytest.raises(EvaluationError, match=r"^integer overflow$"):
            beyond()


@pytest.mark.parametrize(
    ("text", "hours", "minutes", "seconds", "milliseconds"),
    [
        ("1h59m59.999s", 1, 119, 7199, 7199999),
        ("-1h59m59.999s", -1, -119, -7199, -7199999),
        ("2500000h59m59.999999999s", 2500001, 150000060, 9000003600, 9000003599999),
    ],
    ids=["they truncate", "toward zero", "after the rounding of doubles"],
)
def test_getters_of_durations(
    text: str, hours: int, minutes: int, seconds: int, milliseconds: int
) -> None:
    found = [get(parse_duration(text)) for get in DURATION_GETTERS.values()]
    assert found == [hours, minutes, seconds, milliseconds]
