"""The syntax tree, as cel-go's: calls for operators, comprehensions for macros.

The parser makes nodes, the checker annotates them once (`type`, `overloads`, `constant`), and
later stages only read them. `pos` is the offset in code points where cel-go reports errors of the
node: the operator, the dot of a selection, the opening bracket of a call, list or map.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Node:
    """A node of the tree."""

    pos: int  # Offset in code points of its error position
    type: Any = field(default=None, init=False)  # The type found by the checker


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A literal constant."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name; `constant` is set for type names, which are values of their own."""

    name: str
    constant: Any = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.name`, or with `test` the presence test `has(operand.name)`."""

    operand: Node
    name: str
    test: bool = False
    constant: Any = field(default=None, init=False)
    variable: str = field(default="", init=False)


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function or operator call; `target` is the receiver of a member call.

    `&&` and `||` take any number of arguments. The checker settles `function` (qualified name),
    drops the target of namespaced functions and lists the overloads it left open.
    """

    function: str
    target: Node | None
    args: list[Node]
    overloads: tuple[str, ...] = field(default=(), init=False)


@dataclass(slots=True, eq=False)
class ListNode(Node):
    """A list literal; `optional` holds the indexes of elements written `?e`."""

    items: list[Node]
    optional: frozenset[int]


@dataclass(slots=True, eq=False)
class Entry:
    """One `key: value` of a map or `field: value` of a message; `optional` when written `?key`."""

    pos: int
    key: Any
    value: Node
    optional: bool


@dataclass(slots=True, eq=False)
class MapNode(Node):
    """A map literal."""

    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Message(Node):
    """A message literal `name{field: value}`."""

    name: str
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """The expansion of a macro that loops.

    `macro` is its name and `body` holds its own expressions (predicate, transformation), so that
    the compiler can make a plain loop instead of the expansion.
    """

    macro: str
    range: Node
    var: str
    var2: str
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node
    body: tuple[Node | None, ...]


def qualified_name(node: Node) -> str | None:
    """Return `a.b.c` for a chain of names, None for any other expression."""
    names = []
    while isinstance(node, Select) and not node.test:
        names.append(node.name)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    names.append(node.name)
    return ".".join(reversed(names))


def walk(tree: Node) -> Iterator[Node]:
    """Iterate over the nodes of a tree, each once although an expansion can share it."""
    pending, seen = [tree], set()
    while pending:
        node = pending.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            pending += children(node)


def children(node: Node) -> list[Node]:
    """Return the direct parts of a node, those of a macro's expansion included."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return [*node.args, *((node.target,) if node.target is not None else ())]
        case ListNode():
            return node.items
        case MapNode():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case Message():
            return [entry.value for entry in node.entries]
        case Comprehension():
            return [node.range, node.init, node.condition, node.step, node.result]
    return []
