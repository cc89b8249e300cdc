"""Durations as options, in the form of kubectl: `90s`, `1m30s`, `1.5h`, `500ms`, or seconds."""

import re
from typing import Any

import click

_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_PART = re.compile(rf"{_NUMBER}(h|ms|m|s)?", re.ASCII)
_WHOLE = re.compile(rf"(?:{_NUMBER}(?:h|ms|m|s))*(?:{_NUMBER})?", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}


class Duration(click.ParamType[float]):
    """Seconds; parts add up, and one without a unit is seconds."""

    name = "DURATION"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return seconds; fail for another form."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        if not text or not _WHOLE.fullmatch(text):
            self.fail(f"expected a duration such as 90s, 10m or 1h30m, found {value!r}", param, ctx)
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
