"""The order of Go's sort.Slice: the recorded ones are those of Kubernetes' own CEL."""

from collections.abc import Callable
from math import nan
from random import Random

import pytest

from dragoman_cel.library.unstable import STABLE, unstable_order

THIRTEEN = [8, 12, 2, 0, 4, 10, 6, 3, 7, 9, 5, 11, 1]
TWENTY = [9, 18, 15, 3, 12, 0, 6, 10, 7, 4, 13, 16, 1, 19, 8, 5, 11, 14, 2, 17]
"""What `lists.range(n).sortBy(x, x % m)` is for 13 and 2, and for 20 and 3."""
PATTERNS: dict[str, Callable[[int, int], int]] = {
    "equal": lambda _, __: 0,
    "ascending": lambda place, _: place,
    "descending": lambda place, size: size - place,
    "ascending and descending": lambda place, size: min(place, size - place),
    "few values": lambda place, _: place * place % 5,
    "one out of order": lambda place, size: 0 if place == size // 2 else place,
    "saw": lambda place, _: place % 7,
    "halves exchanged": lambda place, size: (place + size // 2) % max(1, size),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_keys_come_in_order_and_none_is_lost(pattern: str) -> None:
    for size in (0, 1, 2, STABLE, STABLE + 1, 49, 50, 51, 200, 700):
        keys = [PATTERNS[pattern](place, size) for place in range(size)]
        order = unstable_order(keys)
        assert sorted(order) == list(range(size))
        assert [keys[place] for place in order] == sorted(keys)


def test_random_keys_come_in_order() -> None:
    random = Random(3)
    for _ in range(200):
        keys = [random.randrange(random.randint(1, 300)) for _ in range(random.randrange(400))]
        assert [keys[place] for place in unstable_order(keys)] == sorted(keys)


def test_equal_keys_of_short_lists_keep_their_order() -> None:
    for size in range(STABLE + 1):
        keys = [place % 3 for place in range(size)]
        assert unstable_order(keys) == sorted(range(size), key=lambda place: keys[place])


def test_equal_keys_of_longer_lists_change_places_as_in_go() -> None:
    assert unstable_order([place % 2 for place in range(13)]) == THIRTEEN
    assert unstable_order([place % 3 for place in range(20)]) == TWENTY


def test_nan_stays_where_it_is() -> None:
    assert unstable_order([2.0, nan, 3.0, 1.0]) == [0, 1, 3, 2]
    assert sorted(unstable_order([nan if place % 3 else place for place in range(99)])) == list(
        range(99)
    )
