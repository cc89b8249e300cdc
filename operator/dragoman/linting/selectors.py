"""Selectors: compiled as the API server does, and what their text says about devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dragoman.cel.errors import CompileError
from dragoman.cel.macros import macros_of
from dragoman.cel.selectors import Selector
from dragoman.cel.selectors import compile as compile_selector
from dragoman.cel.syntax.nodes import Call, Comprehension, Ident, Literal, Node, Select, children
from dragoman.cel.syntax.parser import parse
from dragoman.linting.context import Context

MAX_EXPRESSION: Final = 10 * 1024
MAX_COST: Final = 1_000_000
_INDEX: Final = ("_[_]", "_[?_]")
_OPTIONAL: Final = ("_?._", "_[?_]")
_CONSUMABLE_SINCE: Final = (1, 36)


@dataclass(frozen=True, slots=True)
class Read:
    """One read of an attribute or capacity.

    Attributes:
        part: `attributes` or `capacity`.
        domain: such as `gpu.nvidia.com`.
        name: such as `productName`.
        text: as it is written, for suggestions.
        guarded: whether a device without it makes no error.
        tested: whether it is the subject of `has()` or `in`.
        other: the literal it is compared with; None without one.
        operator: of that comparison, or the name of the member function called on it.
        pos: offset in the expression.
    """

    part: str
    domain: str
    name: str
    text: str
    guarded: bool
    tested: bool
    other: Any
    operator: str
    pos: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """A selector, or why there is none.

    Attributes:
        selector: what evaluates it; None where it does not compile.
        tree: its syntax; None as above.
        error: the API server's words; empty for a good one.
        offset: line and column of the error, from 0.
    """

    selector: Selector | None
    tree: Node | None
    error: str = ""
    offset: tuple[int, int] = (0, 0)


def compiled(expression: str, context: Context) -> Compiled:
    """Compile an expression once."""
    memory = context.memory.setdefault("selectors", {})
    if expression not in memory:
        memory[expression] = _compiled(expression, context.api.version)
    found: Compiled = memory[expression]
    return found


def _compiled(expression: str, version: tuple[int, int]) -> Compiled:
    size = len(expression.encode("utf-8", "replace"))
    if size > MAX_EXPRESSION:
        return Compiled(None, None, f"Too long: may not be more than {MAX_EXPRESSION} bytes")
    try:
        selector = compile_selector(
            expression,
            kubernetes=f"{version[0]}.{version[1]}",
            consumable_capacity=version >= _CONSUMABLE_SINCE,
            stored=False,
        )
    except CompileError as error:
        issue = next((one for one in error.issues if one.line), None)
        offset = (issue.line - 1, issue.column - 1) if issue else (0, 0)
        words = issue.message if issue else error.message
        return Compiled(None, None, f"Invalid value: compilation failed: {words}", offset)
    if selector.max_cost > MAX_COST:
        return Compiled(None, None, "Forbidden: too complex, exceeds cost limit")
    return Compiled(selector, parse(expression, macros_of(version, bind=True)))


@dataclass(frozen=True, slots=True)
class Facts:
    """What a selector that is true says about a device.

    Attributes:
        driver: names that `device.driver` equals; empty where it says nothing.
        equal: literal by part, domain and name.
        present: attributes and capacities that a device must have, or be tested for.
    """

    driver: frozenset[str]
    equal: dict[tuple[str, str, str], Any]
    present: frozenset[tuple[str, str, str]]


def conjuncts(tree: Node) -> Iterator[Node]:
    """Yield the parts of a conjunction."""
    if isinstance(tree, Call) and tree.function == "_&&_":
        for part in tree.args:
            yield from conjuncts(part)
    else:
        yield tree


def facts(trees: list[Node]) -> Facts:
    """Collect what several selectors, all true, say about a device."""
    drivers: set[str] = set()
    equal: dict[tuple[str, str, str], Any] = {}
    present: set[tuple[str, str, str]] = set()
    for tree in trees:
        for part in conjuncts(tree):
            if (driver := _driver(part)) is not None:
                drivers.add(driver)
            for key in _guards(part):
                present.add(key)
            if (comparison := _equality(part)) is not None:
                equal.setdefault(*comparison)
                present.add(comparison[0])
    return Facts(frozenset(drivers), equal, frozenset(present))


def _driver(node: Node) -> str | None:
    for left, right in _sides(node, "_==_"):
        if isinstance(left, Select) and left.name == "driver" and _is_device(left.operand):
            return right
    return None


def equalities(tree: Node) -> Iterator[tuple[tuple[str, str, str], Any]]:
    """Yield attributes that a true selector says to equal a literal."""
    for part in conjuncts(tree):
        if (comparison := _equality(part)) is not None:
            yield comparison


def _equality(node: Node) -> tuple[tuple[str, str, str], Any] | None:
    if not isinstance(node, Call) or node.function != "_==_" or len(node.args) != 2:
        return None
    for left, right in (node.args, node.args[::-1]):
        key = _subject(left)
        if key is not None and isinstance(right, Literal):
            return key, right.value
    return None


def _subject(node: Node) -> tuple[str, str, str] | None:
    """Return what a plain or optional read with a default reads."""
    if isinstance(node, Call) and node.function in ("orValue", "value") and node.target is not None:
        return _read_key(node.target)
    return _read_key(node)


def _sides(node: Node, function: str) -> Iterator[tuple[Node, str]]:
    if isinstance(node, Call) and node.function == function and len(node.args) == 2:
        for left, right in (node.args, node.args[::-1]):
            if isinstance(right, Literal) and isinstance(right.value, str):
                yield left, right.value


def _is_device(node: Node | None) -> bool:
    return isinstance(node, Ident) and node.name == "device"


def _domain_of(node: Node | None) -> tuple[str, str] | None:
    """Return part and domain of `device.attributes["d"]`, `.d` or `[?"d"]`."""
    inner, name = _step(node)
    if name is None or not isinstance(inner, Select) or not _is_device(inner.operand):
        return None
    return (inner.name, name) if inner.name in ("attributes", "capacity") else None


def _step(node: Node | None) -> tuple[Node | None, str | None]:
    """Split a selection or index with a literal into operand and name."""
    if isinstance(node, Select):
        return node.operand, node.name
    if isinstance(node, Call) and node.function in (*_INDEX, *_OPTIONAL) and len(node.args) == 2:
        key = node.args[1]
        if isinstance(key, Literal) and isinstance(key.value, str):
            return node.args[0], key.value
    return None, None


def _read_key(node: Node | None) -> tuple[str, str, str] | None:
    inner, name = _step(node)
    place = _domain_of(inner) if name is not None else None
    return (*place, str(name)) if place is not None else None


def _is_optional(node: Node | None) -> bool:
    while node is not None:
        if isinstance(node, Call) and node.function in _OPTIONAL:
            return True
        node = (
            node.args[0]
            if isinstance(node, Call) and node.function in _INDEX
            else (node.operand if isinstance(node, Select) else None)
        )
    return False


def _guards(node: Node) -> Iterator[tuple[str, str, str]]:
    """Yield what a node that is true proves to be there."""
    if isinstance(node, Select) and node.test and (key := _read_key(node)):
        yield key
    if isinstance(node, Call) and node.function == "@in" and isinstance(node.args[0], Literal):
        place, name = _domain_of(node.args[1]), node.args[0].value
        if place is not None and isinstance(name, str):
            yield (*place, name)
    if isinstance(node, Call) and node.function == "hasValue" and (key := _read_key(node.target)):
        yield key
    if isinstance(node, Call) and node.function == "_&&_":
        for part in node.args:
            yield from _guards(part)


def _negated_guards(node: Node) -> Iterator[tuple[str, str, str]]:
    """Yield what a node that is false proves to be there, such as `!has(x)`."""
    if isinstance(node, Call) and node.function == "!_":
        yield from _guards(node.args[0])
    if isinstance(node, Call) and node.function == "_||_":
        for part in node.args:
            yield from _negated_guards(part)


_Known = frozenset[tuple[str, str, str]]


def reads(tree: Node, known: _Known = frozenset()) -> Iterator[Read]:
    """Yield every read of an attribute or capacity.

    Args:
        tree: the selector.
        known: what is proven to be there before the selector is evaluated.
    """
    yield from _reads(tree, known, {})


def _reads(node: Node, known: _Known, aliases: dict[str, Node]) -> Iterator[Read]:
    node = _unaliased(node, aliases)
    key = _read_key(node)
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
    if isinstance(node, Call) and node.function in (*_INDEX, *_OPTIONAL):
        first = _unaliased(node.args[0], aliases)
        if first is not node.args[0]:
            return Call(node.pos, node.function, None, [first, *node.args[1:]])
    return node


def _comprehension(node: Comprehension, known: _Known, aliases: dict[str, Node]) -> Iterator[Read]:
    if node.macro == "bind":
        bound = _unaliased(node.init, aliases)
        if _domain_of(bound) is None and not _read_key(bound):
            yield from _reads(bound, known, aliases)
        yield from _reads(node.result, known, {**aliases, node.accumulator: bound})
        return
    yield from _reads(node.range, known, aliases)
    for part in node.body:
        if part is not None:
            yield from _reads(part, known, aliases)


def _call(node: Call, known: _Known, aliases: dict[str, Node]) -> Iterator[Read]:
    if node.function in ("_&&_", "_||_"):
        proofs = _guards if node.function == "_&&_" else _negated_guards
        proven = [frozenset(proofs(_unaliased(part, aliases))) for part in node.args]
        for index, part in enumerate(node.args):
            # Either order: an error beside a false conjunct is false.
            others = frozenset().union(*proven[:index], *proven[index + 1 :])
            yield from _reads(part, known | others, aliases)
        return
    if node.function == "_?_:_":
        condition, yes, no = node.args
        yield from _reads(condition, known, aliases)
        yield from _reads(yes, known | frozenset(_guards(condition)), aliases)
        yield from _reads(no, known | frozenset(_negated_guards(condition)), aliases)
        return
    parts = [*node.args, *((node.target,) if node.target is not None else ())]
    if node.function == "@in" and _domain_of(_unaliased(node.args[1], aliases)) is not None:
        for key in _guards(
            Call(node.pos, "@in", None, [_unaliased(a, aliases) for a in node.args])
        ):
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
            direct = _subject(_unaliased(part, aliases)) == (read.part, read.domain, read.name)
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


def _read(node: Node, key: tuple[str, str, str], known: _Known) -> Read:
    tested = isinstance(node, Select) and node.test
    guarded = tested or key in known or _is_optional(node)
    return Read(*key, _written(key), guarded, tested, None, "", node.pos)


def _written(key: tuple[str, str, str]) -> str:
    part, domain, name = key
    return f'device.{part}["{domain}"].{name}'
