"""Numbers and lists in sentences."""

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 pod` or `3 pods`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], most: int, separator: str = ", ") -> str:
    """Join the first names, and say how many more there are: `a, b, c and 4 more`."""
    found = [*names]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return separator.join(found[:most]) + more
