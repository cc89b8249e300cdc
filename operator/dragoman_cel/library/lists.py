"""The two list libraries: Kubernetes' own (sum, min, indexOf ..) and cel-go's (sort, slice ..)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from dragoman_cel.data import DataList, Invalid
from dragoman_cel.equality import compare, equal, is_ordered
from dragoman_cel.errors import OperationError
from dragoman_cel.library.arithmetic import OVERLOADS as ARITHMETIC
from dragoman_cel.library.unstable import STABLE, unstable_order
from dragoman_cel.representation import LISTS, no_such_overload, type_name
from dragoman_cel.state import (
    STEPS_PER_CONTAINER,
    STEPS_PER_ERROR,
    TEXT_PER_STEP,
    Functions,
    State,
    spend_steps,
)
from dragoman_cel.values.durations import Duration
from dragoman_cel.values.scalars import Uint

_COMPARABLE = (
    "int", "uint", "double", "bool", "string", "bytes", "duration", "timestamp",
)  # fmt: skip
_QUALIFIED = (*_COMPARABLE[:-2], "google.protobuf.Duration", "google.protobuf.Timestamp")
_ZEROES: dict[str, tuple[Any, str]] = {
    "int": (0, "add_int64"),
    "uint": (Uint(0), "add_uint64"),
    "double": (0.0, "add_double"),
    "duration": (Duration(0), "add_duration_duration"),
}
_STEPS_PER_ORDERED = 2
"""Plain steps of an element that is compared with another one."""
_STEPS_PER_CALL = 2
"""Plain steps of a sum or search, however short the list is."""


def _fitting(items: list[Any]) -> list[Any]:
    if items and (items[0] is None or type(items[0]) is Invalid):
        # Null or invalid data does not fit the overload; see Program.untyped.
        raise TypeError
    return items


def _ordered(item: Any) -> Any:
    if type(item) is Invalid:
        raise item.error
    if not is_ordered(item):
        raise no_such_overload()
    return item


def _is_sorted(state: State, items: list[Any]) -> bool:
    spend_steps(state, _STEPS_PER_ORDERED * (len(items) + 1))
    ordered = map(_ordered, _fitting(items))
    return all(_compared(one, two) <= 0 for one, two in pairwise(ordered))


def _compared(one: Any, two: Any) -> int:
    """Compare as Kubernetes does: incomparable values count as equal."""
    try:
        return compare(one, two)
    except OperationError:
        return 0


def _extreme(name: str, sign: int) -> Callable[[State, list[Any]], Any]:
    def extreme(state: State, items: list[Any]) -> Any:
        if not items:
            raise OperationError(f"{name} called on empty list")
        spend_steps(state, _STEPS_PER_ORDERED * (len(items) + 1))
        found = _fitting(items)[0]
        for item in map(_ordered, items):
            if _compared(found, item) == sign:
                found = item
        return found

    return extreme


def _sum(kind: str) -> Callable[[State, list[Any]], Any]:
    zero, overload = _ZEROES[kind]
    add = ARITHMETIC[overload]

    def total(state: State, items: list[Any]) -> Any:
        spend_steps(state, len(items) + _STEPS_PER_CALL)
        found = zero
        for item in _fitting(items):
            if type(item) is Invalid:
                raise item.error
            if type(item) is not type(zero):
                raise no_such_overload()
            found = add(found, item)
        return found

    return total


def equals(left: Any, right: Any, state: State) -> bool:
    """Compare as library functions do: an error counts as "different"."""
    try:
        return equal(left, right, state)
    except OperationError:
        spend_steps(state, STEPS_PER_ERROR)
        return False


def contains(items: list[Any], item: Any, state: State) -> bool:
    """Return whether a list contains a value; an invalid element fails only without a match.

    Raises:
        OperationError: No element is equal, and one of them does not fit its schema.
        StepBudgetExceeded: The list is longer than steps remain.
    """
    spend_steps(state, len(items))
    if not isinstance(items, DataList):
        return any(equals(item, one, state) for one in items)
    failure: Invalid | None = None
    for one in items:
        if type(one) is Invalid:
            failure = failure or one
        elif equals(item, one, state):
            return True
    if failure is not None:
        raise failure.error
    return False


def _index_of(state: State, items: list[Any], item: Any) -> int:
    spend_steps(state, len(items) + _STEPS_PER_CALL)
    found = (index for index, one in enumerate(items) if equals(one, item, state))
    return next(found, -1)


def _last_index_of(state: State, items: list[Any], item: Any) -> int:
    spend_steps(state, len(items) + _STEPS_PER_CALL)
    found = (n for n in range(len(items) - 1, -1, -1) if equals(items[n], item, state))
    return next(found, -1)


def _slice(state: State, items: list[Any], start: int, end: int) -> list[Any]:
    problem = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise OperationError(problem + "negative indexes not supported")
    if start > end:
        raise OperationError(problem + "start index must be less than or equal to end index")
    if end > len(items):
        raise OperationError(f"{problem}list is length {len(items)}")
    spend_steps(state, end - start)
    return list(items[start:end])


def _flatten(state: State, items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise OperationError("level must be non-negative")
    spend_steps(state, len(items) + STEPS_PER_CONTAINER)
    flat: list[Any] = []
    for item in items:
        if type(item) in LISTS and depth > 0:
            flat += _flatten(state, item, depth - 1)
        else:
            flat.append(item)
    return flat


def _range(state: State, size: int) -> list[int]:
    spend_steps(state, max(size, 0))
    return list(range(size))


_RANGE_MAX = 1_000_000


def _checked_range(state: State, size: int) -> list[int]:
    if size < 0:
        raise OperationError(f"lists.range: size must be non-negative, got {size}")
    if size > _RANGE_MAX:
        raise OperationError(f"lists.range: size {size} exceeds maximum allowed ({_RANGE_MAX})")
    return _range(state, size)


def _reverse(state: State, items: list[Any]) -> list[Any]:
    spend_steps(state, len(items))
    return list(items[::-1])


def _distinct(state: State, items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        spend_steps(state, len(found) + 1)
        if not any(equals(item, other, state) for other in found):
            found.append(item)
    return found


def _sort_by_keys(state: State, items: list[Any], keys: list[Any]) -> list[Any]:
    if len(items) != len(keys):
        sizes = f"{len(items)} and {len(keys)}"
        raise OperationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys "
            f"list, but got {sizes} elements respectively"
        )
    if not items:
        return items
    if not is_ordered(keys[0]):
        raise OperationError("list elements must be comparable")
    kind = type_name(keys[0])
    if any(type_name(key) != kind for key in keys):
        raise OperationError("list elements must have the same type")
    spend_steps(state, len(items))
    if kind in ("string", "bytes"):
        spend_steps(state, sum(map(len, keys)) // TEXT_PER_STEP)
    return [items[index] for index in _order(state, keys)]


def _order(state: State, keys: list[Any]) -> list[int]:
    """Return the indexes of keys in the order that cel-go gives them."""
    ranks = keys
    if all(key == key for key in keys):  # noqa: PLR0124 — NaN has no rank
        by_key = cmp_to_key(compare)
        order = sorted(range(len(keys)), key=lambda index: by_key(keys[index]))
        if len(keys) <= STABLE:
            return order
        ranks, rank = [0] * len(keys), 0
        for before, index in pairwise(order):
            rank += compare(keys[before], keys[index]) != 0
            ranks[index] = rank
        if rank == len(keys) - 1:
            return order
    spend_steps(state, len(keys) * len(keys).bit_length())
    return unstable_order(ranks)


_INCLUDES_MAX = 48


def _limited_includes(state: State, value: Any, item: Any) -> bool:
    """Return the selectors' own `includes` of 1.36, which has a limit."""
    if type(value) not in LISTS:
        return equals(value, item, state)
    spend_steps(state, min(len(value), _INCLUDES_MAX))
    for index, one in enumerate(value):
        if index >= _INCLUDES_MAX:
            raise OperationError(
                f"'includes' function cannot be applied to lists longer than {_INCLUDES_MAX} values"
            )
        if equals(one, item, state):
            return True
    return False


def _includes(state: State, value: Any, item: Any) -> bool:
    """Return `includes`: membership for a list, equality for other values."""
    if type(value) not in LISTS:
        return equals(value, item, state)
    spend_steps(state, len(value))
    return any(equals(one, item, state) for one in value)


STATEFUL: Functions = {
    **{f"list_{kind}_is_sorted_bool": _is_sorted for kind in _COMPARABLE},
    **{f"list_{kind}_min_{kind}": _extreme("min", 1) for kind in _COMPARABLE},
    **{f"list_{kind}_max_{kind}": _extreme("max", -1) for kind in _COMPARABLE},
    **{f"list_{kind}_sum_{kind}": _sum(kind) for kind in _ZEROES},
    "list_a_index_of_int": _index_of,
    "list_a_last_index_of_int": _last_index_of,
    "dra_includes_dyn_dyn": _limited_includes,
    "list_includes_dyn_dyn": _includes,
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "lists_range@1.37": _checked_range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    **dict.fromkeys(
        (f"list_{kind}_sort" for kind in _QUALIFIED),
        lambda state, items: _sort_by_keys(state, items, items),
    ),
    **{f"list_{kind}_sortByAssociatedKeys": _sort_by_keys for kind in _QUALIFIED},
}
