"""What the checker needs of an environment, and the names that are in scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from dragoman.cel import types
from dragoman.cel.check.overloads import Overload
from dragoman.cel.types import Type
from dragoman.cel.values.scalars import Uint

SCALARS: Final[dict[type, Type]] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}
"""Types of literals."""


class Scope(Protocol):
    """What the checker needs of an environment."""

    @property
    def functions(self) -> Mapping[str, Sequence[Overload]]:
        """Return the overloads of each function."""

    @property
    def variables(self) -> Mapping[str, Type]:
        """Return the type of each variable."""

    @property
    def type_names(self) -> Mapping[str, Type]:
        """Return the types that expressions can name."""

    @property
    def checks_literals(self) -> bool:
        """Return whether the checker checks constants."""

    @property
    def resolved(self) -> dict[Any, Any]:
        """Return the cache of overload resolutions."""

    def fields(self, name: str) -> Mapping[str, Type] | None:
        """Return the fields of an object type."""


class Names:
    """Names that an expression can use.

    Attributes:
        locals: variables of macros and their types, the innermost last.
    """

    def __init__(self, scope: Scope) -> None:
        self.locals: list[tuple[str, Type]] = []
        self._scope = scope

    def lookup(self, name: str) -> tuple[Type | None, Any]:
        """Return the type of a name and its value if it is a constant (a type)."""
        name = name.removeprefix(".")
        for local, kind in reversed(self.locals):
            if local == name:
                return kind, None
        variable = self._scope.variables.get(name)
        if variable is not None:
            return variable, None
        named = self._scope.type_names.get(name)
        if named is not None:
            return types.type_of(named), named
        return None, None
