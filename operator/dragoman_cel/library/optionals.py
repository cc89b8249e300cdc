"""Functions of optional values.

The compiler handles `or` and `orValue`, which do not evaluate an argument they do not need.
"""

from typing import Any

from dragoman_cel.data import Invalid
from dragoman_cel.errors import OperationError
from dragoman_cel.representation import NONE, Optional, is_zero, shown
from dragoman_cel.state import Functions, State, spend_steps


def _of_non_zero(value: Any) -> Optional:
    return NONE if is_zero(value) else Optional(value)


def _has_value(optional: Optional) -> bool:
    if type(optional) is not Optional:
        # The checker accepts null here; see Program.untyped.
        raise TypeError
    return optional is not NONE


def _value(optional: Optional) -> Any:
    if optional is NONE:
        raise OperationError("optional.none() dereference")
    if type(optional.value) is Invalid:
        raise optional.value.error
    return optional.value


def _unwrap(state: State, items: list[Any]) -> list[Any]:
    spend_steps(state, len(items))
    if items and type(items[0]) is not Optional:
        # The overload does not fit such a list; see Program.untyped.
        raise TypeError
    odd = next((item for item in items if type(item) is not Optional), NONE)
    if odd is not NONE:
        raise OperationError(lambda: f"value {shown(odd)} is not optional")
    return [item.value for item in items if item is not NONE]


OVERLOADS: Functions = {
    "optional_of": Optional,
    "optional_none": lambda: NONE,
    "optional_ofNonZeroValue": _of_non_zero,
    "optional_hasValue": _has_value,
    "optional_value": _value,
    "list_first": lambda items: Optional(items[0]) if items else NONE,
    "list_last": lambda items: Optional(items[-1]) if items else NONE,
}
STATEFUL: Functions = {
    "optional_unwrap": _unwrap,
    "optional_unwrapOpt": _unwrap,
}
