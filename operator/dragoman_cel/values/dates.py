"""Dates and times of the API's string formats, with the errors of Go's `time.Parse`."""

import re
from typing import NamedTuple

from dragoman_cel.errors import OperationError
from dragoman_cel.values.timestamps import Timestamp, civil_nanos, parse_timestamp

_DATE = "2006-01-02"
_DATE_TIME = "2006-01-02T15:04:05"


class _Part(NamedTuple):
    """One part of a layout: its pattern, and the range of its number (None: any)."""

    name: str
    shape: re.Pattern[str]
    title: str = ""
    least: int = 0
    most: int | None = None


def _number(name: str, digits: str, title: str = "", least: int = 0, most: int = 99) -> _Part:
    return _Part(name, re.compile(digits, re.ASCII), title, least, most if title else None)


def _sign(text: str) -> _Part:
    return _Part(text, re.compile(re.escape(text)))


_DATE_PARTS = (
    _number("2006", r"\d{4}"),
    _sign("-"),
    _number("01", r"\d\d", "month", 1, 12),
    _sign("-"),
    _number("02", r"\d\d"),
)
_TIME_PARTS = (
    _sign("T"),
    _number("15", r"\d\d?", "hour", 0, 23),
    _sign(":"),
    _number("04", r"\d\d", "minute", 0, 59),
    _sign(":"),
    _number("05", r"\d\d(?:[.,]\d+)?", "second", 0, 59),
)


def parse_date(text: str) -> Timestamp:
    """Parse a full date, `2006-01-02`, to its midnight in UTC.

    Raises:
        OperationError: `parsing time ..`.
    """
    problem = _error(text, _DATE, _DATE_PARTS)
    if problem:
        raise OperationError(problem)
    # Go accepts year 0 here, unlike for timestamps.
    return Timestamp(civil_nanos(int(text[:4]), int(text[5:7]), int(text[8:])) or 0)


def parse_date_time(text: str) -> Timestamp:
    """Parse a date and time with a zone or without one, which is UTC; "" is 1970.

    Raises:
        OperationError: `parsing time ..`, as for a text without a zone.
    """
    for candidate in (text or "1970-01-01T00:00:00Z", f"{text}Z"):
        try:
            return parse_timestamp(candidate)
        except OperationError:
            continue
    raise OperationError(_error(text, _DATE_TIME, (*_DATE_PARTS, *_TIME_PARTS)))


def _error(text: str, layout: str, parts: tuple[_Part, ...]) -> str:
    """Return Go's error for a text, "" for a valid one."""
    shown, rest, numbers = _quoted(text), text, []
    for part in parts:
        match = part.shape.match(rest)
        if match is None:
            wanted = f"cannot parse {_quoted(rest)} as {_quoted(part.name)}"
            return f"parsing time {shown} as {_quoted(layout)}: {wanted}"
        if part.name[0].isdigit():
            numbers.append(int(re.split("[.,]", match[0])[0]))
        if part.most is not None and not part.least <= numbers[-1] <= part.most:
            return f"parsing time {shown}: {part.title} out of range"
        rest = rest[match.end() :]
    if rest:
        return f"parsing time {shown}: extra text: {_quoted(rest)}"
    if civil_nanos(*numbers[:3]) is None:
        return f"parsing time {shown}: day out of range"
    return ""


def _quoted(text: str) -> str:
    """Quote as Go's time package does, which escapes all but ASCII."""
    if text.isascii() and text.isprintable():
        text = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'
    plain = "".join(f"\\{char}" if char in '"\\' else _plain(char) for char in text)
    return f'"{plain}"'


def _plain(char: str) -> str:
    if " " <= char < "\x80":
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="replace"))
