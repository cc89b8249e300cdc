"""Amounts as quantities."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dragoman.model.amounts import AmountError, amount

_BINARY = ((1 << 50, "Pi"), (1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))


def quantity_text(nanos: int) -> str:
    """Write units of 10^-9 as a quantity."""
    whole, rest = divmod(nanos, 10**9)
    if rest:
        return f"{(Decimal(nanos) / 10**9).normalize():f}"
    for unit, suffix in _BINARY:
        if whole and whole % unit == 0:
            return f"{whole // unit}{suffix}"
    return str(whole)


def nanos(value: Any) -> int:
    """Return a quantity in units of 10^-9; 0 for what is none."""
    try:
        return amount(str(value)).nanos
    except (AmountError, ValueError):
        return 0


def amounts(document: Any) -> dict[str, int]:
    """Return a ResourceList."""
    found = document if isinstance(document, Mapping) else {}
    return {str(name): nanos(value) for name, value in found.items()}
