"""The estimator: it sums up the worst-case cost over a checked tree."""

from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.cost import LIST_LITERAL, MAP_LITERAL
from dragoman_cel.estimate.nodesizes import NodeSizes, present
from dragoman_cel.estimate.operands import CallByOverload, CallEstimate, Operand, SizeOfPath
from dragoman_cel.estimate.sizes import (
    UNKNOWN,
    UNLIMITED,
    Entries,
    PathNames,
    Size,
    joined,
    summed,
    times,
    union,
)
from dragoman_cel.estimate.worstcase import estimate_call
from dragoman_cel.syntax.nodes import (
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
from dragoman_cel.types import Kind

_MESSAGE = 40
_JOINING = ("add_string", "add_bytes", "add_list")
_KEEPING = ("distinct", "slice", "reverse", "sort", "@sortByAssociatedKeys", "flatten")
"""Functions whose result has the entries of its receiver, or those inside them."""
_INSERTING, _MERGING = "@mapInsert_map_key_value", "@mapInsert_map_map"


def estimate(tree: Node, size_of_path: SizeOfPath, release: Release) -> int:
    """Return the maximum cost of a checked expression.

    Args:
        tree: As the checker left it.
        size_of_path: Declared sizes of the environment's variables.
        release: How it estimates.
    """
    return _Estimator(size_of_path, release).cost(tree)


class _Estimator:
    def __init__(self, size_of_path: SizeOfPath, release: Release) -> None:
        self.release = release
        self.known = NodeSizes(size_of_path, release)
        self.joining = (*_JOINING, _MERGING) if release.contents_measured else _JOINING
        self.costs: dict[int, int] = {}

    def cost(self, node: Node) -> int:
        found = self.costs.get(id(node))
        if found is None:
            found = self.costs[id(node)] = _COSTS[type(node)](self, node)
        return found

    # Nodes ------------------------------------------------------------------------------------

    def literal(self, _: Literal) -> int:
        return 0

    def ident(self, node: Ident) -> int:
        local = self.known.local(node.name)
        self.known.paths[id(node)] = local.path if local is not None else PathNames([node.name], 1)
        return 1

    def select(self, node: Select) -> int:
        if node.variable:
            self.known.paths[id(node)] = PathNames([node.variable], 1)
            return 1
        cost = self.cost(node.operand)
        always = self.release.selections_estimated
        path = self.known.path(node.operand)
        if path if always else not node.test:
            self.known.paths[id(node)] = path.then(node.name)
        if node.test:
            return summed(cost, _branch_cost(node.operand)) if always else cost
        if always:
            return summed(cost, 1)
        kind = node.operand.type.kind
        return summed(cost, 1) if kind in (Kind.MAP, Kind.STRUCT, Kind.PARAM) else cost

    def list_node(self, node: ListNode) -> int:
        cost = LIST_LITERAL
        value = Size(UNLIMITED if node.items else 0, 0)
        for item in node.items:
            cost = summed(cost, self.cost(item))
        items = present(node) if self.release.contents_measured else node.items
        inside = None
        for item in items:
            value = union(value, self.known.size_or_unknown(item))
            inside = joined(inside, self.known.entry_sizes(item))
        if items or not self.release.contents_measured:
            self.known.entries[id(node)] = Entries(Kind.LIST, Size(1, 1), value, inside)
        return cost

    def map_node(self, node: MapNode) -> int:
        cost = MAP_LITERAL
        key = value = Size(UNLIMITED if node.entries else 0, 0)
        inside = None
        for entry in node.entries:
            cost = summed(cost, self.cost(entry.key), self.cost(entry.value))
            inside = joined(inside, self.known.entry_sizes(entry.value))
            key = union(key, self.known.size_or_unknown(entry.key))
            value = union(value, self.known.size_or_unknown(entry.value))
        if node.entries or not self.release.contents_measured:
            self.known.entries[id(node)] = Entries(Kind.MAP, key, value, inside)
        return cost

    def message(self, node: Message) -> int:
        return summed(_MESSAGE, *(self.cost(entry.value) for entry in node.entries))

    # Comprehensions -----------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> int:
        cost = summed(self.cost(node.range), self.cost(node.init))
        init = node.init
        size, entries = self.known.size(init), self.known.entry_sizes(init)
        self.known.push(node.accumulator, self.known.path(init), size, entries)
        if node.macro == "bind":
            cost = summed(cost, self.cost(node.result))
            if self.release.contents_measured:
                self.known.paths[id(node)] = self.known.path(node.result)
                self.known.copy_sizes(node, node.result)
                self.known.pop(node.accumulator)
            else:
                self.known.pop(node.accumulator)
                self.known.copy_sizes(node, node.result)
            return cost
        self.enter_loop(node)
        # The step nests the body deeply; to estimate the body first saves stack.
        for part in node.body:
            if part is not None:
                self.cost(part)
        each = summed(self.cost(node.condition), self.cost(node.step))
        self.known.pop(node.var)
        if node.var2:
            self.known.pop(node.var2)
        cost = summed(cost, self.cost(node.result))
        self.known.pop(node.accumulator)
        count = self.known.size_or_unknown(node.range)
        if isinstance(node.init, Literal):
            self.known.set_size(node, self.known.size(node.init))
        elif isinstance(node.init, (ListNode, MapNode)):
            self.known.set_size(node, count)
            entries = self.known.entry_sizes(node.step)
            if entries is None and self.release.contents_measured:
                entries = self.known.entry_sizes(node.range)
            if entries is not None:
                self.known.entries[id(node)] = entries
        return summed(cost, times(count.most, each))

    def enter_loop(self, node: Comprehension) -> None:
        unknown = (node.range.type.kind, None, None, None)
        kind, key, value, inside = self.known.entry_sizes(node.range) or unknown
        if not self.release.contents_measured:
            inside = None
        path = self.known.path(node.range)
        listed = kind is Kind.LIST
        keys = path.then(("@indices" if node.var2 else "@items") if listed else "@keys")
        if node.var2:
            self.known.push(node.var, keys, key)
            values = path.then("@items" if listed else "@values")
            self.known.push(node.var2, values, value, inside)
        else:
            self.known.push(node.var, keys, value if listed else key, inside if listed else None)

    # Calls ----------------------------------------------------------------------------------------

    def call(self, node: Call) -> int:
        if node.function == "dyn":
            cost = summed(1, self.cost(node.args[0]))
            self.known.copy_sizes(node, node.args[0])
            return cost
        costs = []
        for arg in node.args:
            costs.append(self.cost(arg))  # noqa: PERF401 — a comprehension is one more frame
        operands = [self.known.operand(arg) for arg in node.args]
        if not node.overloads:
            return summed(1, *costs) if self.release.selections_estimated else 0
        total = 0
        if node.target is not None:
            total = self.cost(node.target)
            operands.insert(0, self.known.operand(node.target))
        worst, size = 0, None
        for overload in node.overloads:
            cost, result = self.overload_cost(node, overload, operands, costs)
            worst = max(worst, cost)
            if result is not None:
                size = result if size is None else union(size, result)
            if overload in ("index_list", "index_map"):
                size = self.known.indexed(node, overload)
            if size is None:
                size = self.known.size(node)
        self.known.set_size(node, size)
        if self.release.contents_measured and node.function in _KEEPING and node.target is not None:
            self.known.copy_entries(node, node.target, flat=node.function == "flatten")
        return summed(total, worst)

    def overload_cost(
        self, node: Call, overload: str, operands: list[Operand], costs: list[int]
    ) -> CallEstimate:
        """Return the cost of the call with its arguments, and the size of its result if known."""
        if node.function in ("_&&_", "_||_"):
            return summed(*costs), None
        if overload == "conditional":
            self.known.join_entries(node, node.args[1], node.args[2])
            size = union(operands[1].size or UNKNOWN, operands[2].size or UNKNOWN)
            return summed(costs[0], max(costs[1], costs[2])), size
        if overload in self.joining:
            self.known.join_entries(node, node.args[0], node.args[1])
        if overload == _INSERTING and self.release.contents_measured:
            self.known.add_entry(node, *node.args)
        sizes = self.known.size_of_path
        call = CallByOverload(node.function, overload, operands, sizes, self.release)
        cost, result = estimate_call(call)
        return summed(cost, *costs), result


def _branch_cost(operand: Node) -> int:
    """Return what the test of a field of a conditional costs where a branch is computed."""
    root = operand
    while True:
        if isinstance(root, Select) and not root.test:
            root = root.operand
        elif isinstance(root, Call) and root.function in _CHAINING and root.args:
            root = root.args[0]
        else:
            break
    if not isinstance(root, Call) or root.function != "_?_:_":
        return 0
    return max(map(_of_branch, root.args[1:]))


def _of_branch(node: Node) -> int:
    chained = isinstance(node, (Ident, Select)) or (
        isinstance(node, Call) and node.function in (*_CHAINING, "_?_:_")
    )
    if not chained or (isinstance(node, Select) and node.test):
        return 1
    return _branch_cost(node)


_CHAINING = ("_[_]", "_[?_]", "_?._")
_COSTS: dict[type[Node], Any] = {
    Literal: _Estimator.literal,
    Ident: _Estimator.ident,
    Select: _Estimator.select,
    Call: _Estimator.call,
    ListNode: _Estimator.list_node,
    MapNode: _Estimator.map_node,
    Message: _Estimator.message,
    Comprehension: _Estimator.comprehension,
}
