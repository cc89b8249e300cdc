"""Timestamps in integer nanoseconds, with the range and texts of Go and cel-go."""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Callable
from dataclasses import dataclass, field

from dragoman_cel.errors import OperationError
from dragoman_cel.values.durations import SECOND, Duration, duration_of
from dragoman_cel.values.zones import offset_in

_DAY = 86_400
_FIRST = -62_135_596_800
"""0001-01-01T00:00:00Z in Unix seconds."""
_LAST = 253_402_300_799
"""9999-12-31T23:59:59Z in Unix seconds."""
_EPOCH_DAY = 719_468
"""Days from 0000-03-01, where the leap-year arithmetic starts, to 1970-01-01."""
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time; its text has the offset, getters without a zone use UTC."""

    nanos: int  # Nanoseconds since 1970-01-01T00:00:00Z, from year 1 to year 9999
    # Seconds east of UTC of the zone it was written in
    offset: int = field(default=0, compare=False)

    @property
    def seconds(self) -> int:
        """Return whole seconds since 1970, rounded down: `int(timestamp)`."""
        return self.nanos // SECOND

    def plus(self, duration: Duration) -> Timestamp:
        """Return the later point, or raise `timestamp overflow`."""
        return _timestamp(self.nanos + duration.nanos, self.offset)

    def minus(self, duration: Duration) -> Timestamp:
        """Return the earlier point, or raise `timestamp overflow`."""
        return _timestamp(self.nanos - duration.negated().negated().nanos, self.offset)

    def since(self, other: Timestamp) -> Duration:
        """Return the time from the other point to this one, or raise `integer overflow`."""
        duration_of((self.seconds - other.seconds) * SECOND)
        return duration_of(self.nanos - other.nanos)

    def __str__(self) -> str:
        seconds, fraction = divmod(self.nanos, SECOND)
        days, clock = divmod(seconds + self.offset, _DAY)
        year, month, day = _civil_from_days(days)
        time = f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
        decimals = f".{fraction:09d}".rstrip("0") if fraction else ""
        return f"{year:04d}-{month:02d}-{day:02d}T{time}{decimals}{_zone(self.offset)}"


def parse_timestamp(text: str) -> Timestamp:
    """Parse RFC 3339 as liberally as Go's `time.Parse`: one-digit hours, comma fractions.

    Raises:
        OperationError: The text is not a timestamp, or outside years 1 to 9999.
    """
    match = _RFC3339.fullmatch(text)
    parsed = match and _from_parts(match)
    if parsed is None:
        raise OperationError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    return parsed


def timestamp_from_seconds(seconds: int) -> Timestamp:
    """Return the point so many seconds after 1970, or raise `timestamp overflow`."""
    return _timestamp(seconds * SECOND, 0)


def civil_nanos(year: int, month: int, day: int) -> int | None:
    """Return the midnight of a date in nanoseconds since 1970, None for an impossible date."""
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return None
    return _days_from_civil(year, month, day) * _DAY * SECOND


def _timestamp(nanos: int, offset: int) -> Timestamp:
    if not _FIRST <= nanos // SECOND <= _LAST:
        raise OperationError("timestamp overflow")
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
    return _timestamp(midnight + seconds * SECOND + fraction, offset)


def _zone(offset: int) -> str:
    if offset == 0:
        return "Z"
    minutes = abs(offset) // 60
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if isleap(year) else 28
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


_TimestampGetter = Callable[..., int]


def _of_day(part: Callable[[int], int]) -> _TimestampGetter:
    def getter(timestamp: Timestamp, zone: str | None = None) -> int:
        return part((timestamp.seconds + _offset(timestamp, zone)) // _DAY)

    return getter


def _of_clock(unit: int, size: int) -> _TimestampGetter:
    def getter(timestamp: Timestamp, zone: str | None = None) -> int:
        return (timestamp.seconds + _offset(timestamp, zone)) // unit % size

    return getter


def _milliseconds(timestamp: Timestamp, zone: str | None = None) -> int:
    _offset(timestamp, zone)
    return timestamp.nanos % SECOND // 1_000_000


def _offset(timestamp: Timestamp, zone: str | None) -> int:
    return 0 if zone is None else offset_in(zone, timestamp.seconds)


TIMESTAMP_GETTERS: dict[str, _TimestampGetter] = {
    "year": _of_day(lambda days: _civil_from_days(days)[0]),
    "month": _of_day(lambda days: _civil_from_days(days)[1] - 1),
    "day_of_month_1_based": _of_day(lambda days: _civil_from_days(days)[2]),
    "day_of_month": _of_day(lambda days: _civil_from_days(days)[2] - 1),
    "day_of_year": _of_day(_day_of_year),
    "day_of_week": _of_day(lambda days: (days + 4) % 7),
    "hours": _of_clock(3600, 24),
    "minutes": _of_clock(60, 60),
    "seconds": _of_clock(1, 60),
    "milliseconds": _milliseconds,
}
"""CEL's getters by the part in their overload ids: `(timestamp, zone=None) -> int`; a zone is an
IANA name or `+hh:mm`."""
