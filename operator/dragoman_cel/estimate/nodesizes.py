"""What the estimator knows of each node: its path, its size, the sizes of its entries."""

from dataclasses import dataclass

from dragoman_base.versions import Release
from dragoman_cel import types
from dragoman_cel.estimate.operands import Operand, SizeOfPath
from dragoman_cel.estimate.sizes import NO_NAMES, UNKNOWN, Entries, PathNames, Size, joined
from dragoman_cel.syntax.macros import ACCUMULATOR
from dragoman_cel.syntax.nodes import Call, Ident, ListNode, Literal, MapNode, Node
from dragoman_cel.types import Kind, Type


@dataclass(frozen=True, slots=True)
class Local:
    """Path and sizes of a variable that a macro introduced."""

    path: PathNames
    size: Size | None
    entries: Entries | None


class NodeSizes:
    """Paths and sizes of the nodes that were estimated, and of the variables of open macros."""

    def __init__(self, size_of_path: SizeOfPath, release: Release) -> None:
        self.measured = release.contents_measured
        self.size_of_path = size_of_path
        self.paths: dict[int, PathNames] = {}
        self.sizes: dict[int, Size] = {}
        self.entries: dict[int, Entries] = {}
        self.locals: dict[str, list[Local]] = {}

    def local(self, name: str) -> Local | None:
        """Return the variable that a macro introduced under this name, if any."""
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def path(self, node: Node) -> PathNames:
        """Return the path that leads to a node; it is empty where none does."""
        if isinstance(node, Ident):
            local = self.local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(id(node), NO_NAMES)

    def size(self, node: Node) -> Size | None:
        """Return the size of a node: computed, written, declared, or of its type."""
        known = self.sizes.get(id(node))
        if known is None and self.measured and isinstance(node, ListNode):
            known = Size(len(node.items) - len(node.optional), len(present(node)))
        if known is None:
            known = _literal_size(node)
        if known is not None:
            return known
        path = self.path(node)
        most = self.size_of_path(path.read()) if path else None
        if most is not None:
            found = self.sizes[id(node)] = Size(0, most)
            return found
        if _is_scalar(node.type) or (self.measured and node.type.kind is Kind.TYPE):
            return Size(1, 1)
        local = self.local(node.name) if isinstance(node, Ident) else None
        return local.size if local is not None else None

    def size_or_unknown(self, node: Node) -> Size:
        """Return the size of a node, without a limit where nothing is known."""
        return self.size(node) or UNKNOWN

    def entry_sizes(self, node: Node) -> Entries | None:
        """Return the sizes of the keys and values of a container, if known."""
        known = self.entries.get(id(node))
        if known is None and isinstance(node, Ident):
            local = self.local(node.name)
            return local.entries if local is not None else None
        return known

    def operand(self, node: Node) -> Operand:
        """Return a node as an argument of a call."""
        path = self.path(node)
        if path and path.read()[0] == ACCUMULATOR:
            path = NO_NAMES
        return Operand(node, node.type, path, self.size(node))

    def push(
        self, name: str, path: PathNames, size: Size | None, entries: Entries | None = None
    ) -> None:
        """Add a variable of a macro, which hides others of its name until `pop`."""
        self.locals.setdefault(name, []).append(Local(path, size, entries))

    def pop(self, name: str) -> None:
        """Remove the variable that was added last under this name."""
        self.locals[name].pop()

    def set_size(self, node: Node, size: Size | None) -> None:
        """Set the computed size of a node, if there is one."""
        if size is not None:
            self.sizes[id(node)] = size

    def copy_sizes(self, target: Node, source: Node) -> None:
        """Give a node the sizes of another."""
        self.set_size(target, self.size(source))
        entries = self.entry_sizes(source)
        if entries is not None:
            self.entries[id(target)] = entries

    def copy_entries(self, target: Node, source: Node, *, flat: bool) -> None:
        """Give a node the entries of another; a flat one has those inside of them."""
        entries = self.entry_sizes(source)
        if flat and entries is not None:
            entries = entries.inside or entries
        if entries is not None:
            self.entries[id(target)] = entries

    def indexed(self, node: Call, overload: str) -> Size | None:
        """Set the path of an indexed element, and return its size if known."""
        step = "@items" if overload == "index_list" else "@values"
        self.paths[id(node)] = self.path(node.args[0]).then(step)
        entries = self.entry_sizes(node.args[0])
        if self.measured and entries is not None and entries.inside is not None:
            self.entries[id(node)] = entries.inside
        return entries.value if entries is not None else None

    def join_entries(self, node: Call, one: Node, other: Node) -> None:
        """Set the entries of a result that come from either of two nodes."""
        first, second = self.entry_sizes(one), self.entry_sizes(other)
        both = joined(first, second)
        if both is not None and (self.measured or (first is not None and second is not None)):
            self.entries[id(node)] = both

    def add_entry(self, node: Call, into: Node, key: Node, value: Node) -> None:
        """Set the entries of a map into which another one was inserted."""
        inside = self.entry_sizes(value)
        added = Entries(Kind.MAP, self.size_or_unknown(key), self.size_or_unknown(value), inside)
        found = joined(self.entry_sizes(into), added)
        assert found is not None
        self.entries[id(node)] = found


def present(node: ListNode) -> list[Node]:
    """Return what can be in a list: of `?optional.of(x)` the x, of `?optional.none()` nothing."""
    found = []
    for number, item in enumerate(node.items):
        if number not in node.optional or not isinstance(item, Call) or item.target is not None:
            found.append(item)
        elif item.function in ("optional.of", "optional.ofNonZeroValue") and item.args:
            found.append(item.args[0])
        elif item.function != "optional.none":
            found.append(item)
    return found


def _literal_size(node: Node) -> Size | None:
    if isinstance(node, Literal):
        length = len(node.value) if isinstance(node.value, (str, bytes)) else 1
        return Size(length, length)
    if isinstance(node, ListNode):
        return Size(len(node.items), len(node.items))
    if isinstance(node, MapNode):
        return Size(len(node.entries), len(node.entries))
    return None


def _is_scalar(kind: Type) -> bool:
    if types.is_optional(kind):
        return _is_scalar(kind.params[0])
    return kind.kind is Kind.SCALAR and kind not in (types.STRING, types.BYTES)
