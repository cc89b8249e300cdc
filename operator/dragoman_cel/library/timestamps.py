"""Getters of timestamps and durations: getHours, getDate and so on."""

from dragoman_cel.state import Functions, paced
from dragoman_cel.values.durations import DURATION_GETTERS
from dragoman_cel.values.timestamps import TIMESTAMP_GETTERS

_ZONE_PER_STEP = 1
"""Code points of a zone's name that a plain step reads."""


def _zoned(part: str) -> str:
    return f"timestamp_to_{part}_tz" if part == "seconds" else f"timestamp_to_{part}_with_tz"


OVERLOADS: Functions = {
    **{f"timestamp_to_{part}": getter for part, getter in TIMESTAMP_GETTERS.items()},
    **{f"duration_to_{part}": getter for part, getter in DURATION_GETTERS.items()},
}
STATEFUL: Functions = paced(
    _ZONE_PER_STEP, {_zoned(part): getter for part, getter in TIMESTAMP_GETTERS.items()}, call=3
)
