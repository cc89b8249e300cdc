"""The macros `has`, `all`, `map`, `cel.bind` and others: their expansions.

The shapes are cel-go's, because costs and error positions follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dragoman_cel.syntax.nodes import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
)

ACCUMULATOR = "@result"
UNUSED = "#unused"
_VISIBLE_ACCUMULATOR = "__result__"
_SORT_INPUT = "@__sortBy_input__"

Expander = Callable[[int, Any, "list[Node]"], "Node | None"]
"""Expands a call from its position, receiver (None without one) and arguments; None: no macro."""
Key = tuple[str, int, bool]
"""Name of a macro, number of arguments, whether the call has a receiver."""


class MacroError(Exception):
    """A macro with an invalid argument; `pos` is cel-go's error position."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos


def _call(pos: int, function: str, *args: Node) -> Call:
    return Call(pos, function, None, list(args))


def _accu(pos: int) -> Ident:
    return Ident(pos, ACCUMULATOR)


def _name(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.pos, message)
    return node.name


def _variable(node: Node, message: str = "argument must be a simple name") -> str:
    name = _name(node, message)
    if name in (ACCUMULATOR, _VISIBLE_ACCUMULATOR):
        raise MacroError(node.pos, "iteration variable overwrites accumulator variable")
    return name


def _variables(args: list[Node]) -> tuple[str, str]:
    message = "argument must be a simple name"
    first, second = _name(args[0], message), _name(args[1], message)
    if first == second:
        raise MacroError(args[1].pos, f"duplicate variable name: {first}")
    return _variable(args[0]), _variable(args[1])


def _comprehension(
    pos: int,
    macro: str,
    target: Node,
    names: tuple[str, str],
    parts: tuple[Node, Node, Node, Node],
    *body: Node | None,
) -> Comprehension:
    return Comprehension(pos, macro, target, *names, ACCUMULATOR, *parts, body)


def _has(pos: int, _target: None, args: list[Node]) -> Node:
    operand = args[0]
    if not isinstance(operand, Select) or operand.test:
        raise MacroError(operand.pos, "invalid argument to has() macro")
    return Select(pos, operand.operand, operand.name, test=True)


def _all(pos: int, target: Node, names: tuple[str, str], predicate: Node) -> Node:
    condition = _call(pos, "@not_strictly_false", _accu(pos))
    step = _call(pos, "_&&_", _accu(pos), predicate)
    parts = (Literal(pos, True), condition, step, _accu(pos))  # noqa: FBT003 — a CEL constant
    return _comprehension(pos, "all", target, names, parts, predicate)


def _exists(pos: int, target: Node, names: tuple[str, str], predicate: Node) -> Node:
    condition = _call(pos, "@not_strictly_false", _call(pos, "!_", _accu(pos)))
    step = _call(pos, "_||_", _accu(pos), predicate)
    parts = (Literal(pos, False), condition, step, _accu(pos))  # noqa: FBT003 — a CEL constant
    return _comprehension(pos, "exists", target, names, parts, predicate)


def _exists_one(pos: int, target: Node, names: tuple[str, str], predicate: Node) -> Node:
    found = _call(pos, "_+_", _accu(pos), Literal(pos, 1))
    step = _call(pos, "_?_:_", predicate, found, _accu(pos))
    result = _call(pos, "_==_", _accu(pos), Literal(pos, 1))
    parts = (Literal(pos, 0), Literal(pos, True), step, result)  # noqa: FBT003 — a CEL constant
    return _comprehension(pos, "exists_one", target, names, parts, predicate)


def _collect(
    pos: int, target: Node, names: tuple[str, str], predicate: Node | None, transform: Node
) -> Node:
    step: Node = _call(pos, "_+_", _accu(pos), ListNode(pos, [transform], frozenset()))
    if predicate is not None:
        step = _call(pos, "_?_:_", predicate, step, _accu(pos))
    parts = (ListNode(pos, [], frozenset()), Literal(pos, True), step, _accu(pos))  # noqa: FBT003 — a CEL constant
    return _comprehension(pos, "map", target, names, parts, predicate, transform)


def _insert(
    pos: int, target: Node, names: tuple[str, str], predicate: Node | None, *entry: Node
) -> Node:
    step: Node = _call(pos, "cel.@mapInsert", _accu(pos), *entry)
    if predicate is not None:
        step = _call(pos, "_?_:_", predicate, step, _accu(pos))
    parts = (MapNode(pos, []), Literal(pos, True), step, _accu(pos))  # noqa: FBT003 — a CEL constant
    return _comprehension(pos, "insert", target, names, parts, predicate, *entry)


def _quantified(build: Callable[[int, Node, tuple[str, str], Node], Node]) -> Expander:
    """Return the expander of a macro of one or two variables and a predicate."""

    def expand(pos: int, target: Node, args: list[Node]) -> Node:
        names = (_variable(args[0]), "") if len(args) == 2 else _variables(args)
        return build(pos, target, names, args[-1])

    return expand


def _map(pos: int, target: Node, args: list[Node]) -> Node:
    name = _variable(args[0], "argument is not an identifier")
    predicate = args[1] if len(args) == 3 else None
    return _collect(pos, target, (name, ""), predicate, args[-1])


def _filter(pos: int, target: Node, args: list[Node]) -> Node:
    name = _variable(args[0], "argument is not an identifier")
    return _collect(pos, target, (name, ""), args[1], args[0])


def _transform_list(pos: int, target: Node, args: list[Node]) -> Node:
    predicate = args[2] if len(args) == 4 else None
    return _collect(pos, target, _variables(args), predicate, args[-1])


def _transform_map(pos: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args)
    predicate = args[2] if len(args) == 4 else None
    return _insert(pos, target, names, predicate, Ident(pos, names[0]), args[-1])


def _transform_entry(pos: int, target: Node, args: list[Node]) -> Node:
    predicate = args[2] if len(args) == 4 else None
    return _insert(pos, target, _variables(args), predicate, args[-1])


def _bound(pos: int, name: str, value: Node, body: Node) -> Comprehension:
    """Make cel-go's comprehension of `cel.bind`: an empty loop, the accumulator is the variable."""
    parts = (value, Literal(pos, False), Ident(pos, name), body)  # noqa: FBT003 — a CEL constant
    empty = ListNode(pos, [], frozenset())
    return Comprehension(pos, "bind", empty, UNUSED, "", name, *parts, (value, body))


def _bind(pos: int, target: Node, args: list[Node]) -> Node | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    name = _name(args[0], "cel.bind() variable names must be simple identifiers")
    return _bound(pos, name, args[1], args[2])


def _opt_map(macro: str, *, wrap: bool) -> Expander:
    def expand(pos: int, target: Node, args: list[Node]) -> Node:
        name = _name(args[0], f"{macro}() variable name must be a simple identifier")
        # The target is evaluated twice, as in cel-go; sharing its node keeps chains of these
        # macros linear where copies would double with every link.
        bound: Node = _bound(pos, name, Call(pos, "value", target, []), args[1])
        found = _call(pos, "optional.of", bound) if wrap else bound
        has_value = Call(pos, "hasValue", target, [])
        return _call(pos, "_?_:_", has_value, found, _call(pos, "optional.none"))

    return expand


def _sort_by(pos: int, target: Node, args: list[Node]) -> Node:
    if not isinstance(target, (ListNode, Select, Ident, Comprehension, Call)):
        kinds = "a list, identifier, comprehension, call or select expression"
        raise MacroError(target.pos, f"sortBy can only be applied to {kinds}")
    keys = _map(pos, Ident(pos, _SORT_INPUT), args)
    call = Call(pos, "@sortByAssociatedKeys", Ident(pos, _SORT_INPUT), [keys])
    return _bound(pos, _SORT_INPUT, target, call)


_ALL: tuple[tuple[Key, tuple[int, int], Expander], ...] = (
    (("has", 1, False), (1, 0), _has),
    (("all", 2, True), (1, 0), _quantified(_all)),
    (("exists", 2, True), (1, 0), _quantified(_exists)),
    (("exists_one", 2, True), (1, 0), _quantified(_exists_one)),
    (("map", 2, True), (1, 0), _map),
    (("map", 3, True), (1, 0), _map),
    (("filter", 2, True), (1, 0), _filter),
    (("optMap", 2, True), (1, 28), _opt_map("optMap", wrap=True)),
    (("optFlatMap", 2, True), (1, 28), _opt_map("optFlatMap", wrap=False)),
    (("all", 3, True), (1, 32), _quantified(_all)),
    (("exists", 3, True), (1, 32), _quantified(_exists)),
    (("existsOne", 3, True), (1, 32), _quantified(_exists_one)),
    (("exists_one", 3, True), (1, 32), _quantified(_exists_one)),
    (("transformList", 3, True), (1, 32), _transform_list),
    (("transformList", 4, True), (1, 32), _transform_list),
    (("transformMap", 3, True), (1, 32), _transform_map),
    (("transformMap", 4, True), (1, 32), _transform_map),
    (("transformMapEntry", 3, True), (1, 32), _transform_entry),
    (("transformMapEntry", 4, True), (1, 32), _transform_entry),
    (("sortBy", 2, True), (1, 34), _sort_by),
)


def macros_of(version: tuple[int, int], *, bind: bool) -> Mapping[Key, Expander]:
    """Return the macros of a Kubernetes version.

    Args:
        version: As in (1, 36).
        bind: Whether `cel.bind` belongs to the environment (it does for device selectors).
    """
    found = {key: expand for key, since, expand in _ALL if since <= version}
    if bind:
        found["bind", 3, True] = _bind
    return found
