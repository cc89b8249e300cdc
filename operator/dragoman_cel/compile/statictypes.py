"""Which values are sure to have the type that the checker found for them."""

from collections.abc import Sequence

from dragoman_cel import types
from dragoman_cel.syntax.nodes import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    MapNode,
    Node,
    Select,
)
from dragoman_cel.types import Kind, Type

_RETURNS_PART = frozenset(
    (
        "distinct", "first", "flatten", "last", "optional.of", "optional.ofNonZeroValue",
        "optional.unwrap", "or", "orValue", "reverse", "slice", "sort", "@sortByAssociatedKeys",
        "unwrapOpt", "value",
    )
)  # fmt: skip
"""Functions whose result is, or contains, a part of an argument."""


class StaticTypes:
    """The static types of one expression's nodes.

    A value may lack the type that the checker found: parts of a list or optional of unknown
    content take their type from the place where the expression uses them first, and null passes
    for an optional or another object.
    """

    def __init__(self) -> None:
        self._exact: dict[int, bool] = {}
        # Names of macro variables with such a type, wherever in the expression they occur.
        self._inexact_names: set[str] = set()

    def enter(self, node: Comprehension) -> None:
        """Record the variables of a macro whose values may lack the type that the checker found."""
        if node.macro == "bind":
            if not self.exact(node.init):
                self._inexact_names.add(node.accumulator)
        elif not self.exact(node.range):
            self._inexact_names |= {node.var, node.var2}

    def exact(self, node: Node) -> bool:
        """Return whether a value is sure to have the type that the checker found."""
        found = self._exact.get(id(node))
        if found is None:
            found = bool(node.type.exact)
            if isinstance(node, Ident):
                found = found and node.name not in self._inexact_names
            elif isinstance(node, Comprehension):
                self.enter(node)
            for part in _parts(node) if found else ():
                found = found and (part is None or self._passes(part))
            self._exact[id(node)] = found
        return found

    def _passes(self, part: Node) -> bool:
        return part.type.kind is not Kind.NULL and self.exact(part)

    def of(self, node: Node) -> Type:
        """Return the type of a node, dyn where a value may lack it."""
        return node.type if self.exact(node) or not node.type.exact else types.DYN


def _parts(node: Node) -> Sequence[Node | None]:
    """Return the nodes whose values the result of a node is made of, none for a new value."""
    if isinstance(node, Comprehension):
        return (node.result,) if node.macro == "bind" else (node.range, *node.body)
    if isinstance(node, Call):
        return _returned(node)
    if isinstance(node, Select):
        return () if node.test or node.variable else (node.operand,)
    if isinstance(node, MapNode):
        return [part for entry in node.entries for part in (entry.key, entry.value)]
    return node.items if isinstance(node, ListNode) else ()


def _returned(node: Call) -> Sequence[Node]:
    if node.function == "_?_:_":
        return node.args[1:]
    if node.function in ("_[_]", "_[?_]", "_?._"):
        return node.args[:1]
    joins_lists = node.function == "_+_" and node.type.kind is Kind.LIST
    if node.function in _RETURNS_PART or joins_lists:
        return node.args if node.target is None else (node.target, *node.args)
    return ()
