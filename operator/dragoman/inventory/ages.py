"""API timestamps, and durations as kubectl prints them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

UNKNOWN: Final = "-"
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def seconds(now: str, then: str) -> float | None:
    """Return the seconds between two API timestamps, None where one of them is not a timestamp."""
    try:
        return (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds()
    except (ValueError, TypeError):
        return None


def moment(text: str) -> datetime | None:
    """Return an API timestamp with its zone, None where the text is not one."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo is None else found


def age(now: str, then: str) -> str:
    """Return the time between two API timestamps in words such as `41s`, `14m`, `5h`, `3d`."""
    elapsed = seconds(now, then)
    if elapsed is None:
        return UNKNOWN
    return duration(elapsed)


def duration(elapsed: float) -> str:
    """Return a number of seconds in words; what is negative counts as 0."""
    whole = max(int(elapsed), 0)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 2 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    return f"{whole // _DAY}d"
