"""Rates as options: `10/m`."""

import re
from typing import Any

import click

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_RATE = re.compile(r"(\d{1,6})/([smh])")


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
