"""Checks of literals after the type check: compile errors since Kubernetes 1.29.

Constant durations, timestamps and patterns must be valid; elements of one list or map literal must
have the same type; constant format strings must fit literal arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dragoman_cel import types
from dragoman_cel.errors import EvaluationError, OperationError
from dragoman_cel.syntax.nodes import Call, ListNode, Literal, MapNode, Node
from dragoman_cel.types import Kind, Type
from dragoman_cel.values.durations import parse_duration
from dragoman_cel.values.formatting import Clause, parse_format
from dragoman_cel.values.regex import compile_regex
from dragoman_cel.values.timestamps import parse_timestamp, timestamp_from_seconds

Issues = list[tuple[int, str]]

CHECKED = frozenset(("duration", "timestamp", "matches", "format"))
"""Functions whose literal arguments are checked."""


@dataclass(slots=True)
class Literals:
    """The literals and calls to check."""

    # List and map literals outside of `format` calls
    aggregates: list[ListNode | MapNode] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)  # Calls of the functions of CHECKED


def check_literals(literals: Literals) -> Issues:
    """Return (offset, message) of every invalid literal."""
    issues: Issues = []
    for call in literals.calls:
        if call.function == "format":
            issues += _format_issues(call)
        elif call.args and isinstance(call.args[0], Literal):
            issues += _argument_issues(call, call.args[0])
    for aggregate in literals.aggregates:
        if isinstance(aggregate, ListNode):
            issues += _list_issues(aggregate)
        else:
            issues += _map_issues(aggregate)
    return issues


def _timestamp(value: Any) -> Any:
    if value is None:
        raise OperationError("type conversion error")
    return parse_timestamp(value) if type(value) is str else timestamp_from_seconds(value)


def _duration(value: Any) -> Any:
    if type(value) is not str:
        raise OperationError("type conversion error")
    return parse_duration(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "duration": _duration,
    "timestamp": _timestamp,
    "matches": compile_regex,
}


def _argument_issues(call: Call, argument: Literal) -> Issues:
    try:
        _READERS[call.function](argument.value)
    except EvaluationError:  # also when earlier patterns used up the budget of steps
        return [(argument.pos, f"invalid {call.function} argument")]
    return []


def _mismatch(node: Node, expected: Type, found: Type) -> tuple[int, str]:
    return node.pos, f"expected type '{expected}' but found '{found}'"


def _content(node: Node, *, optional: bool) -> Type:
    kind: Type = node.type
    return kind.params[0] if optional and kind.params else kind


def _list_issues(node: ListNode) -> Issues:
    expected: Type | None = None
    for number, item in enumerate(node.items):
        found = _content(item, optional=number in node.optional)
        if expected is None:
            expected = found
        elif found != expected:
            return [_mismatch(item, expected, found)]
    return []


def _map_issues(node: MapNode) -> Issues:
    issues: Issues = []
    first = node.entries[0]
    key, value = first.key.type, _content(first.value, optional=first.optional)
    for entry in node.entries[1:]:
        if entry.key.type != key:
            issues.append(_mismatch(entry.key, key, entry.key.type))
        found = _content(entry.value, optional=entry.optional)
        if found != value:
            issues.append(_mismatch(entry.value, value, found))
    return issues


_INTEGERS = (types.INT, types.UINT)
_ACCEPTED: dict[str, tuple[Type, ...]] = {
    "d": _INTEGERS,
    "o": _INTEGERS,
    "f": (types.DOUBLE, types.STRING),
    "e": (types.DOUBLE, types.STRING),
    "b": (*_INTEGERS, types.BOOL),
    "x": (*_INTEGERS, types.STRING, types.BYTES),
}


def _format_issues(call: Call) -> Issues:
    template, arguments = call.target, call.args[0] if call.args else None
    if not isinstance(template, Literal) or type(template.value) is not str:
        return []
    if not isinstance(arguments, ListNode):
        return []
    items, expected, at = arguments.items, 0, call.pos

    def visit(index: int, clause: Clause) -> str:
        nonlocal expected, at
        expected += 1
        bad = _unfit(items[index], clause.letter.lower())
        if bad is not None:
            at = bad.pos
            raise OperationError(f"{clause.mismatch}, was given {bad.type.name}")
        return ""

    try:
        parse_format(template.value, len(items), visit)
    except OperationError as error:
        return [(at, error.message)]
    if len(items) > expected:
        counts = f"(expected {expected}, got {len(items)})"
        return [(call.pos, f"too many arguments supplied to string.format {counts}")]
    return []


def _unfit(node: Node, letter: str) -> Node | None:
    """Return the node that a clause does not accept: the argument, or a part of a literal."""
    kind: Type = node.type
    if kind.kind is Kind.DYN:
        return None
    if letter != "s":
        return None if kind in _ACCEPTED[letter] else node
    if kind.kind not in (Kind.SCALAR, Kind.LIST, Kind.MAP, Kind.TYPE, Kind.NULL):
        return node
    parts: list[Node] = []
    if isinstance(node, ListNode):
        parts = node.items
    elif isinstance(node, MapNode):
        parts = [part for entry in node.entries for part in (entry.key, entry.value)]
    return next((bad for part in parts if (bad := _unfit(part, letter)) is not None), None)
