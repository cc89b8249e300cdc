"""Read-only variables that the caller adds to the rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman_cel import types
from dragoman_cel.check.scope import SCALARS
from dragoman_cel.estimate import Path
from dragoman_cel.types import Kind, Type


class RuleVariables:
    """Names, types and values of added variables.

    Attributes:
        types: The CEL type of each.
        values: The values, in the same order.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.types: dict[str, Type] = {name: type_of(value) for name, value in values.items()}
        self.values: tuple[Any, ...] = tuple(map(_converted, values.values()))
        self._by_name = dict(values)

    def size_of(self, path: Path) -> int | None:
        """Return the size at a path such as ("variables.names", "@items")."""
        found: list[Any] = [self._by_name[path[0]]]
        for step in path[1:]:
            if step == "@keys":
                found = [key for one in found if isinstance(one, dict) for key in one]
            elif step in ("@items", "@values"):
                found = [part for one in found for part in _parts(one)]
            else:
                found = [one[step] for one in found if isinstance(one, dict) and step in one]
        sizes = [len(one) for one in found if isinstance(one, (str, list, dict))]
        return max(sizes, default=0)


def _parts(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def type_of(value: Any) -> Type:
    """Return the CEL type of a JSON value; parts of different types are dyn."""
    if isinstance(value, dict):
        return types.map_of(types.STRING, _common(list(value.values())))
    if isinstance(value, (list, tuple)):
        return types.list_of(_common(list(value)))
    return SCALARS.get(type(value), types.NULL)


def _common(values: list[Any]) -> Type:
    kinds = {type_of(value) for value in values}
    found = kinds.pop() if len(kinds) == 1 else types.DYN
    return types.DYN if found.kind is Kind.NULL else found


def _converted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _converted(item) for key, item in value.items()}
    return [_converted(item) for item in value] if isinstance(value, (list, tuple)) else value
