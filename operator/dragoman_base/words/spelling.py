"""Suggest the closest known name for a misspelled one.

The search counts edits itself: `difflib.get_close_matches` takes up to 1.8 ms for one pair of
63-letter names (64 of them: 113 ms) and gives a ratio, while driver names need "one edit apart".
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

MAX_NAME = 64
"""Longer names are not compared, because the cost grows with the square of the length."""

MAX_CANDIDATES = 256
"""Known names that are compared with one unknown name."""

LETTER_PAIRS = 10_000
"""Pairs of letters that the suggestions of one validation may compare: some milliseconds."""

_PARTS = re.compile(r"[./]")
_PAIRS_PER_NAME = 8  # pairs of letters that cost as much as the fixed work for a candidate


@dataclass(slots=True)
class SuggestionBudget:
    """Pairs of letters left; without any, nothing is suggested."""

    left: int = LETTER_PAIRS  # Pairs of letters, below 0 once a search exceeded the budget

    @property
    def steps(self) -> int:
        """Return the cost of all searches so far, in steps of a review."""
        return (LETTER_PAIRS - max(self.left, 0)) // 3


def closest(
    name: str,
    known: Collection[str],
    *,
    edits: int | None = None,
    budget: SuggestionBudget | None = None,
) -> str | None:
    """Find the known name with the fewest edits; case does not count.

    Ties go to the first in order.

    Args:
        name: The name as written.
        known: The candidates.
        edits: Edits allowed; by default as many as `allowed` says.
        budget: Shared with other searches; an exceeded budget gives no suggestion.
    """
    budget = budget or SuggestionBudget()
    budget.left -= len(known)
    edits = len(name) if edits is None else edits
    best, best_distance = None, edits + 1
    if budget.left < 0:
        return None
    for _, candidate in zip(range(MAX_CANDIDATES), sorted(known), strict=False):
        limit = min(best_distance - 1, allowed(name, candidate))
        apart = edit_distance(name, candidate, limit, budget)
        if budget.left < 0:
            return None
        if apart is not None:
            best, best_distance = candidate, apart
        if best_distance == 0:
            break
    return best


def allowed(name: str, other: str) -> int:
    """Return the edits by which a name may be a slip of another one.

    A third of the letters may differ, or two if that is more, and more than half of the other's
    must match, so `a` does not suggest `b`. Of names with dots or slashes only the parts count in
    which they differ: `ghost.example.com` is no slip of `toy.example.com`.
    """
    one, two = (_PARTS.split(text.casefold()) for text in (name, other))
    if len(one) < 2 or len(one) != len(two):
        return min(max(2, len(name) // 3), (len(other) - 1) // 2)
    left = [pair for pair in zip(one, two, strict=True) if pair[0] != pair[1]]
    written, known = (sum(map(len, parts)) for parts in zip(*left, strict=True)) if left else (0, 0)
    return min(max(2, written // 3), (known + 1) // 2)


def edit_distance(
    name: str, other: str, limit: int, budget: SuggestionBudget | None = None
) -> int | None:
    """Count inserted, deleted, replaced and swapped letters, ignoring case; None beyond `limit`."""
    budget = budget or SuggestionBudget()
    budget.left -= _PAIRS_PER_NAME
    one, two = name.casefold(), other.casefold()
    if one == two:
        return 0
    if limit < 1 or abs(len(one) - len(two)) > limit or max(len(one), len(two)) > MAX_NAME:
        return None
    one, two = _differing_parts(one, two)
    if limit == 1 and max(len(one), len(two)) > 2:
        return None
    return _distance(one, two, limit, budget)


def _differing_parts(one: str, two: str) -> tuple[str, str]:
    """Cut off the common beginning and end: similar names leave only short parts to compare."""
    shorter = min(len(one), len(two))
    start = next((i for i in range(shorter) if one[i] != two[i]), shorter)
    one, two = one[start:], two[start:]
    shorter = min(len(one), len(two))
    end = next((i for i in range(shorter) if one[-1 - i] != two[-1 - i]), shorter)
    return one[: len(one) - end], two[: len(two) - end]


def _distance(one: str, two: str, limit: int, budget: SuggestionBudget) -> int | None:
    """Compute the Damerau-Levenshtein distance (optimal string alignment) row by row."""
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, left in enumerate(one, start=1):
        budget.left -= len(two)
        # Later rows are no smaller than the last two, because a swap spans two rows.
        if budget.left < 0 or min(row + before) > limit:
            return None
        last, row, older = row, [i], before
        for j, right in enumerate(two, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == two[j - 2] and one[i - 2] == right:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        before = last
    return row[-1] if row[-1] <= limit else None
