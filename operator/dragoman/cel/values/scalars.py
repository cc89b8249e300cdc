"""uint, which Python lacks, and 64-bit conversions."""

from __future__ import annotations

INT_MIN = -(1 << 63)
INT_MAX = (1 << 63) - 1
UINT_MAX = (1 << 64) - 1


class Uint(int):
    """A CEL uint: 0 .. 2^64-1. Arithmetic on it yields plain ints; the caller checks the range."""

    __slots__ = ()


def wrap_int64(number: int) -> int:
    """Reduce a number to 64 bits as a Go conversion to int64 does."""
    return ((number + (1 << 63)) & UINT_MAX) - (1 << 63)
