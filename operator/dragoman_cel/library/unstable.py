"""The order that Go's sort.Slice gives, which decides between equal keys.

sort.Slice is a pattern-defeating quicksort (Peters, arXiv:2106.05123). It is not stable: from 13
elements on, elements with equal keys change places, always in the same way. A selector can observe
that, so the same comparisons and swaps are made here (source of the rule: Go 1.19 and later,
src/sort/zsortfunc.go).
"""

from collections.abc import Sequence
from typing import Any

STABLE = 12
"""Elements that are sorted by insertion, which keeps equal keys in their order."""
_LONG = 50
"""Elements from which a pivot is the median of medians, and shifting pays."""
_SHIFTS = 5
"""Pairs out of order that are shifted before a range counts as unsorted."""
_ALL_SWAPPED = 12
"""Swaps of a choice of a pivot in a range that descends."""


def unstable_order(keys: Sequence[Any]) -> list[int]:
    """Return the indexes of keys in the order of sort.Slice.

    Args:
        keys: Values of one type; NaN is less than nothing.
    """
    sorting = _Sorting(list(keys))
    sorting.sort(0, len(keys), len(keys).bit_length())
    return sorting.order


class _Sorting:
    """Keys and their indexes, which change places together."""

    def __init__(self, keys: list[Any]) -> None:
        self.keys = keys
        self.order = list(range(len(keys)))

    def swap(self, one: int, two: int) -> None:
        keys, order = self.keys, self.order
        keys[one], keys[two] = keys[two], keys[one]
        order[one], order[two] = order[two], order[one]

    def less(self, one: int, two: int) -> bool:
        found: bool = self.keys[one] < self.keys[two]
        return found

    def sort(self, start: int, end: int, limit: int) -> None:
        """Sort a range; after so many unbalanced partitions, by heap."""
        balanced = partitioned = True
        while (length := end - start) > STABLE:
            if not limit:
                self.sort_by_heap(start, end)
                return
            if not balanced:
                self.scatter(start, length)
                limit -= 1
            pivot, swaps = self.pivot(start, length)
            if swaps == _ALL_SWAPPED:
                self.reverse(start, end)
                pivot, swaps = end - 1 - (pivot - start), 0
            if balanced and partitioned and not swaps and self.sort_by_shifts(start, end):
                return
            if start > 0 and not self.less(start - 1, pivot):
                start = self.partition_equal(start, end, pivot)
                continue
            middle, partitioned = self.partition(start, end, pivot)
            left, right = middle - start, end - middle
            balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(start, middle, limit)
                start = middle + 1
            else:
                self.sort(middle + 1, end, limit)
                end = middle
        self.sort_by_insertion(start, end)

    def sort_by_insertion(self, start: int, end: int) -> None:
        for index in range(start + 1, end):
            at = index
            while at > start and self.less(at, at - 1):
                self.swap(at, at - 1)
                at -= 1

    def sort_by_heap(self, start: int, end: int) -> None:
        size = end - start
        for root in range((size - 1) // 2, -1, -1):
            self.sift_down(root, size, start)
        for last in range(size - 1, -1, -1):
            self.swap(start, start + last)
            self.sift_down(0, last, start)

    def sift_down(self, root: int, size: int, start: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self.less(start + child, start + child + 1):
                child += 1
            if not self.less(start + root, start + child):
                return
            self.swap(start + root, start + child)
            root = child

    def sort_by_shifts(self, start: int, end: int) -> bool:
        """Shift a few elements of a range that is nearly sorted; return whether it is sorted."""
        at = start + 1
        for _ in range(_SHIFTS):
            while at < end and not self.less(at, at - 1):
                at += 1
            if at == end:
                return True
            if end - start < _LONG:
                return False
            self.swap(at, at - 1)
            self.shift(at, start, end)
        return False

    def shift(self, at: int, start: int, end: int) -> None:
        """Move two elements that have changed places on to where they belong."""
        if at - start >= 2:
            left = at - 1
            while left >= 1 and self.less(left, left - 1):
                self.swap(left, left - 1)
                left -= 1
        right = at + 1
        while right < end and self.less(right, right - 1):
            self.swap(right, right - 1)
            right += 1

    def scatter(self, start: int, length: int) -> None:
        """Swap three elements in the middle with others, which breaks patterns."""
        random, mask = length, (1 << length.bit_length()) - 1
        first = start + length // 4 * 2 - 1
        for index in range(first, first + 3):
            random ^= random << 13 & (1 << 64) - 1
            random ^= random >> 7
            random ^= random << 17 & (1 << 64) - 1
            other = random & mask
            self.swap(index, start + (other - length if other >= length else other))

    def pivot(self, start: int, length: int) -> tuple[int, int]:
        """Return the index of a pivot, and how often the choice found elements out of order."""
        places = [start + length // 4 * part for part in (1, 2, 3)]
        swaps = 0
        if length >= _LONG:
            for number, place in enumerate(places):
                places[number], more = self.median(place - 1, place, place + 1)
                swaps += more
        found, more = self.median(*places)
        return found, swaps + more

    def median(self, one: int, two: int, three: int) -> tuple[int, int]:
        """Return the index of the median, and how often two were out of order."""
        swaps = 0
        if self.less(two, one):
            one, two, swaps = two, one, swaps + 1
        if self.less(three, two):
            two, three, swaps = three, two, swaps + 1
        if self.less(two, one):
            one, two, swaps = two, one, swaps + 1
        return two, swaps

    def reverse(self, start: int, end: int) -> None:
        self.keys[start:end] = self.keys[start:end][::-1]
        self.order[start:end] = self.order[start:end][::-1]

    def partition(self, start: int, end: int, pivot: int) -> tuple[int, bool]:
        """Move less elements before the pivot; return its place, and whether they were there."""
        self.swap(start, pivot)
        left, right = start + 1, end - 1
        moved = False
        while True:
            while left <= right and self.less(left, start):
                left += 1
            while left <= right and not self.less(right, start):
                right -= 1
            if left > right:
                break
            self.swap(left, right)
            left, right, moved = left + 1, right - 1, True
        self.swap(right, start)
        return right, not moved

    def partition_equal(self, start: int, end: int, pivot: int) -> int:
        """Move elements equal to the pivot, the least, to the front; return where others begin."""
        self.swap(start, pivot)
        left, right = start + 1, end - 1
        while True:
            while left <= right and not self.less(start, left):
                left += 1
            while left <= right and self.less(start, right):
                right -= 1
            if left > right:
                return left
            self.swap(left, right)
            left, right = left + 1, right - 1
