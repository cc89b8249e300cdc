"""Amounts as quantities."""

from decimal import Decimal

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
