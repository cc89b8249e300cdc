"""What selectors that are true say about a device."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman_cel.syntax.nodes import Call, Literal, Node, Select
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.selectors.compilation import compiled
from dragoman_toolkit.linting.selectors.scopes import SelectorScope
from dragoman_toolkit.linting.selectors.syntax import Key, guards, is_device, subject


@dataclass(frozen=True, slots=True)
class Implications:
    """What a selector that is true says about a device."""

    driver: frozenset[str]  # Names that `device.driver` equals; empty where it says nothing.
    equal: dict[Key, Any]  # Literal by part, domain and name
    present: frozenset[Key]  # Attributes and capacities that a device must have, or be tested for


def conjuncts(tree: Node) -> Iterator[Node]:
    """Yield the parts of a conjunction."""
    if isinstance(tree, Call) and tree.function == "_&&_":
        for part in tree.args:
            yield from conjuncts(part)
    else:
        yield tree


def implications(trees: list[Node]) -> Implications:
    """Collect what several selectors, all true, say about a device."""
    drivers: set[str] = set()
    equal: dict[Key, Any] = {}
    present: set[Key] = set()
    for tree in trees:
        for part in conjuncts(tree):
            if (driver := _driver(part)) is not None:
                drivers.add(driver)
            for key in guards(part):
                present.add(key)
            if (comparison := _equality(part)) is not None:
                equal.setdefault(*comparison)
                present.add(comparison[0])
    return Implications(frozenset(drivers), equal, frozenset(present))


def _driver(node: Node) -> str | None:
    for left, right in _sides(node, "_==_"):
        if isinstance(left, Select) and left.name == "driver" and is_device(left.operand):
            return right
    return None


def equalities(tree: Node) -> Iterator[tuple[Key, Any]]:
    """Yield attributes that a true selector says to equal a literal."""
    for part in conjuncts(tree):
        if (comparison := _equality(part)) is not None:
            yield comparison


def _equality(node: Node) -> tuple[Key, Any] | None:
    if not isinstance(node, Call) or node.function != "_==_" or len(node.args) != 2:
        return None
    for left, right in (node.args, node.args[::-1]):
        key = subject(left)
        if key is not None and isinstance(right, Literal):
            return key, right.value
    return None


def _sides(node: Node, function: str) -> Iterator[tuple[Node, str]]:
    if isinstance(node, Call) and node.function == function and len(node.args) == 2:
        for left, right in (node.args, node.args[::-1]):
            if isinstance(right, Literal) and isinstance(right.value, str):
                yield left, right.value


def drivers_of(scope: SelectorScope, context: Context) -> frozenset[str]:
    """Return the drivers that the selectors of a scope require."""
    texts = (*scope.before, *(one for _, one in scope.own))
    trees = [tree for one in texts if (tree := compiled(one, context).tree) is not None]
    return implications(trees).driver
