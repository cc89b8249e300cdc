"""Quantities with the arithmetic of `k8s.io/apimachinery/pkg/api/resource`.

A quantity has one of two forms. The *small* form is an int64 mantissa with a decimal scale; the
*decimal* form is an arbitrary-precision decimal. Numbers compare across both, but `isInteger()`
accepts the small form only, so the rules for the form of a result are part of the behaviour.

Two differences from Go are deliberate. In Go, a comparison of a small with a decimal quantity
rewrites the receiver, and an addition changes a decimal one; here a quantity is immutable. And Go
computes a billion digits for exponents such as `1e1000000000`, which take no time here.
"""

from __future__ import annotations

from functools import lru_cache

from dragoman_cel.errors import OperationError
from dragoman_cel.values.scalars import INT_MAX, INT_MIN

TOO_LARGE = "quantity is too large to compute with"
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {exponent: name for name, exponent in DECIMAL.items()}
_BINARY_NAMES = {0: "", **{exponent: name for name, exponent in BINARY.items()}}
_NANOS = 10**9
PLAIN = 400
"""Largest scale that is multiplied into the mantissa; larger ones stay separate."""
DIGITS_MAX = 500
"""Digits of the longest number computed with: a bound on time and memory, not on users. CEL charges
one unit for adding or printing a quantity, and Python's own limit on printing is 4,300 digits."""


class Quantity:
    """A resource quantity: `value` x 10^`scale`."""

    __slots__ = (
        "_text", "apart", "computed", "decimal", "kept", "nanos", "scale", "suffix", "value",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 — all but two are how Go came by the number
        self,
        value: int,
        scale: int = 0,
        *,
        decimal: bool = False,
        apart: bool = False,
        suffix: str = "SI",
        computed: bool = False,
        text: str = "",
    ) -> None:
        self.value = value  # The mantissa
        self.scale = scale  # Power of ten of the mantissa's last digit
        self.decimal = decimal  # Whether it is in the arbitrary-precision form
        self.apart = apart  # Whether it is so in 1.38, too, whose small form takes one digit more
        self.suffix = suffix  # Family of the suffix in its text: "SI", "binary" or "exponent"
        self.computed = computed  # Whether `add` or `sub` returned it: it matters to Go's `==`
        self.kept = text  # The text as it was written where Go remembers it, else empty
        self._text = text
        # The number in units of 10^-9, None for giants. Every parsed or computed quantity is a
        # whole number of them, so one int orders them all.
        self.nanos = value * ten(scale + 9) if -10 < scale <= PLAIN else None

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1 as this quantity is less than, equal to or greater than the other."""
        left, right = self.nanos, other.nanos
        if left is None or right is None:
            return _compare_apart(self, other)
        return (left > right) - (left < right)

    def equals(self, other: Quantity) -> bool:
        """Return `==` of CEL.

        Raises:
            OperationError: Only the right side is a result of `add` or `sub`; in Go those are
                pointers, which its comparison does not dereference.
        """
        if other.computed:
            raise OperationError("no such overload")
        return self.compare(other) == 0

    def add(self, other: Quantity | int) -> Quantity:
        """Return the sum; an int counts as that many units."""
        return _sum(self, other if isinstance(other, Quantity) else _of_int(other), 1)

    def sub(self, other: Quantity | int) -> Quantity:
        """Return the difference; an int counts as that many units."""
        return _sum(self, other if isinstance(other, Quantity) else _of_int(other), -1)

    def sign(self) -> int:
        """Return -1, 0 or 1."""
        return (self.value > 0) - (self.value < 0)

    def is_integer(self) -> bool:
        """Return whether `as_integer` succeeds: small form, scale of at least 0, within int64."""
        return self._integer() is not None

    def as_integer(self) -> int:
        """Return the number as an int.

        Raises:
            OperationError: `cannot convert value to integer`, see `is_integer`.
        """
        number = self._integer()
        if number is None:
            raise OperationError("cannot convert value to integer")
        return number

    def as_approximate_float(self) -> float:
        """Return mantissa x 10^scale in double arithmetic, infinite beyond its range."""
        base = _float(self.value)
        return base if self.scale == 0 else base * _power_of_ten(self.scale)

    def settled(self) -> Quantity:
        """Return the quantity in the small form where 1.38 has it so."""
        if not self.decimal or self.apart or self.nanos is None:
            return self
        return Quantity(self.nanos // _NANOS, suffix=self.suffix)

    def _integer(self) -> int | None:
        if self.decimal or self.scale < 0:
            return None
        if self.value == 0:
            return 0
        number = self.value * ten(min(self.scale, 19))
        return number if INT_MIN <= number <= INT_MAX else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __hash__(self) -> int:
        return hash(self.nanos) if self.nanos is not None else hash(_stripped(self))

    def __str__(self) -> str:
        if not self._text:
            self._text = _canonical(self)  # every thread computes the same value
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({self})"


@lru_cache(1024)
def ten(exponent: int) -> int:
    """Return a power of ten."""
    power: int = 10**exponent
    return power


def _of_int(number: int) -> Quantity:
    return Quantity(number, suffix="exponent")


def _sum(left: Quantity, right: Quantity, sign: int) -> Quantity:
    suffix = right.suffix if left.value == 0 else left.suffix
    if not left.decimal and not right.decimal:
        small = _small_sum(left, right, sign, suffix)
        if small is not None:
            return small
    scale = min(left.scale, right.scale)
    if max(left.scale, right.scale) - scale > DIGITS_MAX:
        raise OperationError(TOO_LARGE)
    value = left.value * ten(left.scale - scale) + sign * right.value * ten(right.scale - scale)
    one, other = left.settled(), right.settled()
    apart = one.decimal or other.decimal or _small_sum(one, other, sign, suffix) is None
    return Quantity(value, scale, decimal=True, apart=apart, suffix=suffix, computed=True)


def _small_sum(left: Quantity, right: Quantity, sign: int, suffix: str) -> Quantity | None:
    """Add in int64, or return None where Go changes to the decimal form."""
    if right.value == 0:
        return Quantity(left.value, left.scale, suffix=suffix, computed=True)
    if left.value == 0:
        return Quantity(sign * right.value, right.scale, suffix=suffix, computed=True)
    scale = min(left.scale, right.scale)
    if max(left.scale, right.scale) - scale > 19:
        return None
    scaled_left = left.value * ten(left.scale - scale)
    scaled_right = right.value * ten(right.scale - scale)
    value = scaled_left + sign * scaled_right
    if all(INT_MIN <= part <= INT_MAX for part in (scaled_left, scaled_right, value)):
        return Quantity(value, scale, suffix=suffix, computed=True)
    return None


def _stripped(quantity: Quantity) -> tuple[int, int]:
    """Return mantissa and scale without trailing zeros."""
    digits = str(quantity.value)
    kept = digits.rstrip("0")
    return (int(kept), quantity.scale + len(digits) - len(kept)) if kept else (0, 0)


def _compare_apart(left: Quantity, right: Quantity) -> int:
    """Compare numbers of which one has too many zeros to write them out."""
    if left.sign() != right.sign() or left.value == 0:
        return (left.sign() > right.sign()) - (left.sign() < right.sign())
    difference = _magnitude(left) - _magnitude(right)
    if difference:
        return left.sign() if difference > 0 else -left.sign()
    scale = min(left.scale, right.scale)
    first = left.value * ten(left.scale - scale)
    second = right.value * ten(right.scale - scale)
    return (first > second) - (first < second)


def _magnitude(quantity: Quantity) -> int:
    return _digit_count(abs(quantity.value)) + quantity.scale


def _digit_count(number: int) -> int:
    """Count decimal digits without writing the number."""
    count = max(number.bit_length() * 30103 // 100000 - 1, 0)
    number //= ten(count)
    while number:
        number //= 10
        count += 1
    return count


def _float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _power_of_ten(exponent: int) -> float:
    """Multiply two table entries like Go's `math.Pow10`, whose last bit depends on it."""
    if exponent > 308:
        return float("inf")
    if exponent < -323:
        return 0.0
    high, low = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{high * 32}") * float(f"1e{low}")
    return float(f"1e-{high * 32}") / float(f"1e{low}")


def _canonical(quantity: Quantity) -> str:
    if quantity.value == 0:
        return "0"
    if quantity.suffix == "binary" and quantity.scale <= PLAIN:
        one = ten(max(-quantity.scale, 0))
        whole = quantity.value * ten(max(quantity.scale, 0))
        # Below 1024 and with a fraction, a binary suffix would lose precision.
        if abs(whole) >= 1024 * one and whole % one == 0:
            return _with_binary_suffix(whole // one)
    return _with_decimal_suffix(quantity)


def _with_binary_suffix(number: int) -> str:
    exponent = 0
    while abs(number) >= 1024 and number % 1024 == 0:
        number //= 1024
        exponent += 10
    return f"{number}{_BINARY_NAMES.get(exponent, '')}"


def _with_decimal_suffix(quantity: Quantity) -> str:
    value, scale = _stripped(quantity)
    value *= ten(scale % 3)
    scale -= scale % 3
    if quantity.suffix == "exponent":
        return f"{value}e{scale}" if scale else str(value)
    return f"{value}{_DECIMAL_NAMES.get(scale, '')}"
