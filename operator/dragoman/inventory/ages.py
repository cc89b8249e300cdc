"""API timestamps, and durations as kubectl prints them."""

from dragoman.model.timestamps import seconds

UNKNOWN = "-"
_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


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
