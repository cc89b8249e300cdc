"""Functions that make a node of each named alternative of the grammar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.syntax import literals
from dragoman_cel.syntax.macros import Expander, Key, MacroError
from dragoman_cel.syntax.nodes import (
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
from dragoman_cel.syntax.tokens import RESERVED, Token


class SyntaxIssue(Exception):  # noqa: N818 — `parse` turns it into a CompileError
    """A token that the grammar does not allow at its place."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos


class Builder:
    """The macros and the issues of one parse."""

    __slots__ = ("issues", "macros", "release")

    def __init__(self, macros: Mapping[Key, Expander], release: Release) -> None:
        self.macros = macros
        self.release = release
        self.issues: list[tuple[int, str]] = []

    def report(self, pos: int, message: str) -> Node:
        """Record an issue; the node that is returned is only a placeholder."""
        self.issues.append((pos, message))
        return Literal(pos, "<<error>>")

    def call(self, pos: int, name: str, target: Node | None, args: list[Node]) -> Node:
        """Make a call, or the expansion of a macro."""
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
    """Make the issue of a token that the grammar does not allow at its place."""
    text = "<EOF>" if token.kind == "$END" else token.text
    return SyntaxIssue(token.pos, f"Syntax error: mismatched input '{text}'")


def _conditional(
    builder: Builder, test: Node, mark: Token, then: Node, _colon: Token, other: Node
) -> Node:
    return builder.call(mark.pos, "_?_:_", None, [test, then, other])


def _logical(function: str) -> Callable[..., Node]:
    def build(_: Builder, left: Node, mark: Token, right: Node) -> Node:
        # Chains stay flat: thousands of terms are legal, and only their order matters.
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


def _select(_: Builder, operand: Node, dot: Token, field: Token) -> Node:
    return Select(dot.pos, operand, field.text)


def _optional_select(_: Builder, operand: Node, dot: Token, _mark: Token, field: Token) -> Node:
    return Call(dot.pos, "_?._", None, [operand, Literal(field.pos, field.text)])


def _arguments(_: Builder, opening: Token, *rest: Any) -> tuple[int, list[Node]]:
    # cel-go reports errors of a call at its opening parenthesis.
    return opening.pos, rest[0] if len(rest) == 2 else []


def _member_call(
    builder: Builder, target: Node, _dot: Token, name: Token, arguments: tuple[int, list[Node]]
) -> Node:
    pos, args = arguments
    return builder.call(pos, name.text, target, args)


def _index(_: Builder, operand: Node, opening: Token, *parts: Any) -> Node:
    *mark, index, _end = parts
    return Call(opening.pos, "_[?_]" if mark else "_[_]", None, [operand, index])


def _message(_: Builder, target: Node, opening: Token, *rest: Any) -> Node:
    name = qualified_name(target)
    if name is None:
        raise misplaced(opening)
    return Message(opening.pos, name, _items(rest))


def _items(rest: tuple[Any, ...]) -> list[Any]:
    """Return the items behind an opening bracket, none where a comma or the closing bracket is."""
    return rest[0] if isinstance(rest[0], list) else []


_READERS: dict[str, Callable[[str], Any]] = {
    "INT": literals.integer,
    "UINT": literals.unsigned,
    "FLOAT": literals.double,
    "STRING": literals.string,
    "BYTES": literals.byte_string,
    "TRUE": lambda _: True,
    "FALSE": lambda _: False,
    "NULL": lambda _: None,
}


def _literal(builder: Builder, token: Token) -> Node:
    try:
        return Literal(token.pos, _READERS[token.kind](token.text))
    except literals.LiteralError as error:
        return builder.report(token.pos, str(error))


def _name(builder: Builder, *tokens: Token) -> Node:
    # A dot before the name, if any, belongs to it.
    name = tokens[-1]
    if name.text in RESERVED:
        return _reserved(builder, tokens)
    return Ident(name.pos, name.text if len(tokens) == 1 else "." + name.text)


def _call(builder: Builder, *parts: Any) -> Node:
    *tokens, (pos, args) = parts
    name = tokens[-1].text
    if name in RESERVED:
        return _reserved(builder, tokens)
    return builder.call(pos, name if len(tokens) == 1 else "." + name, None, args)


def _reserved(builder: Builder, tokens: Sequence[Token]) -> Node:
    return builder.report(tokens[0].pos, f"reserved identifier: {tokens[-1].text}")


def _group(_: Builder, _opening: Token, inner: Node, _end: Token) -> Node:
    return inner


def _list(_: Builder, opening: Token, *rest: Any) -> Node:
    elements = _items(rest)
    optional = frozenset(number for number, (_, mark) in enumerate(elements) if mark)
    return ListNode(opening.pos, [item for item, _ in elements], optional)


def _map(_: Builder, opening: Token, *rest: Any) -> Node:
    return MapNode(opening.pos, _items(rest))


def _entry(_: Builder, element: tuple[Node, bool], colon: Token, value: Node) -> Entry:
    return Entry(colon.pos, element[0], value, element[1])


def _assignment(_: Builder, *parts: Any) -> Entry:
    *mark, field, colon, value = parts
    return Entry(colon.pos, field.text, value, optional=bool(mark))


def _quoted_field(builder: Builder, token: Token) -> Token:
    if not builder.release.fields_quoted:
        builder.report(token.pos, "unsupported syntax: '`'")
    return token._replace(text=token.text.strip("`"))


BUILDERS: dict[str, Callable[..., Any]] = {
    "conditional": _conditional,
    "logical_or": _logical("_||_"),
    "logical_and": _logical("_&&_"),
    "binary": _binary,
    "prefix": _prefix,
    "first": _first,
    "following": _following,
    "select": _select,
    "optional_select": _optional_select,
    "member_call": _member_call,
    "index": _index,
    "optional_index": _index,
    "message": _message,
    "literal": _literal,
    "name": _name,
    "root_name": _name,
    "call": _call,
    "root_call": _call,
    "group": _group,
    "list": _list,
    "map": _map,
    "quoted_field": _quoted_field,
    "arguments": _arguments,
    "plain": lambda _, item: (item, False),
    "optional": lambda _, _mark, item: (item, True),
    "entry": _entry,
    "plain_assignment": _assignment,
    "optional_assignment": _assignment,
}
"""The function for each name in the grammar: of the Builder and the values of its symbols."""
