"""Time zones of CEL's timestamp getters: IANA names and offsets such as `+05:30`."""

import re
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from dragoman_cel.errors import OperationError
from dragoman_cel.values.quoting import quoted
from dragoman_cel.values.scalars import INT_MAX, INT_MIN, wrap_int64

_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_EARLIEST = -62_135_596_800 + 86_400
_LATEST = 253_402_300_799 - 86_400


def offset_in(zone: str, seconds: int) -> int:
    """Return the offset of a zone at a Unix time, in seconds east of UTC.

    Raises:
        OperationError: The zone does not exist, or the offset is not a number.
    """
    if ":" in zone:
        return _numeric_offset(zone)
    if zone in ("", "UTC", "Local"):
        return 0
    found = _zone(zone)
    if not _EARLIEST <= seconds <= _LATEST:
        # One day within Python's range; no zone's rule changes there.
        seconds = _EARLIEST if seconds < _EARLIEST else _LATEST
    offset = datetime.fromtimestamp(seconds, found).utcoffset()
    return offset.days * 86_400 + offset.seconds if offset else 0


@lru_cache(64)
def _zone(zone: str) -> ZoneInfo:
    return _named(zone)


def _named(zone: str) -> ZoneInfo:
    if ".." in zone or zone[0] in "/\\":
        raise OperationError("time: invalid location name")
    # Only names from the list reach the file system, so expressions cannot probe other paths.
    if zone not in _names():
        raise OperationError(lambda: f"unknown time zone {zone}")
    return ZoneInfo(zone)


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(available_timezones())


def _numeric_offset(zone: str) -> int:
    hours_text, _, minutes_text = zone.partition(":")
    hours, minutes = _number(hours_text), _number(minutes_text)
    total = hours * 60 - minutes if zone[0] == "-" else hours * 60 + minutes
    nanos = wrap_int64(wrap_int64(total) * 60_000_000_000)
    return nanos // 1_000_000_000


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise OperationError(lambda: f"strconv.Atoi: parsing {quoted(text)}: invalid syntax")
    digits = text.lstrip("+-").lstrip("0")
    number = int(digits or "0") if len(digits) <= 19 else INT_MAX + 1
    number = -number if text[0] == "-" else number
    if not INT_MIN <= number <= INT_MAX:
        raise OperationError(lambda: f"strconv.Atoi: parsing {quoted(text)}: value out of range")
    return number
