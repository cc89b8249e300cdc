"""The estimator: it sums up the worst-case cost over a checked tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dragoman.cel import types
from dragoman.cel.estimate.sizes import (
    NO_NAMES,
    UNKNOWN,
    UNLIMITED,
    Entries,
    Names,
    Size,
    summed,
    times,
    union,
)
from dragoman.cel.estimate.worstcase import CallEstimate, CallEstimator, Operand, SizeOfPath
from dragoman.cel.macros import ACCUMULATOR
from dragoman.cel.syntax.nodes import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Message,
    Node,
    Select,
)
from dragoman.cel.types import Kind, Type

_LIST: Final = 10
_MAP: Final = 30
_MESSAGE: Final = 40
_JOINING: Final = ("add_string", "add_bytes", "add_list")


@dataclass(frozen=True, slots=True)
class _Local:
    """Path and sizes of a variable that a macro introduced."""

    path: Names
    size: Size | None
    entries: Entries | None


def estimate(tree: Node, size_of_path: SizeOfPath) -> int:
    """Return the maximum cost of a checked expression.

    Args:
        tree: as the checker left it.
        size_of_path: declared sizes of the environment's variables.
    """
    return _Estimator(size_of_path).cost(tree)


class _Estimator:
    def __init__(self, size_of_path: SizeOfPath) -> None:
        self.size_of_path = size_of_path
        self.calls = CallEstimator(size_of_path)
        self.paths: dict[int, Names] = {}
        self.sizes: dict[int, Size] = {}
        self.entries: dict[int, Entries] = {}
        self.locals: dict[str, list[_Local]] = {}
        self.costs: dict[int, int] = {}

    def cost(self, node: Node) -> int:
        found = self.costs.get(id(node))
        if found is None:
            found = self.costs[id(node)] = _COSTS[type(node)](self, node)
        return found

    # Path and sizes of a node ------------------------------------------------------------------

    def local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def path(self, node: Node) -> Names:
        if isinstance(node, Ident):
            local = self.local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(id(node), NO_NAMES)

    def size(self, node: Node) -> Size | None:
        known = self.sizes.get(id(node))
        if known is None:
            known = _literal_size(node)
        if known is not None:
            return known
        path = self.path(node)
        most = self.size_of_path(path.read()) if path else None
        if most is not None:
            found = self.sizes[id(node)] = Size(0, most)
            return found
        if _is_scalar(node.type):
            return Size(1, 1)
        local = self.local(node.name) if isinstance(node, Ident) else None
        return local.size if local is not None else None

    def size_or_unknown(self, node: Node) -> Size:
        return self.size(node) or UNKNOWN

    def entry_sizes(self, node: Node) -> Entries | None:
        known = self.entries.get(id(node))
        if known is None and isinstance(node, Ident):
            local = self.local(node.name)
            return local.entries if local is not None else None
        return known

    def operand(self, node: Node) -> Operand:
        path = self.path(node)
        if path and path.read()[0] == ACCUMULATOR:
            path = NO_NAMES
        return Operand(node, node.type, path, self.size(node))

    # Nodes ------------------------------------------------------------------------------------

    def literal(self, _: Literal) -> int:
        return 0

    def ident(self, node: Ident) -> int:
        local = self.local(node.name)
        self.paths[id(node)] = local.path if local is not None else Names([node.name], 1)
        return 1

    def select(self, node: Select) -> int:
        if node.variable:
            self.paths[id(node)] = Names([node.variable], 1)
            return 1
        cost = self.cost(node.operand)
        if node.test:
            return cost
        self.paths[id(node)] = self.path(node.operand).then(node.name)
        kind = node.operand.type.kind
        return summed(cost, 1) if kind in (Kind.MAP, Kind.STRUCT, Kind.PARAM) else cost

    def list_node(self, node: ListNode) -> int:
        cost = _LIST
        value = Size(UNLIMITED if node.items else 0, 0)
        for item in node.items:
            cost = summed(cost, self.cost(item))
            value = union(value, self.size_or_unknown(item))
        self.entries[id(node)] = Entries(Kind.LIST, Size(1, 1), value)
        return cost

    def map_node(self, node: MapNode) -> int:
        cost = _MAP
        key = value = Size(UNLIMITED if node.entries else 0, 0)
        for entry in node.entries:
            cost = summed(cost, self.cost(entry.key), self.cost(entry.value))
            key = union(key, self.size_or_unknown(entry.key))
            value = union(value, self.size_or_unknown(entry.value))
        self.entries[id(node)] = Entries(Kind.MAP, key, value)
        return cost

    def message(self, node: Message) -> int:
        return summed(_MESSAGE, *(self.cost(entry.value) for entry in node.entries))

    # Comprehensions -----------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> int:
        cost = summed(self.cost(node.range), self.cost(node.init))
        init = _Local(self.path(node.init), self.size(node.init), self.entry_sizes(node.init))
        self.locals.setdefault(node.accumulator, []).append(init)
        if node.macro == "bind":
            cost = summed(cost, self.cost(node.result))
            self.locals[node.accumulator].pop()
            self.copy_sizes(node, node.result)
            return cost
        self.enter_loop(node)
        # The step nests the body deeply; to estimate the body first saves stack.
        for part in node.body:
            if part is not None:
                self.cost(part)
        each = summed(self.cost(node.condition), self.cost(node.step))
        self.locals[node.var].pop()
        if node.var2:
            self.locals[node.var2].pop()
        cost = summed(cost, self.cost(node.result))
        self.locals[node.accumulator].pop()
        count = self.size_or_unknown(node.range)
        if isinstance(node.init, Literal):
            self.set_size(node, self.size(node.init))
        elif isinstance(node.init, (ListNode, MapNode)):
            self.set_size(node, count)
            entries = self.entry_sizes(node.step)
            if entries is not None:
                self.entries[id(node)] = entries
        return summed(cost, times(count.most, each))

    def enter_loop(self, node: Comprehension) -> None:
        entries = self.entry_sizes(node.range)
        path = self.path(node.range)
        kind = entries.kind if entries is not None else node.range.type.kind
        listed = kind is Kind.LIST
        key = entries.key if entries is not None else None
        value = entries.value if entries is not None else None
        keys = path.then(("@indices" if node.var2 else "@items") if listed else "@keys")
        if node.var2:
            self.push(node.var, keys, key)
            self.push(node.var2, path.then("@items" if listed else "@values"), value)
        else:
            self.push(node.var, keys, value if listed else key)

    def push(self, name: str, path: Names, size: Size | None) -> None:
        self.locals.setdefault(name, []).append(_Local(path, size, None))

    def set_size(self, node: Node, size: Size | None) -> None:
        if size is not None:
            self.sizes[id(node)] = size

    def copy_sizes(self, target: Node, source: Node) -> None:
        self.set_size(target, self.size(source))
        entries = self.entry_sizes(source)
        if entries is not None:
            self.entries[id(target)] = entries

    # Calls ----------------------------------------------------------------------------------------

    def call(self, node: Call) -> int:
        if node.function == "dyn":
            cost = summed(1, self.cost(node.args[0]))
            self.copy_sizes(node, node.args[0])
            return cost
        costs = []
        for arg in node.args:
            costs.append(self.cost(arg))  # noqa: PERF401 — a comprehension is one more frame
        args = [self.operand(arg) for arg in node.args]
        if not node.overloads:
            return 0
        target = None
        total = 0
        if node.target is not None:
            total = self.cost(node.target)
            target = self.operand(node.target)
        worst, size = 0, None
        for overload in node.overloads:
            cost, result = self.overload_cost(node, overload, target, args, costs)
            worst = max(worst, cost)
            if result is not None:
                size = result if size is None else union(size, result)
            if overload in ("index_list", "index_map"):
                size = self.indexed(node, overload)
            if size is None:
                size = self.size(node)
        self.set_size(node, size)
        return summed(total, worst)

    def indexed(self, node: Call, overload: str) -> Size | None:
        step = "@items" if overload == "index_list" else "@values"
        self.paths[id(node)] = self.path(node.args[0]).then(step)
        entries = self.entry_sizes(node.args[0])
        return entries.value if entries is not None else None

    def overload_cost(
        self,
        node: Call,
        overload: str,
        target: Operand | None,
        args: list[Operand],
        costs: list[int],
    ) -> CallEstimate:
        """Return the cost of the call with its arguments, and the size of its result if known."""
        if node.function in ("_&&_", "_||_"):
            return summed(*costs), None
        if overload == "conditional":
            return self.conditional(node, args, costs)
        if overload in _JOINING:
            self.join_entries(node, node.args[0], node.args[1])
        cost, size = self.calls.call(node.function, overload, target, args)
        return summed(cost, *costs), size

    def join_entries(self, node: Call, one: Node, other: Node) -> None:
        """Set the entries of a result that come from either of two nodes."""
        first, second = self.entry_sizes(one), self.entry_sizes(other)
        if first is not None and second is not None:
            self.entries[id(node)] = _joined(first, second)

    def conditional(self, node: Call, args: list[Operand], costs: list[int]) -> CallEstimate:
        self.join_entries(node, node.args[1], node.args[2])
        size = union(args[1].size or UNKNOWN, args[2].size or UNKNOWN)
        return summed(costs[0], max(costs[1], costs[2])), size


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


def _joined(one: Entries, other: Entries) -> Entries:
    return Entries(one.kind, union(one.key, other.key), union(one.value, other.value))


_COSTS: Final[dict[type[Node], Any]] = {
    Literal: _Estimator.literal,
    Ident: _Estimator.ident,
    Select: _Estimator.select,
    Call: _Estimator.call,
    ListNode: _Estimator.list_node,
    MapNode: _Estimator.map_node,
    Message: _Estimator.message,
    Comprehension: _Estimator.comprehension,
}
