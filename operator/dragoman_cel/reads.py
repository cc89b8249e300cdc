"""Which parts of a variable an expression reads, for callers that remember results by them."""

from collections.abc import Collection

from dragoman_cel.syntax.nodes import Call, Ident, Literal, Node, Select, children

Path = tuple[str, ...]

_INDEXING = frozenset({"_[_]", "_[?_]", "_?._"})


def paths(tree: Node, variable: str) -> Collection[Path]:
    """Return the paths below a variable that an expression reads, each as long as it is constant.

    An empty path stands for the variable as a whole. A name that a macro introduces counts as the
    variable if it is called the same: more is reported then than is read, never less.
    """
    found: dict[Path, None] = {}
    pending, seen = [tree], set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        path = _path(node, variable)
        if path is None:
            pending += children(node)
        else:
            found[path] = None
    return tuple(found)


def _path(node: Node, variable: str) -> Path | None:
    """Return the path of a chain of selections from the variable, None for any other node."""
    names: list[str] = []
    while True:
        match node:
            case Select(operand=operand, name=name):
                names.append(name)
                node = operand
            case Call(function=function, target=None, args=[operand, Literal(value=str(name))]) if (
                function in _INDEXING
            ):
                names.append(name)
                node = operand
            case Ident(name=name) if name == variable:
                return tuple(reversed(names))
            case _:
                return None
