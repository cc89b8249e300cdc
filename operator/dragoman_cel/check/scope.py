"""What the checker needs of an environment, and the names that are in scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel import types
from dragoman_cel.check.catalog import Catalog
from dragoman_cel.check.overloads import Overload, fitting
from dragoman_cel.syntax.nodes import Call
from dragoman_cel.types import Bindings, Settled, Type
from dragoman_cel.values.scalars import Uint

SCALARS: dict[type, Type] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}
"""Types of literals."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the checker needs of an environment."""

    functions: Mapping[str, Sequence[Overload]]  # The overloads of each function
    variables: Mapping[str, Type]  # The type of each variable
    type_names: Mapping[str, Type]  # The types that expressions can name
    structs: Mapping[str, Mapping[str, Type]]  # The fields of each declared object type
    release: Release  # What evaluates
    checks_literals: bool  # Whether constants are checked at compile time
    catalog: Catalog | None = None  # Names to suggest; None where none are
    # A cache of overload resolutions; every thread would compute the same
    resolved: dict[Any, Any] = field(default_factory=dict)


class Names:
    """Names that an expression can use.

    Attributes:
        locals: Variables of macros and their types, the innermost last.
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


_RESOLVED_MAX = 4096
"""Entries of an environment's cache of overload resolutions."""


def resolve(node: Call, args: list[Type], scope: Scope, bindings: Bindings) -> Type | None:
    """Settle which overloads fit the arguments; return what they return, None if none fits."""
    member = node.target is not None
    # Types without parameters resolve alike in every expression of an environment.
    closed = not any(arg.open for arg in args)
    key = (node.function, member, *args) if closed else None
    known = scope.resolved.get(key) if closed else None
    if known is not None:
        node.overloads, result = known
        return result  # type: ignore[no-any-return]
    names, result = fitting(scope.functions[node.function], args, bindings, member=member)
    if result is None:
        return None
    node.overloads = names
    if closed and not result.open and len(scope.resolved) < _RESOLVED_MAX:
        scope.resolved[key] = (names, result)
    return result


def no_overload(node: Call, args: list[Type], bindings: Bindings) -> str:
    """Return the message about a call that no overload fits."""
    settled: Settled = {}
    shown = [str(bindings.settle(arg, settled)) for arg in args]
    of = f"({', '.join(shown)})"
    if node.target is not None:
        of = f"{shown[0]}.({', '.join(shown[1:])})"
    return f"found no matching overload for '{node.function}' applied to '{of}'"
