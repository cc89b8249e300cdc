"""Getters of timestamps and durations: getHours, getDate and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dragoman.cel.state import Functions, paced
from dragoman.cel.values.durations import DURATION_GETTERS
from dragoman.cel.values.timestamps import TIMESTAMP_GETTERS

_PARTS: Final = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}
_ZONE_SUFFIX: Final = {"getSeconds": "_tz"}
_ZONE_PER_STEP: Final = 256
"""Code points of a zone's name that a plain step reads."""


def _all() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for name, part in _PARTS.items():
        found[f"timestamp_to_{part}"] = TIMESTAMP_GETTERS[name]
    for name, getter in DURATION_GETTERS.items():
        found[f"duration_to_{_PARTS[name]}"] = getter
    return found


def _zoned() -> Functions:
    suffixes = {name: _ZONE_SUFFIX.get(name, "_with_tz") for name in _PARTS}
    return {
        f"timestamp_to_{part}{suffixes[name]}": TIMESTAMP_GETTERS[name]
        for name, part in _PARTS.items()
    }


OVERLOADS: Final[Functions] = _all()
STATEFUL: Final[Functions] = paced(_ZONE_PER_STEP, _zoned())
