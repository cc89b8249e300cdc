"""Near misses: which known name did somebody mean?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

MAX_NAME = 64
"""Longer names are not compared; comparing costs the square of the length."""

MAX_CANDIDATES = 256
"""At most so many known names are compared with one unknown name."""

EFFORT = 10_000
"""Pairs of letters that are compared for the suggestions about one thing: some milliseconds."""

_FOR_ONE_NAME = 8  # pairs of letters that would take as long as everything else about a candidate


@dataclass(slots=True)
class Effort:
    """What finding near names may still take; when it is used up, nothing is suggested any more.

    Attributes:
        left: pairs of letters.
    """

    left: int = EFFORT

    @property
    def steps(self) -> int:
        """Give the cost of what was done so far, in steps of a review."""
        return (EFFORT - max(self.left, 0)) // 3


def nearest(
    name: str, known: Collection[str], *, edits: int | None = None, effort: Effort | None = None
) -> str | None:
    """Find the known name that differs least: in case only, or else by at most `edits` letters.

    By default a third of the letters may differ, or two if that is more.

    A name must share more than it differs, so `a` is not near `b`. Ties go to the first in order.

    Args:
        name: what was written.
        known: what could have been meant.
        edits: letters that may differ.
        effort: shared with other searches; where it does not suffice, there is no suggestion.
    """
    effort = effort or Effort()
    effort.left -= len(known)
    edits = max(2, len(name) // 3) if edits is None else edits
    best, best_distance = None, edits + 1
    if effort.left < 0:
        return None
    for _, candidate in zip(range(MAX_CANDIDATES), sorted(known), strict=False):
        limit = min(best_distance - 1, (len(candidate) - 1) // 2)
        apart = distance(name, candidate, limit, effort)
        if effort.left < 0:
            return None
        if apart is not None:
            best, best_distance = candidate, apart
        if best_distance == 0:
            break
    return best


def distance(name: str, other: str, limit: int, effort: Effort | None = None) -> int | None:
    """Count inserted, deleted, replaced and swapped letters, ignoring case; None beyond `limit`."""
    effort = effort or Effort()
    effort.left -= _FOR_ONE_NAME
    one, two = name.casefold(), other.casefold()
    if one == two:
        return 0
    if limit < 1 or abs(len(one) - len(two)) > limit or max(len(one), len(two)) > MAX_NAME:
        return None
    one, two = _where_they_differ(one, two)
    if limit == 1 and max(len(one), len(two)) > 2:
        return None
    return _edits(one, two, limit, effort)


def _where_they_differ(one: str, two: str) -> tuple[str, str]:
    """Cut off the common beginning and end: what is left is short when the names are near."""
    shorter = min(len(one), len(two))
    start = next((i for i in range(shorter) if one[i] != two[i]), shorter)
    one, two = one[start:], two[start:]
    shorter = min(len(one), len(two))
    end = next((i for i in range(shorter) if one[-1 - i] != two[-1 - i]), shorter)
    return one[: len(one) - end], two[: len(two) - end]


def _edits(one: str, two: str, limit: int, effort: Effort) -> int | None:
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, left in enumerate(one, start=1):
        effort.left -= len(two)
        # No later row has less than this one or the one before, for a swap spans two.
        if effort.left < 0 or min(row + before) > limit:
            return None
        last, row, older = row, [i], before
        for j, right in enumerate(two, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == two[j - 2] and one[i - 2] == right:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        before = last
    return row[-1] if row[-1] <= limit else None
