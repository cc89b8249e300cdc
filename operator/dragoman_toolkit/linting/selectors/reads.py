"""Reads of attributes and capacities in selectors; unguarded ones fail without the attribute."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman_cel.syntax.nodes import Call, Comprehension, Ident, Literal, Node, Select, children
from dragoman_toolkit.linting.selectors.syntax import (
    INDEX,
    OPTIONAL,
    Key,
    domain_of,
    guards,
    is_optional,
    negated_guards,
    read_key,
    subject,
)


@dataclass(frozen=True, slots=True)
class Read:
    """One read of an attribute or capacity."""

    part: str  # `attributes` or `capacity`
    domain: str  # Such as `gpu.nvidia.com`.
    name: str  # Such as `productName`
    text: str  # As it is written, for suggestions
    guarded: bool  # Whether a device without it makes no error
    tested: bool  # Whether it is the subject of `has()` or `in`
    other: Any  # The literal it is compared with; None without one
    operator: str  # Of that comparison, or the name of the member function called on it
    pos: int  # Offset in the expression


_Known = frozenset[Key]


def reads(tree: Node, known: _Known = frozenset()) -> Iterator[Read]:
    """Yield every read of an attribute or capacity.

    Args:
        tree: The selector.
        known: What is proven to be there before the selector is evaluated.
    """
    yield from _reads(tree, known, {})


def _reads(node: Node, known: _Known, aliases: dict[str, Node]) -> Iterator[Read]:
    node = _unaliased(node, aliases)
    key = read_key(node)
    if key is not None:
        yield _read(node, key, known)
        return
    if isinstance(node, Comprehension):
        yield from _comprehension(node, known, aliases)
    elif isinstance(node, Call):
        yield from _call(node, known, aliases)
    else:
        for child in children(node):
            yield from _reads(child, known, aliases)


def _unaliased(node: Node, aliases: dict[str, Node]) -> Node:
    """Put what `cel.bind` named back into its place."""
    if not aliases:
        return node
    if isinstance(node, Ident):
        return aliases.get(node.name, node)
    if isinstance(node, Select):
        inner = _unaliased(node.operand, aliases)
        return node if inner is node.operand else Select(node.pos, inner, node.name, node.test)
    if isinstance(node, Call) and node.function in (*INDEX, *OPTIONAL):
        first = _unaliased(node.args[0], aliases)
        if first is not node.args[0]:
            return Call(node.pos, node.function, None, [first, *node.args[1:]])
    return node


def _comprehension(node: Comprehension, known: _Known, aliases: dict[str, Node]) -> Iterator[Read]:
    if node.macro == "bind":
        bound = _unaliased(node.init, aliases)
        if domain_of(bound) is None and not read_key(bound):
            yield from _reads(bound, known, aliases)
        yield from _reads(node.result, known, {**aliases, node.accumulator: bound})
        return
    yield from _reads(node.range, known, aliases)
    for part in node.body:
        if part is not None:
            yield from _reads(part, known, aliases)


def _call(node: Call, known: _Known, aliases: dict[str, Node]) -> Iterator[Read]:
    if node.function in ("_&&_", "_||_"):
        proofs = guards if node.function == "_&&_" else negated_guards
        proven = [frozenset(proofs(_unaliased(part, aliases))) for part in node.args]
        for index, part in enumerate(node.args):
            # Either order: an error beside a false conjunct is false.
            others = frozenset().union(*proven[:index], *proven[index + 1 :])
            yield from _reads(part, known | others, aliases)
        return
    if node.function == "_?_:_":
        condition, yes, no = node.args
        yield from _reads(condition, known, aliases)
        yield from _reads(yes, known | frozenset(guards(condition)), aliases)
        yield from _reads(no, known | frozenset(negated_guards(condition)), aliases)
        return
    parts = [*node.args, *((node.target,) if node.target is not None else ())]
    if node.function == "@in" and domain_of(_unaliased(node.args[1], aliases)) is not None:
        for key in guards(Call(node.pos, "@in", None, [_unaliased(a, aliases) for a in node.args])):
            yield Read(
                *key,
                _written(key),
                guarded=True,
                tested=True,
                other=None,
                operator="in",
                pos=node.pos,
            )
        return
    for part in parts:
        other, operator = _compared(node, part)
        for read in _reads(part, known, aliases):
            direct = subject(_unaliased(part, aliases)) == (read.part, read.domain, read.name)
            yield _with(read, other, operator) if direct and not read.operator else read


def _compared(node: Call, part: Node) -> tuple[Any, str]:
    if node.target is part:
        return _argument(node.args[0] if node.args else None), node.function
    others = [one for one in node.args if one is not part]
    if len(node.args) == 2 and others:
        return _argument(others[0]), node.function
    return None, node.function if node.target is None else ""


def _argument(node: Node | None) -> Any:
    """Return a literal, or `quantity` and `semver` for calls of these."""
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Call) and node.function in ("quantity", "semver"):
        return node
    return None


def _with(read: Read, other: Any, operator: str) -> Read:
    if operator in ("orValue", "value", "hasValue"):
        return read
    return Read(
        read.part, read.domain, read.name, read.text, read.guarded, read.tested, other, operator,
        read.pos,
    )  # fmt: skip


def _read(node: Node, key: Key, known: _Known) -> Read:
    tested = isinstance(node, Select) and node.test
    guarded = tested or key in known or is_optional(node)
    return Read(*key, _written(key), guarded, tested, None, "", node.pos)


def _written(key: Key) -> str:
    part, domain, name = key
    return f'device.{part}["{domain}"].{name}'
