"""Amounts of capacity and counters: exact numbers, with what Go knows about their form.

Comparisons and sums are exact. Rounding to steps reads an amount as int64, as the scheduler does,
so the wrap-around of 1.36 is part of the behaviour.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dragoman.model.fields import Document, MalformedObjectError, mapping
from dragoman_cel.errors import EvaluationError
from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.quantityparser import parse_quantity
from dragoman_cel.values.scalars import INT_MAX, INT_MIN, wrap_int64

_NANO = 9
_LONGEST = 512
"""Characters of the longest quantity that is read."""
_POWERS = 18
"""Powers of ten up to here fit into int64."""


class AmountError(ValueError):
    """The text is not a quantity, or it is too large to compute with."""


class Amount:
    """A quantity, immutable.

    Attributes:
        nanos: The exact number in units of 10^-9.
        identity: Equal for two amounts that Go's `==` finds equal; None when it never does.
    """

    __slots__ = ("_quantity", "identity", "nanos")

    def __init__(self, quantity: Quantity) -> None:
        if quantity.nanos is None:
            raise AmountError("the quantity is too large")
        self.nanos: int = quantity.nanos
        self._quantity = quantity
        self.identity = (
            None
            if quantity.decimal
            else (quantity.value, quantity.scale, quantity.suffix, quantity.kept)
        )

    @property
    def format(self) -> str:
        """The family of suffixes: "SI", "binary" or "exponent"."""
        return self._quantity.suffix

    def __str__(self) -> str:
        return str(self._quantity)

    def __repr__(self) -> str:
        return f"Amount({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def scaled(self, digits: int) -> int:
        """Return the number times 10^digits as Go's `ScaledValue`: rounded up, within int64.

        A number in the small form that does not fit becomes 0; one in the decimal form wraps.
        """
        quantity = self._quantity
        if quantity.decimal:
            return _scaled_decimal(quantity.value, -quantity.scale - digits)
        shift = quantity.scale + digits
        power: int = 10 ** abs(shift)
        if shift < 0:
            return _away_from_zero(quantity.value, power)
        number = quantity.value * power
        return number if INT_MIN <= number <= INT_MAX else 0

    def exact_milli(self) -> int | None:
        """Return the number in thousandths, or None when int64 does not hold it exactly."""
        milli = self.scaled(3)
        return milli if milli * 10 ** (_NANO - 3) == self.nanos else None


def _away_from_zero(number: int, divisor: int) -> int:
    rounded = -(-abs(number) // divisor)
    return rounded if number >= 0 else -rounded


def _scaled_decimal(unscaled: int, drop: int) -> int:
    """Follow Go's `scaledValue`: `unscaled` / 10^`drop`."""
    if drop <= 0:
        power = 10**-drop if -drop <= _POWERS else INT_MIN  # what amd64 makes of a giant float
        return wrap_int64(wrap_int64(unscaled) * power)
    divisor: int = 10**drop
    if unscaled < INT_MAX and drop <= _POWERS:
        number = wrap_int64(unscaled)
        whole = abs(number) // divisor * (1 if number >= 0 else -1)
        return whole + 1 if number % divisor else whole
    return wrap_int64(-(-unscaled // divisor))


@lru_cache(4096)
def amount(text: str) -> Amount:
    """Read a quantity.

    Raises:
        AmountError: The text is not a quantity, or the number is too large.
    """
    if len(text) > _LONGEST:
        raise AmountError(f"a quantity has at most {_LONGEST} characters, this one {len(text)}")
    try:
        quantity = parse_quantity(text.strip())
    except EvaluationError as error:
        raise AmountError(error.message) from None
    if text == "0":
        quantity.kept = text  # Go remembers this one although it is not canonical to it
    return Amount(quantity)


def whole(number: int, form: str) -> Amount:
    """Make an amount of units, which prints with suffixes of the form."""
    return Amount(Quantity(number, suffix=form))


def thousandths(number: int, form: str) -> Amount:
    """Make an amount of thousandths, which prints with suffixes of the form."""
    return Amount(Quantity(number, -3, suffix=form))


def printed(nanos: int, like: Amount) -> str:
    """Print a number of nanos with suffixes of the same family as another amount."""
    if nanos % 10**_NANO:
        return str(amount(f"{nanos}n"))
    return str(whole(nanos // 10**_NANO, like.format))


def quantity(document: Document, key: str, within: str) -> Amount | None:
    """Read a quantity, None where it is absent."""
    found = document.get(key)
    return None if found is None else read_quantity(found, within + key)


def read_quantity(found: Any, path: str) -> Amount:
    """Read a quantity that stands at a path."""
    # The API takes numbers as well.
    if type(found) is not str and type(found) is not int:
        raise MalformedObjectError(f"{path}: expected a quantity, found {type(found).__name__}")
    try:
        return amount(str(found))
    except (AmountError, ValueError) as error:
        raise MalformedObjectError(f"{path}: {error}") from None


def amounts(document: Document, key: str, within: str) -> Mapping[str, Amount]:
    """Read an object of quantities by name."""
    found = mapping(document, key, within)
    inner = f"{within}{key}."
    read = {name: quantity(found, name, inner) for name in found}
    return {name: value for name, value in read.items() if value is not None}
