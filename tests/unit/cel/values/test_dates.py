"""Dates and times of the API's string formats: Go's values and errors."""

import pytest

from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.dates import parse_date, parse_date_time


@pytest.mark.parametrize(
    ("text", "printed"),
    [("2024-02-29", "2024-02-29T00:00:00Z"), ("0000-01-01", "0000-01-01T00:00:00Z")],
)
def test_a_date_is_its_midnight(text: str, printed: str) -> None:
    assert str(parse_date(text)) == printed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("2024-02-30", 'parsing time "2024-02-30": day out of range'),
        ("2024-13-01", 'parsing time "2024-13-01": month out of range'),
        ("x", 'parsing time "x" as "2006-01-02": cannot parse "x" as "2006"'),
        ("2024-1-01", 'parsing time "2024-1-01" as "2006-01-02": cannot parse "1-01" as "01"'),
        ("2024/01", 'parsing time "2024/01" as "2006-01-02": cannot parse "/01" as "-"'),
        ("2024-01-01x", 'parsing time "2024-01-01x": extra text: "x"'),
        ("é", 'parsing time "\\xc3\\xa9" as "2006-01-02": cannot parse "\\xc3\\xa9" as "2006"'),
    ],
)
def test_what_is_no_date_is_refused_in_gos_words(text: str, complaint: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_date(text)
    assert caught.value.message == complaint


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2024-01-01T1:02:03.5+02:00", "2024-01-01T01:02:03.5+02:00"),
        ("2024-01-01T00:00:00", "2024-01-01T00:00:00Z"),
        ("", "1970-01-01T00:00:00Z"),
    ],
)
def test_a_date_and_time_may_lack_its_zone(text: str, printed: str) -> None:
    assert str(parse_date_time(text)) == printed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("2024-01-01T25:00:00Z", "hour out of range"),
        ("2024-01-01T00:60:00Z", "minute out of range"),
        ("2024-01-01T00:00:60", "second out of range"),
        ("2024-01-01T00:00:00+0100", 'extra text: "+0100"'),
        ("2024-01-01", 'cannot parse "" as "T"'),
    ],
)
def test_a_wrong_time_is_refused_as_one_without_zone(text: str, complaint: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_date_time(text)
    assert caught.value.message.endswith(complaint)
