"""One builder for each named alternative of the grammar: from its symbols to a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dragoman.cel.macros import Expander, Key, MacroError
from dragoman.cel.syntax import literals
from dragoman.cel.syntax.nodes import (
    Call,
    Entry,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Message,
    Node,
    Select,
    qualified_name,
)
from dragoman.cel.syntax.tokens import Token

_RESERVED = frozenset(
    (
        "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import",
        "in", "let", "loop", "package", "namespace", "null", "return", "true", "var", "void",
        "while",
    )
)  # fmt: skip


class SyntaxIssue(Exception):  # noqa: N818 — carries one issue to the parser's only exit
    """A token where none fits."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos


class Builder:
    """Collects what the builders of one parse share: the macros and the issues."""

    __slots__ = ("issues", "macros")

    def __init__(self, macros: Mapping[Key, Expander]) -> None:
        self.macros = macros
        self.issues: list[tuple[int, str]] = []

    def report(self, pos: int, message: str) -> Node:
        """Note an issue; what is returned only stands where a node must be."""
        self.issues.append((pos, message))
        return Literal(pos, "<<error>>")

    def call(self, pos: int, name: str, target: Node | None, args: list[Node]) -> Node:
        """Make a call, or what it expands to if it is a macro."""
        expand = self.macros.get((name, len(args), target is not None))
        if expand is not None:
            try:
                expanded = expand(pos, target, args)
            except MacroError as error:
                return self.report(error.pos, str(error))
            if expanded is not None:
                return expanded
        return Call(pos, name, target, args)


def misplaced(token: Token) -> SyntaxIssue:
    """Make the issue of a token where none like it fits."""
    text = "<EOF>" if token.kind == "$END" else token.text
    return SyntaxIssue(token.pos, f"Syntax error: mismatched input '{text}'")


def _conditional(
    builder: Builder, test: Node, mark: Token, then: Node, _colon: Token, other: Node
) -> Node:
    return builder.call(mark.pos, "_?_:_", None, [test, then, other])


def _logical(function: str) -> Callable[..., Node]:
    def build(_: Builder, left: Node, mark: Token, right: Node) -> Node:
        # Chains stay flat: thousands of terms are legal, and order is all that matters.
        if isinstance(left, Call) and left.function == function:
            left.args.append(right)
            return left
        return Call(mark.pos, function, None, [left, right])

    return build


def _binary(_: Builder, left: Node, mark: Token, right: Node) -> Node:
    function = "@in" if mark.text == "in" else f"_{mark.text}_"
    return Call(mark.pos, function, None, [left, right])


def _prefix(_: Builder, marks: list[Token], operand: Node) -> Node:
    if len(marks) % 2 == 0:
        return operand
    mark = marks[0]
    return Call(mark.pos, "!_" if mark.text == "!" else "-_", None, [operand])


def _first(_: Builder, item: Any) -> list[Any]:
    return [item]


def _following(_: Builder, items: list[Any], *last: Any) -> list[Any]:
    items.append(last[-1])
    return items


def _member_dot(_: Builder, operand: Node, dot: Token, name: Token) -> Node:
    return Select(dot.pos, operand, name.text)


def _member_opt_dot(_: Builder, operand: Node, dot: Token, _mark: Token, name: Token) -> Node:
    return Call(dot.pos, "_?._", None, [operand, Literal(name.pos, name.text)])


def _member_dot_arg(
    builder: Builder, target: Node, _dot: Token, name: Token, opening: Token, *rest: Any
) -> Node:
    return builder.call(opening.pos, name.text, target, rest[0] if len(rest) == 2 else [])


def _member_index(_: Builder, operand: Node, opening: Token, index: Node, _end: Token) -> Node:
    return Call(opening.pos, "_[_]", None, [operand, index])


def _member_opt_index(
    _: Builder, operand: Node, opening: Token, _mark: Token, index: Node, _end: Token
) -> Node:
    return Call(opening.pos, "_[?_]", None, [operand, index])


def _member_object(_: Builder, target: Node, opening: Token, *rest: Any) -> Node:
    name = qualified_name(target)
    if name is None:
        raise misplaced(opening)
    return Message(opening.pos, name, rest[0] if isinstance(rest[0], list) else [])


_READERS: dict[str, Callable[[str], Any]] = {
    "INT": literals.integer,
    "UINT": literals.unsigned,
    "FLOAT": literals.double,
    "STRING": literals.string,
    "BYTES": literals.octets,
    "TRUE": lambda _: True,
    "FALSE": lambda _: False,
    "NULL": lambda _: None,
}


def _literal(builder: Builder, token: Token) -> Node:
    try:
        return Literal(token.pos, _READERS[token.kind](token.text))
    except literals.LiteralError as error:
        return builder.report(token.pos, str(error))


def _ident(builder: Builder, token: Token) -> Node:
    if token.text in _RESERVED:
        return builder.report(token.pos, f"reserved identifier: {token.text}")
    return Ident(token.pos, token.text)


def _dot_ident(builder: Builder, dot: Token, token: Token) -> Node:
    if token.text in _RESERVED:
        return builder.report(dot.pos, f"reserved identifier: {token.text}")
    return Ident(token.pos, "." + token.text)


def _ident_arg(builder: Builder, name: Token, opening: Token, *rest: Any) -> Node:
    if name.text in _RESERVED:
        return builder.report(name.pos, f"reserved identifier: {name.text}")
    return builder.call(opening.pos, name.text, None, rest[0] if len(rest) == 2 else [])


def _dot_ident_arg(builder: Builder, dot: Token, name: Token, opening: Token, *rest: Any) -> Node:
    if name.text in _RESERVED:
        return builder.report(dot.pos, f"reserved identifier: {name.text}")
    return builder.call(opening.pos, "." + name.text, None, rest[0] if len(rest) == 2 else [])


def _paren_expr(_: Builder, _opening: Token, inner: Node, _end: Token) -> Node:
    return inner


def _list_lit(_: Builder, opening: Token, *rest: Any) -> Node:
    elems = rest[0] if isinstance(rest[0], list) else []
    optional = frozenset(number for number, (_, mark) in enumerate(elems) if mark)
    return ListNode(opening.pos, [item for item, _ in elems], optional)


def _map_lit(_: Builder, opening: Token, *rest: Any) -> Node:
    return MapNode(opening.pos, rest[0] if isinstance(rest[0], list) else [])


def _mapinit(_: Builder, elem: tuple[Node, bool], colon: Token, value: Node) -> Entry:
    return Entry(colon.pos, elem[0], value, elem[1])


def _plain_field(_: Builder, name: Token, colon: Token, value: Node) -> Entry:
    return Entry(colon.pos, name.text, value, optional=False)


def _optional_field(_: Builder, _mark: Token, name: Token, colon: Token, value: Node) -> Entry:
    return Entry(colon.pos, name.text, value, optional=True)


def _quoted_name(builder: Builder, token: Token) -> Token:
    builder.report(token.pos, "unsupported syntax: '`'")
    return token


BUILDERS: dict[str, Callable[..., Any]] = {
    "conditional": _conditional,
    "logical_or": _logical("_||_"),
    "logical_and": _logical("_&&_"),
    "binary": _binary,
    "prefix": _prefix,
    "first": _first,
    "following": _following,
    "member_dot": _member_dot,
    "member_opt_dot": _member_opt_dot,
    "member_dot_arg": _member_dot_arg,
    "member_index": _member_index,
    "member_opt_index": _member_opt_index,
    "member_object": _member_object,
    "literal": _literal,
    "ident": _ident,
    "dot_ident": _dot_ident,
    "ident_arg": _ident_arg,
    "dot_ident_arg": _dot_ident_arg,
    "paren_expr": _paren_expr,
    "list_lit": _list_lit,
    "map_lit": _map_lit,
    "plain": lambda _, item: (item, False),
    "optional": lambda _, _mark, item: (item, True),
    "mapinit": _mapinit,
    "plain_field": _plain_field,
    "optional_field": _optional_field,
    "quoted_name": _quoted_name,
}
