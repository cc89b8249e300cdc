"""`size` of strings, bytes, lists and maps, and the insertion behind transformMap."""

from typing import Any

from dragoman_cel.data import BuiltMap
from dragoman_cel.errors import OperationError
from dragoman_cel.representation import entry_key, shown, value_of
from dragoman_cel.state import Functions, State, spend_steps

_SIZES = ("bytes", "list", "map", "string")


def _insert(state: State, mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    spend_steps(state, len(mapping) + 1)
    return insert(BuiltMap(mapping), key, value)


def _insert_all(state: State, mapping: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    spend_steps(state, len(mapping) + len(more))
    built = BuiltMap(mapping)
    for key, value in more.items():
        insert(built, value_of(key), value)
    return built


def insert(building: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    """Add an entry to a map under construction, and return the map.

    Raises:
        OperationError: The map has the key already.
    """
    stored = entry_key(key)
    if stored in building:
        raise OperationError(lambda: f"insert failed: key {shown(key)} already exists")
    building[stored] = value
    return building


OVERLOADS: Functions = {
    **{f"size_{kind}": len for kind in _SIZES},
    **{f"{kind}_size": len for kind in _SIZES},
}
STATEFUL: Functions = {
    "@mapInsert_map_key_value": _insert,
    "@mapInsert_map_map": _insert_all,
}
