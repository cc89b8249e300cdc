"""Equality of any two values, and the order of those types that have one."""

import math
from typing import Any

from dragoman_cel.data import (
    BuiltMap,
    DataList,
    DataMap,
    DefaultMap,
    Invalid,
    MapList,
    PartialMap,
    Record,
    SetList,
)
from dragoman_cel.errors import OperationError
from dragoman_cel.representation import (
    KUBERNETES,
    LISTS,
    MAPS,
    NONE,
    NUMBERS,
    PLAIN,
    Optional,
    no_such_overload,
)
from dragoman_cel.state import (
    STEPS_PER_CONTAINER,
    STEPS_PER_ERROR,
    TEXT_PER_STEP,
    State,
    spend_steps,
)
from dragoman_cel.types import Type
from dragoman_cel.values.quantity import Quantity

_STRICT = KUBERNETES | (LISTS | MAPS) - {list, dict, BuiltMap, DefaultMap, PartialMap}
"""Types whose comparison with a value of another kind fails, unlike that of cel-go's own."""


def equal(left: Any, right: Any, state: State) -> bool:
    """Return `==` of any two values, as cel-go does.

    Raises:
        OperationError: `no such overload` when the left value is of a Kubernetes type, or data of
            a schema, and the right one is of another kind.
    """
    kind, other = type(left), type(right)
    if kind is other and kind in PLAIN:
        if (kind is str or kind is bytes) and len(left) > TEXT_PER_STEP:
            spend_steps(state, len(left) // TEXT_PER_STEP)
        return bool(left == right)
    if kind in NUMBERS and other in NUMBERS:
        # Go converts the int to a double before the comparison, and may lose precision.
        mixed = kind is float or other is float
        return float(left) == float(right) if mixed else bool(left == right)
    if left is None or right is None:
        return left is right
    if kind in MAPS and other in MAPS:
        return _equal_maps(left, right, state)
    if kind in LISTS and other in LISTS:
        return _equal_lists(left, right, state)
    if kind in _STRICT:
        return _equal_kubernetes(left, right)
    if kind is Invalid:
        raise left.error
    if kind is Optional and other is Optional:
        return _equal_optionals(left, right, state)
    return kind is Type and other is Type and bool(left.name == right.name)


def _equal_kubernetes(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        raise no_such_overload()
    return bool(left.equals(right) if type(left) is Quantity else left == right)


def _equal_optionals(left: Optional, right: Optional, state: State) -> bool:
    if left is NONE or right is NONE:
        return left is right
    return equal(left.value, right.value, state)


def _same(left: Any, right: Any, state: State) -> bool:
    """Compare parts of lists and maps, where an error counts as "not different"."""
    try:
        return equal(left, right, state)
    except OperationError:
        spend_steps(state, STEPS_PER_ERROR)
        return True


def _equal_lists(left: list[Any], right: list[Any], state: State) -> bool:
    if len(left) != len(right):
        return False
    spend_steps(state, len(left) + STEPS_PER_CONTAINER)
    if type(left) is SetList:
        members = set(map(set_key, left))
        return all(type(item) is not Invalid and set_key(item) in members for item in right)
    if type(left) is MapList:
        return _equal_map_lists(left, right, state)
    if type(left) is DataList:
        return all(equal(one, two, state) for one, two in zip(left, right, strict=True))
    return all(_same(one, two, state) for one, two in zip(left, right, strict=True))


def set_key(item: Any) -> Any:
    """Return the key of a scalar in a set, where true is not 1.

    Raises:
        TypeError: The item is no scalar; the API server accepts such a schema, and its rules fail.
    """
    if isinstance(item, dict):
        raise TypeError("runtime error: hash of unhashable type: map[string]interface {}")
    if isinstance(item, list):
        raise TypeError("runtime error: hash of unhashable type: []interface {}")
    return type(item), item


def map_key(item: Any, names: tuple[str, ...]) -> Any:
    """Return the key of an element of a list map."""
    source = item.raw if type(item) is Record else item
    if type(source) not in MAPS:
        return None
    return tuple(set_key(source.get(name)) for name in names)


def _equal_map_lists(left: MapList, right: list[Any], state: State) -> bool:
    by_key = {map_key(item, left.names): item for item in left}
    for item in right:
        key = map_key(item, left.names)
        if key not in by_key or not equal(by_key[key], item, state):
            return False
    return True


def _equal_records(left: Record, right: Record, state: State) -> bool:
    if len(left.raw) != len(right.raw) or len(left) != len(right):
        return False
    spend_steps(state, len(left.raw) + STEPS_PER_CONTAINER)
    for name, value in left.items():
        if name not in right or not equal(value, right[name], state):
            return False
    return all(left.raw[name] == right.raw.get(name, left.raw[name]) for name in left.hidden)


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any], state: State) -> bool:
    if type(left) is Record and type(right) is Record:
        return _equal_records(left, right, state)
    if len(left) != len(right):
        return False
    spend_steps(state, len(left) + STEPS_PER_CONTAINER)
    always = type(right) is DefaultMap
    same = equal if type(left) in (DataMap, PartialMap) else _same
    return all(
        (always or key in right) and same(value, right[key], state) for key, value in left.items()
    )


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 for values that have an order.

    Raises:
        OperationError: `no such overload` for values without one, or of different kinds.
    """
    kind, other = type(left), type(right)
    if kind is float or other is float:
        if kind not in NUMBERS or other not in NUMBERS:
            raise no_such_overload()
        if math.isnan(left) or math.isnan(right):
            raise OperationError("NaN values cannot be ordered")
        left, right = float(left), float(right)  # Go loses the same precision
    elif not (kind is other and kind in PLAIN) and not (kind in NUMBERS and other in NUMBERS):
        raise no_such_overload()
    return int(left > right) - int(left < right)


def is_ordered(value: Any) -> bool:
    """Return whether the type of a value has an order."""
    return type(value) in PLAIN
