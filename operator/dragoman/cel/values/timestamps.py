"""Timestamps and durations in integer nanoseconds, with the ranges and texts of Go and cel-go."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dragoman.cel.errors import EvaluationError
from dragoman.cel.values.scalars import INT_MAX, INT_MIN, UINT_MAX, wrap_int64
from dragoman.cel.values.zones import offset_in

_SECOND: Final = 1_000_000_000
_DAY: Final = 86_400
_FIRST: Final = -62_135_596_800
"""0001-01-01T00:00:00Z in Unix seconds."""
_LAST: Final = 253_402_300_799
"""9999-12-31T23:59:59Z in Unix seconds."""
_EPOCH_DAY: Final = 719_468
"""Days from 0000-03-01, where the leap-year arithmetic starts, to 1970-01-01."""

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_DURATION_PART = re.compile(r"(\d*)(?:\.(\d*))?([^.0-9]+)", re.ASCII)
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time.

    Attributes:
        nanos: nanoseconds, within int64 (about 292 years either way).
    """

    nanos: int

    def plus(self, other: Duration) -> Duration:
        """Return the sum, or raise `integer overflow`."""
        return _duration(self.nanos + other.nanos)

    def minus(self, other: Duration) -> Duration:
        """Return the difference, or raise `integer overflow`."""
        return _duration(self.nanos - other.nanos)

    def negated(self) -> Duration:
        """Return the opposite, or raise `integer overflow`."""
        return _duration(-self.nanos)

    def seconds(self) -> float:
        """Return seconds with the double rounding of Go's `Seconds()`."""
        return _fractional(self.nanos, _SECOND)

    def go_string(self) -> str:
        """Return the form of Go's `String()`, such as `1h2m3.5s`."""
        return _go_duration(self.nanos)

    def __str__(self) -> str:
        text = repr(self.seconds())
        # Only spans below 0.1 ms have an exponent, a negative one.
        return (_plain(text) if "e" in text else text.removesuffix(".0")) + "s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time; its text has the offset, getters without a zone use UTC.

    Attributes:
        nanos: nanoseconds since 1970-01-01T00:00:00Z, from year 1 to year 9999.
        offset: seconds east of UTC of the zone it was written in.
    """

    nanos: int
    offset: int = field(default=0, compare=False)

    @property
    def seconds(self) -> int:
        """Return whole seconds since 1970, rounded down: `int(timestamp)`."""
        return self.nanos // _SECOND

    def plus(self, duration: Duration) -> Timestamp:
        """Return the later point, or raise `timestamp overflow`."""
        return _timestamp(self.nanos + duration.nanos, self.offset)

    def minus(self, duration: Duration) -> Timestamp:
        """Return the earlier point, or raise `timestamp overflow`."""
        return _timestamp(self.nanos - duration.negated().negated().nanos, self.offset)

    def since(self, other: Timestamp) -> Duration:
        """Return the time from the other point to this one, or raise `integer overflow`."""
        _duration((self.seconds - other.seconds) * _SECOND)
        return _duration(self.nanos - other.nanos)

    def go_string(self) -> str:
        """Return the form of Go's `String()`, such as `2024-01-01 00:00:00 +0200 +0200`."""
        if self.offset == 0:
            return f"{_date_time(self, ' ')} +0000 UTC"
        zone = _zone(self.offset).replace(":", "")
        return f"{_date_time(self, ' ')} {zone} {zone}"

    def __str__(self) -> str:
        zone = _zone(self.offset) if self.offset else "Z"
        return _date_time(self, "T") + zone


def parse_timestamp(text: str) -> Timestamp:
    """Parse RFC 3339 as liberally as Go's `time.Parse`: one-digit hours, comma fractions.

    Raises:
        EvaluationError: the text is not a timestamp, or outside years 1 to 9999.
    """
    match = _RFC3339.fullmatch(text)
    parsed = match and _from_parts(match)
    if parsed is None:
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    return _timestamp(parsed.nanos, parsed.offset)


def timestamp_from_seconds(seconds: int) -> Timestamp:
    """Return the point so many seconds after 1970, or raise `timestamp overflow`."""
    return _timestamp(seconds * _SECOND, 0)


def parse_duration(text: str) -> Duration:
    """Parse a Go duration such as `1h30m`, `-1.5s` or `0`.

    Raises:
        EvaluationError: the text is not a duration, or beyond int64 nanoseconds.
    """
    nanos = _parse_nanos(text)
    if nanos is None:
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Duration'")
    return Duration(nanos)


def civil_nanos(year: int, month: int, day: int) -> int | None:
    """Return the midnight of a date in nanoseconds since 1970, None for an impossible date."""
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return None
    return _days_from_civil(year, month, day) * _DAY * _SECOND


def _duration(nanos: int) -> Duration:
    if not INT_MIN <= nanos <= INT_MAX:
        raise EvaluationError("integer overflow")
    return Duration(nanos)


def _timestamp(nanos: int, offset: int) -> Timestamp:
    if not _FIRST <= nanos // _SECOND <= _LAST:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos, offset)


def _from_parts(match: re.Match[str]) -> Timestamp | None:
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    midnight = civil_nanos(year, month, day)
    if midnight is None or hour > 23 or minute > 59 or second > 59:
        return None
    offset = 0
    if match[8]:
        # Go accepts offsets of exactly 24 hours and 60 minutes.
        zone_hour, zone_minute = int(match[9]), int(match[10])
        if zone_hour > 24 or zone_minute > 60:
            return None
        offset = (zone_hour * 60 + zone_minute) * (-60 if match[8] == "-" else 60)
    fraction = int((match[7] or "")[:9].ljust(9, "0"))
    seconds = hour * 3600 + minute * 60 + second - offset
    return Timestamp(midnight + seconds * _SECOND + fraction, offset)


def _parse_nanos(text: str) -> int | None:
    negative = text[:1] == "-"
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    total = position = 0
    while position < len(rest) or not rest:
        match = _DURATION_PART.match(rest, position)
        nanos = _part_nanos(match) if match else None
        if match is None or nanos is None:
            return None
        total = (total + nanos) & UINT_MAX
        if total > 1 << 63:
            return None
        position = match.end()
    if negative:
        return wrap_int64(-total)
    return total if total <= INT_MAX else None


def _part_nanos(match: re.Match[str]) -> int | None:
    whole, fraction, unit = match[1], match[2] or "", _UNITS.get(match[3])
    if unit is None or not (whole or fraction) or len(whole.lstrip("0")) > 19:
        return None
    nanos = int(whole.lstrip("0") or "0")
    if nanos > (1 << 63) // unit:
        return None
    nanos *= unit
    numerator, scale = _leading_fraction(fraction)
    if numerator:
        nanos += int(float(numerator) * (float(unit) / scale))
    return nanos if nanos <= 1 << 63 else None


def _leading_fraction(digits: str) -> tuple[int, float]:
    """Parse as many decimals as fit; Go ignores the rest."""
    numerator, scale = 0, 1.0
    for digit in digits:
        if numerator > INT_MAX // 10 or numerator * 10 + int(digit) > 1 << 63:
            break
        numerator = numerator * 10 + int(digit)
        scale *= 10
    return numerator, scale


def _fractional(nanos: int, unit: int) -> float:
    """Divide as Go does: whole and rest apart, both toward zero, then added as doubles."""
    whole, rest = divmod(abs(nanos), unit)
    value = float(whole) + float(rest) / float(unit)
    return -value if nanos < 0 else value


def _plain(text: str) -> str:
    """Write a number's shortest text without the negative exponent."""
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.lstrip("-").replace(".", "")
    return f"{sign}0.{'0' * (-int(exponent) - 1)}{digits}"


def _go_duration(nanos: int) -> str:
    sign, rest = ("-" if nanos < 0 else ""), abs(nanos)
    if rest < _SECOND:
        return sign + _go_below_second(rest)
    minutes, below = divmod(rest, 60 * _SECOND)
    seconds = _trimmed(below, 9) + "s"
    if minutes < 60:
        return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds
    return f"{sign}{minutes // 60}h{minutes % 60}m{seconds}"


def _go_below_second(nanos: int) -> str:
    if nanos == 0:
        return "0s"
    if nanos < 1_000:
        return f"{nanos}ns"
    if nanos < 1_000_000:
        return _trimmed(nanos, 3) + "\u00b5s"
    return _trimmed(nanos, 6) + "ms"


def _trimmed(number: int, decimals: int) -> str:
    whole, rest = divmod(number, 10**decimals)
    return f"{whole}.{rest:0{decimals}d}".rstrip("0").rstrip(".")


def _zone(offset: int) -> str:
    minutes = abs(offset) // 60
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _date_time(timestamp: Timestamp, separator: str) -> str:
    seconds, fraction = divmod(timestamp.nanos, _SECOND)
    days, clock = divmod(seconds + timestamp.offset, _DAY)
    year, month, day = _civil_from_days(days)
    decimals = f".{fraction:09d}".rstrip("0") if fraction else ""
    date = f"{year:04d}-{month:02d}-{day:02d}"
    return f"{date}{separator}{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}{decimals}"


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if _is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Return days since 1970; Python's dates end at years 1 and 9999, and offsets exceed them."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return (
        era * 146_097
        + year_of_era * 365
        + year_of_era // 4
        - year_of_era // 100
        + day_of_year
        - _EPOCH_DAY
    )


def _civil_from_days(days: int) -> tuple[int, int, int]:
    era, day_of_era = divmod(days + _EPOCH_DAY, 146_097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    return era * 400 + year + (month <= 2), month, day


def _day_of_year(days: int) -> int:
    return days - _days_from_civil(_civil_from_days(days)[0], 1, 1)


_DayGetter = Callable[[int], int]
_TimestampGetter = Callable[..., int]


def _of_day(part: _DayGetter) -> _TimestampGetter:
    def getter(timestamp: Timestamp, zone: str | None = None) -> int:
        return part((timestamp.seconds + _offset(timestamp, zone)) // _DAY)

    return getter


def _of_clock(unit: int, size: int) -> _TimestampGetter:
    def getter(timestamp: Timestamp, zone: str | None = None) -> int:
        return (timestamp.seconds + _offset(timestamp, zone)) // unit % size

    return getter


def _milliseconds(timestamp: Timestamp, zone: str | None = None) -> int:
    _offset(timestamp, zone)
    return timestamp.nanos % _SECOND // 1_000_000


def _offset(timestamp: Timestamp, zone: str | None) -> int:
    return 0 if zone is None else offset_in(zone, timestamp.seconds)


TIMESTAMP_GETTERS: Final[dict[str, _TimestampGetter]] = {
    "getFullYear": _of_day(lambda days: _civil_from_days(days)[0]),
    "getMonth": _of_day(lambda days: _civil_from_days(days)[1] - 1),
    "getDate": _of_day(lambda days: _civil_from_days(days)[2]),
    "getDayOfMonth": _of_day(lambda days: _civil_from_days(days)[2] - 1),
    "getDayOfYear": _of_day(_day_of_year),
    "getDayOfWeek": _of_day(lambda days: (days + 4) % 7),
    "getHours": _of_clock(3600, 24),
    "getMinutes": _of_clock(60, 60),
    "getSeconds": _of_clock(1, 60),
    "getMilliseconds": _milliseconds,
}
"""CEL's getters by name: `(timestamp, zone=None) -> int`; a zone is an IANA name or `+hh:mm`."""

DURATION_GETTERS: Final[dict[str, Callable[[Duration], int]]] = {
    "getHours": lambda duration: int(_fractional(duration.nanos, 3600 * _SECOND)),
    "getMinutes": lambda duration: int(_fractional(duration.nanos, 60 * _SECOND)),
    "getSeconds": lambda duration: int(duration.seconds()),
    "getMilliseconds": lambda duration: _toward_zero(duration.nanos, 1_000_000),
}
"""CEL's getters by name: the whole duration in that unit."""


def _toward_zero(number: int, divisor: int) -> int:
    return number // divisor if number >= 0 else -(-number // divisor)
