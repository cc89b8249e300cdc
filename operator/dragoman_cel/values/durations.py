"""Durations in integer nanoseconds, with the range and texts of Go and cel-go."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from dragoman_cel.errors import OperationError
from dragoman_cel.values.scalars import INT_MAX, UINT_MAX, checked_int, wrap_int64

SECOND = 1_000_000_000
"""Nanoseconds."""
_DURATION_PART = re.compile(r"(\d*)(?:\.(\d*))?([^.0-9]+)", re.ASCII)
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time."""

    nanos: int  # Nanoseconds, within int64 (about 292 years either way)

    def plus(self, other: Duration) -> Duration:
        """Return the sum, or raise `integer overflow`."""
        return duration_of(self.nanos + other.nanos)

    def minus(self, other: Duration) -> Duration:
        """Return the difference, or raise `integer overflow`."""
        return duration_of(self.nanos - other.nanos)

    def negated(self) -> Duration:
        """Return the opposite, or raise `integer overflow`."""
        return duration_of(-self.nanos)

    def seconds(self) -> float:
        """Return seconds with the double rounding of Go's `Seconds()`."""
        return _fractional(self.nanos, SECOND)

    def __str__(self) -> str:
        text = repr(self.seconds())
        # Only spans below 0.1 ms have an exponent, a negative one.
        return (f"{Decimal(text):f}" if "e" in text else text.removesuffix(".0")) + "s"


def parse_duration(text: str) -> Duration:
    """Parse a Go duration such as `1h30m`, `-1.5s` or `0`.

    Raises:
        OperationError: The text is not a duration, or beyond int64 nanoseconds.
    """
    nanos = _parse_nanos(text)
    if nanos is None:
        raise OperationError("type conversion error from 'string' to 'google.protobuf.Duration'")
    return Duration(nanos)


def duration_of(nanos: int) -> Duration:
    """Return the duration of so many nanoseconds, or raise `integer overflow`."""
    return Duration(checked_int(nanos))


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


DURATION_GETTERS: dict[str, Callable[[Duration], int]] = {
    "hours": lambda duration: int(_fractional(duration.nanos, 3600 * SECOND)),
    "minutes": lambda duration: int(_fractional(duration.nanos, 60 * SECOND)),
    "seconds": lambda duration: int(duration.seconds()),
    "milliseconds": lambda duration: _toward_zero(duration.nanos, 1_000_000),
}
"""CEL's getters by the unit in their overload ids: the whole duration in that unit."""


def _toward_zero(number: int, divisor: int) -> int:
    return number // divisor if number >= 0 else -(-number // divisor)
