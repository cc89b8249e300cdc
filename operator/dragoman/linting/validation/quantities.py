"""Amounts of quantities, exactly, without the CEL engine."""

import re
from fractions import Fraction
from typing import Any

_FORM = re.compile(r"([+-]?[0-9.]+)([KMGTPE]i|[numkMGTPE]|[eE]([+-]?[0-9]{1,3}))?", re.ASCII)
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def amount(value: Any) -> Fraction:
    """Return the amount of a quantity; 0 for what is none, which the schema reports."""
    match = _FORM.fullmatch(str(value)) if not isinstance(value, bool) else None
    if match is None or match[1].count(".") > 1 or match[1].strip("+-") == ".":
        return Fraction(0)
    number, suffix = Fraction(match[1].strip("+").rstrip(".") or "0"), match[2] or ""
    if match[3] is not None:
        return number * _ten(int(match[3]))
    if suffix in _BINARY:
        return number * (1 << 10 * _BINARY[suffix])
    return number * _ten(_POWERS.get(suffix, 0))


def _ten(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)
