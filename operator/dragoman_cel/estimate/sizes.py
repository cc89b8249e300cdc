"""Bounds of sizes and costs, and the paths that lead to declared sizes. All of them saturate."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from dragoman_cel.types import Kind

UNLIMITED = 2**64 - 1
Path = tuple[str, ...]


class Size(NamedTuple):
    """Bounds of a size."""

    least: int
    most: int


UNKNOWN = Size(0, UNLIMITED)


class Entries(NamedTuple):
    """Sizes of the keys and values of a container."""

    kind: Kind
    key: Size
    value: Size
    inside: Entries | None = None  # Those of values that are containers themselves


def joined(one: Entries | None, other: Entries | None) -> Entries | None:
    """Return the bounds of either of two containers' entries, as far as any are known."""
    if one is None or other is None:
        return one or other
    inside = joined(one.inside, other.inside)
    return Entries(one.kind, union(one.key, other.key), union(one.value, other.value), inside)


class PathNames:
    """A path under construction: a slice of names in an array that other paths may share.

    cel-go extends the path of a node for several others, and Go's `append` writes into the same
    array while that has capacity. So the path of a key becomes the one of its value where a macro
    has both (`m.all(k, v, ..)`), and the estimate depends on it.
    """

    __slots__ = ("_length", "_room")

    def __init__(self, room: list[str], length: int) -> None:
        self._room = room
        self._length = length

    def __bool__(self) -> bool:
        return self._length > 0

    def then(self, name: str) -> PathNames:
        """Return the path with one more name."""
        length = self._length
        if length < len(self._room):
            self._room[length] = name
            return PathNames(self._room, length + 1)
        room = [*self._room, name, *[""] * (length - 1)]
        return PathNames(room, length + 1)

    def read(self) -> Path:
        """Return the names as they are now."""
        return tuple(self._room[: self._length])


NO_NAMES = PathNames([], 0)


def summed(*costs: int) -> int:
    """Add costs or sizes."""
    return min(sum(costs), UNLIMITED)


def times(one: int, other: int) -> int:
    """Multiply costs or sizes."""
    return min(one * other, UNLIMITED)


def scaled(size: int, factor: float) -> int:
    """Multiply by a fraction and round up, in double arithmetic as Go does."""
    return min(ceil(float(size) * factor), UNLIMITED) if size else 0


def union(one: Size, other: Size) -> Size:
    """Return the bounds of either of two sizes."""
    return Size(min(one.least, other.least), max(one.most, other.most))


def added(one: Size, other: Size) -> Size:
    """Return the bounds of the sum."""
    return Size(summed(one.least, other.least), summed(one.most, other.most))


def multiplied(one: Size, other: Size) -> Size:
    """Return the bounds of the product."""
    return Size(times(one.least, other.least), times(one.most, other.most))
