"""uint, which Python lacks, and 64-bit conversions."""

from dragoman_cel.errors import OperationError

INT_MIN = -(1 << 63)
INT_MAX = (1 << 63) - 1
UINT_MAX = (1 << 64) - 1


class Uint(int):
    """A CEL uint: 0 .. 2^64-1. Arithmetic on it yields plain ints; the caller checks the range."""

    __slots__ = ()


def checked_int(number: int) -> int:
    """Return an int64, or raise `integer overflow`."""
    if INT_MIN <= number <= INT_MAX:
        return number
    raise OperationError("integer overflow")


def checked_uint(number: int) -> Uint:
    """Return a uint64, or raise `unsigned integer overflow`."""
    if 0 <= number <= UINT_MAX:
        return Uint(number)
    raise OperationError("unsigned integer overflow")


def wrap_int64(number: int) -> int:
    """Reduce a number to 64 bits as a Go conversion to int64 does."""
    return ((number + (1 << 63)) & UINT_MAX) - (1 << 63)
