"""Attributes and capacities of `device` in the syntax of a selector, and proofs that they exist."""

from collections.abc import Iterator

from dragoman_cel.syntax.nodes import Call, Ident, Literal, Node, Select

INDEX = ("_[_]", "_[?_]")
OPTIONAL = ("_?._", "_[?_]")
Key = tuple[str, str, str]
"""Part, domain and name of an attribute or capacity."""


def subject(node: Node) -> Key | None:
    """Return what a plain or optional read with a default reads."""
    if isinstance(node, Call) and node.function in ("orValue", "value") and node.target is not None:
        return read_key(node.target)
    return read_key(node)


def is_device(node: Node | None) -> bool:
    """Return whether a node is the variable `device`."""
    return isinstance(node, Ident) and node.name == "device"


def domain_of(node: Node | None) -> tuple[str, str] | None:
    """Return part and domain of `device.attributes["d"]`, `.d` or `[?"d"]`."""
    inner, name = _step(node)
    if name is None or not isinstance(inner, Select) or not is_device(inner.operand):
        return None
    return (inner.name, name) if inner.name in ("attributes", "capacity") else None


def _step(node: Node | None) -> tuple[Node | None, str | None]:
    """Split a selection or index with a literal into operand and name."""
    if isinstance(node, Select):
        return node.operand, node.name
    if isinstance(node, Call) and node.function in (*INDEX, *OPTIONAL) and len(node.args) == 2:
        key = node.args[1]
        if isinstance(key, Literal) and isinstance(key.value, str):
            return node.args[0], key.value
    return None, None


def read_key(node: Node | None) -> Key | None:
    """Return what a node reads of a device; None where it reads nothing."""
    inner, name = _step(node)
    place = domain_of(inner) if name is not None else None
    return (*place, str(name)) if place is not None else None


def is_optional(node: Node | None) -> bool:
    """Return whether a read yields an optional value."""
    while node is not None:
        if isinstance(node, Call) and node.function in OPTIONAL:
            return True
        node = (
            node.args[0]
            if isinstance(node, Call) and node.function in INDEX
            else (node.operand if isinstance(node, Select) else None)
        )
    return False


def guards(node: Node) -> Iterator[Key]:
    """Yield what a node that is true proves to be there."""
    if isinstance(node, Select) and node.test and (key := read_key(node)):
        yield key
    if isinstance(node, Call) and node.function == "@in" and isinstance(node.args[0], Literal):
        place, name = domain_of(node.args[1]), node.args[0].value
        if place is not None and isinstance(name, str):
            yield (*place, name)
    if isinstance(node, Call) and node.function == "hasValue" and (key := read_key(node.target)):
        yield key
    if isinstance(node, Call) and node.function == "_&&_":
        for part in node.args:
            yield from guards(part)


def negated_guards(node: Node) -> Iterator[Key]:
    """Yield what a node that is false proves to be there, such as `!has(x)`."""
    if isinstance(node, Call) and node.function == "!_":
        yield from guards(node.args[0])
    if isinstance(node, Call) and node.function == "_||_":
        for part in node.args:
            yield from negated_guards(part)
