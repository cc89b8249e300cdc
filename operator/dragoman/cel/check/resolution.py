"""Calls resolved: which overloads fit their arguments, remembered for an environment."""

from typing import Final

from dragoman.cel.check.overloads import fitting
from dragoman.cel.check.scope import Scope
from dragoman.cel.syntax.nodes import Call
from dragoman.cel.types import Bindings, Settled, Type

_RESOLVED_MAX: Final = 4096
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
