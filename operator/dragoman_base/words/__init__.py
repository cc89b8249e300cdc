"""Numbers and lists in sentences, and the order of names."""

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"([0-9]+)", re.ASCII)
_LONGEST = 64
"""Digits of a number that count; longer ones are not numbers to people."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 pod` or `3 pods`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], most: int, separator: str = ", ") -> str:
    """Join the first names, and say how many more there are: `a, b, c and 4 more`."""
    found = [*names]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return separator.join(found[:most]) + more


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a key by which `node-10` sorts behind `node-9`."""
    parts = _NUMBER.split(name)
    numbers = [*parts[1::2], "0"]
    return (
        *((text, int(number[:_LONGEST])) for text, number in zip(parts[::2], numbers, strict=True)),
        (name, 0),  # `node-01` and `node-1` have one order, too
    )
