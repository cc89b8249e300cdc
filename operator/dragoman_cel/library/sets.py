"""Lists as sets: `sets.contains`, `sets.intersects`, `sets.equivalent`."""

from contextlib import suppress
from typing import Any

from dragoman_cel.data import DataList, Invalid
from dragoman_cel.errors import OperationError
from dragoman_cel.library.lists import contains
from dragoman_cel.state import Functions, State, spend_steps

_STEPS_PER_ITEM = 2
"""Plain steps of looking for an item in a list, whatever the list has."""


def _has(state: State, items: list[Any], item: Any) -> bool:
    spend_steps(state, _STEPS_PER_ITEM)
    if type(item) is Invalid:
        # Only lists from data can have invalid elements; lists of the expression cannot.
        if isinstance(items, DataList):
            raise item.error
        return False
    return contains(items, item, state)


def _contains(state: State, items: list[Any], part: list[Any]) -> bool:
    return all(_has(state, items, item) for item in part)


def _shares(state: State, items: list[Any], item: Any) -> bool:
    with suppress(OperationError):
        return _has(state, items, item)
    return False


def _intersects(state: State, left: list[Any], right: list[Any]) -> bool:
    return any(_shares(state, right, item) for item in left)


def _equivalent(state: State, left: list[Any], right: list[Any]) -> bool:
    return _contains(state, left, right) and _contains(state, right, left)


STATEFUL: Functions = {
    "list_sets_contains_list": _contains,
    "list_sets_intersects_list": _intersects,
    "list_sets_equivalent_list": _equivalent,
}
