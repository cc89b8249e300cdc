"""String functions of cel-go's strings extension. Positions count code points."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from dragoman_cel.errors import OperationError
from dragoman_cel.values.quoting import ESCAPES

TEXT_MAX = 16 * 1024 * 1024
"""Code points of the longest text that an expression builds; in Go only memory bounds it."""

PARTS_MAX = 1024 * 1024
"""Most parts of a split text."""

_SHORT_PART = 32
_LONE = "surrogatepass"

_SPACE = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


def bounded(length: int) -> None:
    """Check the length of a text before it is built.

    Raises:
        OperationError: The text is longer than `TEXT_MAX`.
    """
    if length > TEXT_MAX:
        raise OperationError("operation cancelled: text is too long")


def char_at(text: str, index: int) -> str:
    """Return the character at an index; "" right behind the last one."""
    if not 0 <= index <= len(text):
        raise OperationError(f"index out of range: {index}")
    return text[index : index + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    """Return where a part begins at or after an offset, -1 without one."""
    if not part:
        return offset
    if offset < 0:
        raise OperationError(f"index out of range: {offset}")
    return text.find(part, offset) if offset < len(text) else -1


def last_index_of(text: str, part: str, offset: int | None = None) -> int:
    """Return the last place at or before an offset where a part begins, -1 without one."""
    if offset is None:
        return _rfind(text, part)
    if not part:
        return offset
    if offset < 0:
        raise OperationError(f"index out of range: {offset}")
    return _rfind(text[: offset + len(part)], part) if offset < len(text) else -1


def _rfind(text: str, part: str) -> int:
    """Return the last place of a part. Python's `rfind` takes the product of the two lengths."""
    if len(part) < _SHORT_PART or len(part) > len(text):
        return text.rfind(part)
    place = text[::-1].find(part[::-1])
    return place if place < 0 else len(text) - len(part) - place


def substring(text: str, start: int, end: int | None = None) -> str:
    """Return the characters from start to before end."""
    if end is not None and start > end:
        raise OperationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, len(text) if end is None else end):
        if not 0 <= index <= len(text):
            raise OperationError(f"index out of range: {index}")
    return text[start:end]


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Replace up to `limit` occurrences, all of them below 0; an empty `old` is between all."""
    if len(new) > len(old):
        count = text.count(old)
        bounded(len(text) + (len(new) - len(old)) * (count if limit < 0 else min(limit, count)))
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """Split into at most `limit` parts, all below 0; an empty separator splits characters."""
    if limit == 0:
        return []
    parts = text.count(separator) if separator else len(text)
    if (parts if limit < 0 else min(limit, parts)) > PARTS_MAX:
        raise OperationError("operation cancelled: too many parts")
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def join(parts: Sequence[Any], separator: str = "") -> str:
    """Join texts.

    Raises:
        OperationError: `join: invalid input: ..` for an element that is not a string.
    """
    for part in parts:
        if not isinstance(part, str):
            raise OperationError(f"join: invalid input: {_go_value(part)}")
    bounded(sum(map(len, parts)) + len(separator) * (len(parts) - 1))
    return separator.join(parts)


def trim(text: str) -> str:
    """Strip Unicode white space (Python's `strip` removes more)."""
    return text.strip(_SPACE)


def lower_ascii(text: str) -> str:
    """Lower the ASCII letters only."""
    return text.lower() if text.isascii() else _bytes(text).lower().decode(errors=_LONE)


def upper_ascii(text: str) -> str:
    """Raise the ASCII letters only."""
    return text.upper() if text.isascii() else _bytes(text).upper().decode(errors=_LONE)


def _bytes(text: str) -> bytes:
    """Encode a text: bytes have case methods for ASCII letters alone, many times faster."""
    return text.encode(errors=_LONE)


def quote(text: str) -> str:
    """Put in double quotes with CEL's escapes: `strings.quote`."""
    for char, escape in ESCAPES.items():
        text = text.replace(char, escape)
    return f'"{text}"'


def format_double(number: float) -> str:
    """Write a double the way `string(double)` does: shortest, exponent from 1e-05 and 1e+06."""
    if not math.isfinite(number):
        return "NaN" if number != number else "+Inf" if number > 0 else "-Inf"  # noqa: PLR0124 — NaN
    shortest = Decimal(repr(number)).normalize()
    exponent = shortest.adjusted()
    if number and not -5 < exponent < 6:
        mantissa = shortest.scaleb(-exponent)
        return f"{mantissa:f}e{exponent:+03d}"
    return f"{shortest:f}"


def _go_value(value: object) -> str:
    """Write a scalar as Go's `%v` does."""
    if value is None:
        return "0"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return format_double(value)
    return "unsupported value"
