"""Durations and rates as options: `90s`, `10m`, `1h30m`; `10/m`."""

import re
from typing import Any

import click

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9}(?:\.\d{1,3})?)s?)?")
_RATE = re.compile(r"(\d{1,6})/([smh])")


class DurationParam(click.ParamType[float]):
    """Seconds, from the form that kubectl takes; 0 means without limit."""

    name = "DURATION"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse a duration."""
        if isinstance(value, float):
            return value
        found = _DURATION.fullmatch(str(value).strip())
        if not found or not any(found.groups()):
            self.fail(f"expected a duration such as 90s, 10m or 1h30m, found {value!r}", param, ctx)
        hours, minutes, seconds = (float(part or 0) for part in found.groups())
        return hours * _UNITS["h"] + minutes * _UNITS["m"] + seconds


class Rate(click.ParamType[float]):
    """Least seconds between two events, from `COUNT/s`, `COUNT/m` or `COUNT/h`."""

    name = "RATE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse a rate."""
        if isinstance(value, float):
            return value
        found = _RATE.fullmatch(str(value).strip())
        if not found or not int(found[1]):
            self.fail(f"expected a rate such as 10/m, found {value!r}", param, ctx)
        return _UNITS[found[2]] / int(found[1])
