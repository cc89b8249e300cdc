"""Elements of lists and maps by index or key, and the errors of missing ones."""

import math
from typing import Any

from dragoman_cel.data import BuiltMap, DefaultMap, Invalid, PartialMap
from dragoman_cel.errors import OperationError
from dragoman_cel.representation import (
    LISTS,
    MAPS,
    NUMBERS,
    key_of,
    refuse_unhashable,
    shown,
    type_name,
)
from dragoman_cel.state import State, spend_text_steps
from dragoman_cel.values.scalars import Uint


def index_of(value: Any) -> int:
    """Return a value as a list index.

    Raises:
        OperationError: The value is not a whole number.
    """
    kind = type(value)
    if kind is int or (kind is Uint and value < 2**63):
        return int(value)
    if kind is float and math.isfinite(value) and value == int(value) and abs(value) < 2**63:
        return int(value)
    if kind in NUMBERS:
        raise OperationError(f"unsupported index value {shown(value)} in list")
    raise OperationError(f"unsupported index type '{type_name(value)}' in list")


MISSING = object()
"""Result of `find` for a missing key or index."""


def find(value: Any, key: Any) -> Any:
    """Return the element of a list or map, MISSING without one."""
    kind = type(value)
    if kind in MAPS:
        try:
            if kind is DefaultMap:
                return value[key_of(key)]
            found = value.get(key_of(key), MISSING)
        except TypeError:
            return MISSING
        if kind is PartialMap and type(found) is Invalid:
            raise found.error
        return found
    if kind in LISTS:
        index = index_of(key)
        return value[index] if 0 <= index < len(value) else MISSING
    if kind is Invalid:
        raise value.error
    return MISSING


def missing_key(value: Any, key: Any) -> OperationError:
    """Return the error of a missing key or index."""
    if type(value) in LISTS:
        return OperationError(lambda: f"index out of bounds: {shown(key)}")
    return OperationError(lambda: f"no such key: {shown(key)}")


def has_key(mapping: dict[Any, Any], value: Any, state: State) -> bool:
    """Return `value in map`, where 1, 1u and 1.0 are the same key.

    Raises:
        EvaluationAborted: The value makes cel-go itself fail.
    """
    spend_text_steps(state, value)
    if type(mapping) is BuiltMap and mapping:
        refuse_unhashable(value)
    try:
        return key_of(value) in mapping
    except TypeError:  # a list or map is never a key
        return False
