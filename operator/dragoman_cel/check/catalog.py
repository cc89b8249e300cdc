"""Names near one that is not declared, as the checker suggests them (cel-go 0.33, common/env)."""

from collections.abc import Iterable
from functools import lru_cache

_TYPES = (
    "bool", "bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int",
    "list", "map", "null_type", "string", "type", "uint",
)  # fmt: skip
_LONG = 16
"""Code points of a name from which one of another length is judged by the lengths alone."""
_MOST = 64 * 64
"""Cells of the largest table that is computed."""
_SHOWN = 2
_FAR = 1 << 31
_KEPT_LENGTH = 128
"""Characters of a name whose answer is kept."""


class Catalog:
    """The names of an environment: functions, macros, variables and types."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted({*names, *_TYPES}, key=lambda name: (len(name), name))
        self._kept = lru_cache(1024)(self._near)

    def suggestion(self, name: str) -> str:
        """Return the end of a message about a name that is not declared."""
        found = self.near(name)
        if not found or found == (name,):
            return ""
        return f" (did you mean {' or '.join(repr(one) for one in found)}?)"

    def near(self, name: str) -> tuple[str, ...]:
        """As `_near`; the same name often occurs again, but no long one."""
        return (self._kept if len(name) <= _KEPT_LENGTH else self._near)(name)

    def _near(self, name: str) -> tuple[str, ...]:
        """Return the name itself where it is known, else at most two that are nearest."""
        dotted = "." in name
        alike = [one for one in self._names if ("." in one) == dotted]
        if name in alike:
            return (name,)
        size = len(name.encode(errors="replace"))
        most = 1 if size <= 3 else 2 if size <= 8 else size // 3
        found = [(distance(name, one), one) for one in alike if abs(len(one) - len(name)) <= most]
        least = min((apart for apart, _ in found if apart <= most), default=None)
        if least is not None:
            return tuple(one for apart, one in found if apart == least)[:_SHOWN]
        if size < 2:
            return ()
        return tuple(one for one in alike if one.startswith(name))[:_SHOWN]


def distance(one: str, two: str) -> int:
    """Return the edit distance with transpositions, as cel-go bounds it."""
    long, short = max(len(one), len(two)), min(len(one), len(two))
    if not short:
        return long
    if long >= _LONG and long * 2 >= short * 3:
        return long - short
    if long * short > _MOST:
        return _FAR
    before: list[int] = []
    above = list(range(len(two) + 1))
    for at, left in enumerate(one, 1):
        row = [at]
        for to, right in enumerate(two, 1):
            least = min(above[to] + 1, row[to - 1] + 1, above[to - 1] + (left != right))
            if at > 1 and to > 1 and left == two[to - 2] and one[at - 2] == right:
                least = min(least, before[to - 2] + 1)
            row.append(least)
        if min(row) > long // 3:
            return _FAR
        before, above = above, row
    return above[-1]
