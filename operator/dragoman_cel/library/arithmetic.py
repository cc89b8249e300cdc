"""Operators on numbers, texts, lists and times: `+ - * / %` and the two negations."""

import math
import operator
from typing import Any

from dragoman_cel.data import DataList, MapList, SetList
from dragoman_cel.equality import map_key, set_key
from dragoman_cel.errors import OperationError
from dragoman_cel.state import Functions, State, spend_steps
from dragoman_cel.values.scalars import INT_MIN, Uint, checked_int, checked_uint
from dragoman_cel.values.text import bounded


def _quotient(left: int, right: int) -> int:
    """Divide toward zero, where Python divides toward minus infinity."""
    if right == 0:
        raise OperationError("division by zero")
    found = abs(left) // abs(right)
    return found if (left < 0) is (right < 0) else -found


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise OperationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise OperationError("integer overflow")
    found = abs(left) % abs(right)
    return -found if left < 0 else found


def _div_double(left: float, right: float) -> float:
    if right == 0.0:
        if left == 0.0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    return left / right


def _add_text(left: Any, right: Any) -> Any:
    bounded(len(left) + len(right))
    return left + right


def _add_list(state: State, left: list[Any], right: list[Any]) -> list[Any]:
    # cel-go joins lists lazily for one unit; this copy takes plain steps instead.
    spend_steps(state, len(left) + len(right))
    if type(left) is SetList:
        known = set(map(set_key, left))
        return SetList([*left, *(item for item in right if set_key(item) not in known)])
    if type(left) is MapList:
        return _merged(left, right)
    joined = [*left, *right]
    return DataList(joined) if type(left) is DataList else joined


def _merged(left: MapList, right: list[Any]) -> MapList:
    """Replace elements that have the same key in place, append the others."""
    places = {map_key(item, left.names): index for index, item in enumerate(left)}
    merged = list(left)
    for item in right:
        place = places.get(map_key(item, left.names))
        if place is None:
            merged.append(item)
        else:
            merged[place] = item
    return MapList(merged, left.names)


OVERLOADS: Functions = {
    "add_int64": lambda left, right: checked_int(left + right),
    "add_uint64": lambda left, right: checked_uint(left + right),
    "add_double": operator.add,
    "add_string": _add_text,
    "add_bytes": _add_text,
    "add_duration_duration": lambda left, right: left.plus(right),
    "add_duration_timestamp": lambda left, right: right.plus(left),
    "add_timestamp_duration": lambda left, right: left.plus(right),
    "subtract_int64": lambda left, right: checked_int(left - right),
    "subtract_uint64": lambda left, right: checked_uint(left - right),
    "subtract_double": operator.sub,
    "subtract_duration_duration": lambda left, right: left.minus(right),
    "subtract_timestamp_duration": lambda left, right: left.minus(right),
    "subtract_timestamp_timestamp": lambda left, right: left.since(right),
    "multiply_int64": lambda left, right: checked_int(left * right),
    "multiply_uint64": lambda left, right: checked_uint(left * right),
    "multiply_double": operator.mul,
    "divide_int64": lambda left, right: checked_int(_quotient(left, right)),
    "divide_uint64": lambda left, right: Uint(_quotient(left, right)),
    "divide_double": _div_double,
    "modulo_int64": _remainder,
    "modulo_uint64": lambda left, right: Uint(_remainder(left, right)),
    "negate_int64": lambda number: checked_int(-number),
    "negate_double": operator.neg,
    "logical_not": operator.not_,
}
STATEFUL: Functions = {"add_list": _add_list}
