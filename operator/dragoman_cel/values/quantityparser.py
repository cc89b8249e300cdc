"""Parses quantities as `ParseQuantity` of apimachinery does."""

import re

from dragoman_cel.errors import OperationError
from dragoman_cel.values.quantity import (
    BINARY,
    DECIMAL,
    DIGITS_MAX,
    PLAIN,
    TOO_LARGE,
    Quantity,
    ten,
)
from dragoman_cel.values.scalars import INT_MAX, INT_MIN

_WRONG_FORM = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_WRONG_SUFFIX = "unable to parse quantity's suffix"

_SHAPE = re.compile(
    r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?[0-9]*+)", re.ASCII
)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)

_NANO = -9
_FACTORS = 18
"""Decimal digits that always fit into an int64."""


def parse_quantity(text: str) -> Quantity:
    """Parse a quantity as apimachinery's `ParseQuantity` does.

    Raises:
        OperationError: The text is not a quantity, with apimachinery's message.
    """
    match = _SHAPE.fullmatch(text) if text else None
    if match is None:
        raise OperationError(_WRONG_FORM)
    sign, zeros, digits, fraction, suffix = match.groups()
    fraction = fraction or ""
    family, exponent = _interpret(suffix)
    negative = sign == "-"
    small = _small(digits or "0", fraction, family, exponent, text)
    if small is None and not (zeros or digits or fraction):
        raise OperationError("unable to parse numeric part of quantity")
    return small or _decimal(digits, fraction, family, exponent, negative=negative)


def is_quantity(text: str) -> bool:
    """Return whether `parse_quantity` accepts the text."""
    try:
        parse_quantity(text)
    except OperationError:
        return False
    return True


def _interpret(suffix: str) -> tuple[str, int]:
    if (exponent := DECIMAL.get(suffix)) is not None:
        return "SI", exponent
    if (exponent := BINARY.get(suffix)) is not None:
        return "binary", exponent
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > 25:
        raise OperationError(_WRONG_SUFFIX)
    exponent = int(match[1])
    if not INT_MIN <= exponent <= INT_MAX:
        raise OperationError(_WRONG_SUFFIX)
    # Go converts the exponent to an int32.
    return "exponent", ((exponent + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def _small(digits: str, fraction: str, family: str, exponent: int, text: str) -> Quantity | None:
    if family == "binary":
        factor = 1 << exponent
        room = -1 if fraction else 15 - len(digits) - exponent * 3 // 10 - 1
        scale = 0
    else:
        factor = 1
        room = _FACTORS - len(digits) - len(fraction)
        scale = exponent - len(fraction)
    if room < 0 or scale < _NANO:
        return None
    number = int(digits + fraction)
    value = number * factor
    if value > INT_MAX:
        return None
    signed = -value if text[0] == "-" else value
    kept = text if _is_canonical(number, digits + fraction, family, scale) else ""
    return Quantity(signed, scale, suffix=family, text=kept)


def _is_canonical(number: int, digits: str, family: str, scale: int) -> bool:
    """Return whether Go keeps the text as written, by the same short check."""
    if family == "binary":
        return number & 7 != 0
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _decimal(digits: str, fraction: str, family: str, exponent: int, *, negative: bool) -> Quantity:
    value, scale = _whole(digits + fraction), -len(fraction)
    binary = family == "binary"
    if binary:
        value <<= exponent
    else:
        scale += exponent
    apart = binary or not 0 <= scale < _FACTORS or abs(value) * ten(scale) > INT_MAX + negative
    value, scale = _rounded_to_nano(value, scale)
    if binary:
        value, scale, family = _capped(value, scale)
    signed = -value if negative else value
    return Quantity(signed, scale, decimal=True, apart=apart, suffix=family)


def _whole(digits: str) -> int:
    digits = digits.lstrip("0")
    if len(digits) > DIGITS_MAX:
        raise OperationError(TOO_LARGE)
    return int(digits or "0")


def _rounded_to_nano(value: int, scale: int) -> tuple[int, int]:
    """Round a number to whole nanos, away from zero; huge ones keep their scale."""
    if value == 0 or scale > PLAIN:
        return value, scale
    if scale >= _NANO:
        return value * ten(scale - _NANO), _NANO
    if -scale - 9 > value.bit_length():
        return 1, _NANO
    return -(-value // ten(_NANO - scale)), _NANO


def _capped(value: int, scale: int) -> tuple[int, int, str]:
    one = ten(-scale)
    if value > INT_MAX * one:
        return INT_MAX, 0, "binary"
    return value, scale, "SI" if 0 < value < one else "binary"
