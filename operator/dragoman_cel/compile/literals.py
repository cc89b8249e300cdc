"""List and map literals; a literal of constants is built once and costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.compile.closure import Closure, Code, constant
from dragoman_cel.cost import LIST_LITERAL, MAP_LITERAL
from dragoman_cel.data import BuiltMap
from dragoman_cel.errors import CompileError, EvaluationAborted, EvaluationError, OperationError
from dragoman_cel.library.conversions import type_named
from dragoman_cel.representation import NONE, Optional, entry_key, shown
from dragoman_cel.state import COST, State
from dragoman_cel.types import Type


def list_literal(items: Sequence[Closure], optional: frozenset[int], release: Release) -> Closure:
    """Compile `[a, ?b]`."""
    if not optional and all(item.is_constant for item in items):
        return constant([item.constant for item in items])
    cost = LIST_LITERAL + sum(item.cost for item in items)
    flat = all(item.flat for item in items)
    own = LIST_LITERAL if release.arguments_first else 0
    return Closure(_list(items, optional, own), cost, flat)


def _unpaid(parts: Sequence[Closure], own: int) -> list[int]:
    """Return the refund after a failure of each part: of the parts behind it, and of the whole."""
    left, found = own, []
    for part in reversed(parts):
        found.append(left)
        left += part.cost
    return found[::-1]


def _list(items: Sequence[Closure], optional: frozenset[int], own: int) -> Code:
    codes, unpaid = [item.run for item in items], _unpaid(items, own)
    if len(codes) == 1 and not optional and not own:
        only = codes[0]
        return lambda state: [only(state)]

    def run(state: State) -> list[Any]:
        built: list[Any] = []
        for index, code in enumerate(codes):
            try:
                value = code(state)
                if index in optional:
                    if value is NONE:
                        continue
                    value = _content(value)
            except EvaluationError:
                state[COST] -= unpaid[index]
                raise
            built.append(value)
        return built

    return run


def _content(value: Any) -> Any:
    if type(value) is not Optional:
        text = "cannot initialize optional list element from non-optional value "
        raise OperationError(lambda: text + shown(value))
    return value.value


def map_literal(entries: Sequence[tuple[Closure, Closure, bool]], release: Release) -> Closure:
    """Compile `{k: v, ?k: v}`."""
    parts = [part for key, value, _ in entries for part in (key, value)]
    optional = any(mark for _, _, mark in entries)
    if not optional and all(part.is_constant for part in parts):
        with suppress(EvaluationAborted):
            return constant(
                BuiltMap((entry_key(key.constant), value.constant) for key, value, _ in entries)
            )
    cost = MAP_LITERAL + sum(part.cost for part in parts)
    unpaid = _unpaid(parts, MAP_LITERAL if release.arguments_first else 0)
    return Closure(_map(entries, unpaid), cost, all(part.flat for part in parts))


def _map(entries: Sequence[tuple[Closure, Closure, bool]], unpaid: list[int]) -> Code:
    codes = [(key.run, value.run, mark) for key, value, mark in entries]

    def run(state: State) -> dict[Any, Any]:
        built = BuiltMap()
        at = 0
        try:
            for key_code, value_code, mark in codes:
                key = key_code(state)
                at += 1
                value = value_code(state)
                if mark:
                    if value is NONE:
                        built.pop(entry_key(key), None)
                        at += 1
                        continue
                    value = _entry_content(key, value)
                built[entry_key(key)] = value
                at += 1
        except EvaluationError:
            state[COST] -= unpaid[at]
            raise
        return built

    return run


def _entry_content(key: Any, value: Any) -> Any:
    if type(value) is not Optional:
        text = "cannot initialize optional entry '{}' from non-optional value {}"
        raise OperationError(lambda: text.format(shown(key), shown(value)))
    return value.value


_TYPES = frozenset(
    ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint")
)


def instantiation_failure(error: EvaluationError) -> CompileError:
    """Return the error of a constant that cannot be converted."""
    return CompileError(f"program instantiation failed: {error.message}")


def undefined_type(name: str) -> CompileError:
    """Return the error of a type that the evaluator does not know."""
    return instantiation_failure(OperationError(f"reference to undefined type: {name}"))


def type_called(name: str) -> Type:
    """Return the type of a name: to cel-go a variable of type `type` is the type of its name."""
    if name not in _TYPES:
        raise undefined_type(name)
    return type_named(name)
