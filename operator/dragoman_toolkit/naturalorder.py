"""The order of names with numbers in them, as people read them: `n-9` before `n-10`."""

import re

_NUMBER = re.compile(r"([0-9]+)", re.ASCII)
_LONGEST = 64
"""Digits of a number that count; longer ones are not numbers to people."""


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a key by which names sort in the order of the numbers in them."""
    parts = _NUMBER.split(name)
    numbers = [*parts[1::2], "0"]
    return tuple(
        (text, int(number[:_LONGEST])) for text, number in zip(parts[::2], numbers, strict=True)
    )
