"""The compiler: it makes a closure of each node of a checked tree.

An expression goes through four stages: `syntax` parses it and expands macros, `check` finds types
and overloads, `estimate` bounds its cost, and this package makes Python closures, once for each
expression. A run is then a tree of calls without any look at the tree: `a < b` of two ints is one
closure that was chosen here, because the checker knows the types.

Three things make it more than a walk:

* Cost is exact. Kubernetes limits and reports the CEL cost of each run, so each outcome must count
  what cel-go's tracker counts. Costs that are known at compile time are summed there, and a run
  adds only what depends on values (`closure` explains how, failures included).
* A node has two forms. A selection (`device.attributes["x"].y`) is no value until its end is known,
  since cel-go qualifies a whole path at once, at a cost of its own; so compiling a node gives a
  `Closure`, or a `Selection` that can grow (`selections`). `plan` keeps whichever it is, and
  `closure`, `bare` and `selection` ask for a node as a value, as a branch, or as a start.
* Macros copy nodes. The expansion of one can contain a node several times; `_plans` compiles it
  once.

`Release` says how a release of Kubernetes evaluates: versions differ in which failures are charged,
and in what is optimized before a run. Hostile expressions meet their bounds before this package:
the parser's depth and size, and the API server's limit of estimated cost; at run time the closures
count cost against a limit, and loops count steps besides (`budget`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.check.overloads import Overload
from dragoman_cel.compile import comparisons, comprehensions, logic
from dragoman_cel.compile.calls import call, or_else
from dragoman_cel.compile.closure import Closure, Compiled, checked, constant, rewrapped
from dragoman_cel.compile.functions import function_call
from dragoman_cel.compile.literals import (
    instantiation_failure,
    list_literal,
    map_literal,
    type_called,
    undefined_type,
)
from dragoman_cel.compile.loops import Loop
from dragoman_cel.compile.patterns import PATTERN_FUNCTIONS, Patterns
from dragoman_cel.compile.selections import Qualifier, Selection
from dragoman_cel.compile.statictypes import StaticTypes
from dragoman_cel.compile.variables import Variables, bind, bound_variable
from dragoman_cel.cost import call_cost_of
from dragoman_cel.errors import EvaluationError, OperationError
from dragoman_cel.library import OVERLOADS
from dragoman_cel.library.conversions import type_named
from dragoman_cel.library.dispatch import plain_dispatcher
from dragoman_cel.representation import KEYS, go_name
from dragoman_cel.state import scratch
from dragoman_cel.syntax.nodes import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
)
from dragoman_cel.types import Kind, is_optional

_CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)


def compile_tree(
    tree: Node,
    variables: Mapping[str, int],
    functions: Mapping[str, Sequence[Overload]],
    release: Release,
    *,
    guarded: bool = False,
) -> Compiled:
    """Compile a checked tree.

    Args:
        tree: Annotated by the checker, without errors.
        variables: Slot of each variable, from FIRST_VARIABLE on.
        functions: The overloads of the environment.
        release: How it evaluates.
        guarded: Whether data may be `Invalid`, so that every read of data checks the value.

    Raises:
        CompileError: `program instantiation failed: ..` when a constant cannot be converted.
    """
    compiler = _Compiler(variables, functions, release, guarded=guarded)
    closure = compiler.closure(tree)
    return Compiled(closure.run, closure.cost, compiler.variables.slots)


class _Compiler:
    def __init__(
        self,
        variables: Mapping[str, int],
        functions: Mapping[str, Sequence[Overload]],
        release: Release,
        *,
        guarded: bool,
    ) -> None:
        self.release = release
        self.guarded = guarded
        self.functions = functions
        self.variables = Variables(variables)
        self._plans: dict[int, Closure | Selection] = {}
        self._patterns = Patterns()
        self._types = StaticTypes()

    def closure(self, node: Node) -> Closure:
        """Compile a node as a value of its own."""
        # A copy of `plan`: a call would take a third frame of the stack for each level of nesting.
        plan = self._plans.get(id(node))
        if plan is None:
            plan = self._plans[id(node)] = _planner(node)(self, node)
        return plan if isinstance(plan, Closure) else self.read(plan.closure(self.release))

    def read(self, closure: Closure) -> Closure:
        """Compile a read of data, which fails if the data is invalid."""
        return checked(closure) if self.guarded else closure

    def bare(self, node: Node) -> Closure:
        """Compile a node as a branch or key, where a selection has no cost of its own."""
        plan = self.plan(node)
        return (
            plan if isinstance(plan, Closure) else self.read(plan.closure(self.release, bare=True))
        )

    def selection(self, node: Node) -> Selection:
        """Compile a node as the start of a selection."""
        plan = self._plans.get(id(node))
        if plan is None:
            plan = self._plans[id(node)] = _planner(node)(self, node)
        return plan if isinstance(plan, Selection) else Selection(plan, 0, 1)

    def plan(self, node: Node) -> Closure | Selection:
        """Compile a node once: the expansion of a macro can contain a node several times."""
        found = self._plans.get(id(node))
        if found is None:
            found = self._plans[id(node)] = _planner(node)(self, node)
        return found

    def literal(self, node: Literal) -> Closure:
        return constant(node.value)

    def ident(self, node: Ident) -> Closure | Selection:
        if node.constant is not None:
            if node.name in ("duration", "timestamp"):
                # cel-go's checker knows types of these names, its evaluator does not.
                raise undefined_type(node.name)
            return constant(type_named(node.constant.name))
        if node.type.kind is Kind.TYPE:
            return constant(type_called(node.name))
        selection = self.variables.read(node.name)
        if self.release.optionals_kept or not is_optional(node.type):
            return selection
        return Selection(rewrapped(selection.base), 0, selection.lead)

    def select(self, node: Select) -> Closure | Selection:
        if node.constant is not None:
            return constant(type_named(node.constant.name))
        if node.variable:
            return self.variables.read(node.variable.removeprefix("."))
        return self.selection(node.operand).then(Qualifier(node.name), test=node.test)

    def list_node(self, node: ListNode) -> Closure:
        items = []
        for item in node.items:
            items.append(self.closure(item))  # noqa: PERF401 — a comprehension is one more frame
        # The content of an optional may be what cel-go could not convert.
        self.guarded |= bool(node.optional)
        return list_literal(items, node.optional, self.release)

    def map_node(self, node: MapNode) -> Closure:
        entries = []
        for entry in node.entries:
            pair = self.closure(entry.key), self.closure(entry.value), entry.optional
            entries.append(pair)
            self.guarded |= entry.optional
        return map_literal(entries, self.release)

    # Calls ----------------------------------------------------------------------------------

    def call(self, node: Call) -> Closure:
        nodes = node.args if node.target is None else [node.target, *node.args]
        args = []
        for arg in nodes:
            args.append(self.closure(arg))  # noqa: PERF401 — a comprehension is one more frame
        made = self.function(node, nodes, args)
        if node.function in _CONVERSIONS and len(args) == 1 and args[0].is_constant:
            return self.fold_constant(made)
        return made

    def fold_constant(self, closure: Closure) -> Closure:
        """Evaluate a constant conversion now, as cel-go does: it costs nothing at run time."""
        try:
            return constant(closure.run(scratch()))
        except EvaluationError as error:
            raise instantiation_failure(error) from None

    def function(self, node: Call, nodes: Sequence[Node], args: Sequence[Closure]) -> Closure:
        if node.function in PATTERN_FUNCTIONS and type(args[1].constant) is str:
            try:
                run = self._patterns.function(node.function, args[1].constant)
            except EvaluationError as error:
                raise instantiation_failure(error) from None
            call_cost = call_cost_of(node.function, node.overloads, self.release)
            return call(run, args, call_cost, self.release, stateful=True, sequence=True)
        if node.function == "dyn" and not self.release.arguments_first:
            own = call_cost_of(node.function, node.overloads, self.release)
            if isinstance(own, int):  # it gives its argument, also where that has failed
                return Closure(args[0].run, args[0].cost + own, args[0].flat)
        exact = all(map(self._types.exact, nodes))
        overloads = self.functions[node.function]
        return function_call(node, args, overloads, self.release, exact=exact)

    def equality(self, node: Call) -> Closure:
        left, right = node.args
        kinds = (self._types.of(left), self._types.of(right))
        sides = self.closure(left), self.closure(right)
        return comparisons.equals(*sides, kinds, self.release, negated=node.function == "_!=_")

    def ordering(self, node: Call) -> Closure:
        left, right = node.args
        kinds = (self._types.of(left), self._types.of(right))
        made = comparisons.ordered(
            node.function, self.closure(left), self.closure(right), kinds, self.release
        )
        if made is None and kinds[0].dynamic and len(node.overloads) > 1:
            number = self.closure(right).constant
            numeric = [one for one in self.functions[node.function] if one.name in OVERLOADS]
            other = plain_dispatcher(node.function, numeric)
            if type(number) is int and other is not None:
                operand = self.closure(left)
                return comparisons.ordered_with(node.function, operand, number, other, self.release)
        return self.call(node) if made is None else made

    def containment(self, node: Call) -> Closure:
        item, items = node.args
        kinds = (self._types.of(item), self._types.of(items))
        sides = self.closure(item), self.closure(items)
        return comparisons.contained(*sides, kinds, node.overloads, self.release)

    def logical(self, node: Call) -> Closure:
        terms = []
        for arg in node.args:
            terms.append(self.closure(arg))  # noqa: PERF401 — a comprehension is one more frame
        return logic.logical(terms, decisive=node.function == "_||_")

    def conditional(self, node: Call) -> Selection:
        test, then, other = node.args
        made = logic.conditional(self.closure(test), self.bare(then), self.bare(other))
        if is_optional(node.type) and not self.release.optionals_kept:
            made = rewrapped(made)
        return Selection(made, 0, 0)

    def index(self, node: Call) -> Selection:
        operand, key = node.args
        optional = node.function != "_[_]"
        selection = self.selection(operand)
        found = self.bare(key)
        if found.is_constant:
            if type(found.constant) not in KEYS:
                name = go_name(found.constant)
                raise instantiation_failure(OperationError(f"invalid qualifier type: {name}"))
            return selection.then(Qualifier(found.constant, None, 0, optional))
        return selection.then(Qualifier(None, found.run, found.cost, optional))

    def opt_select(self, node: Call) -> Selection:
        operand, name = node.args
        assert isinstance(name, Literal)
        return self.selection(operand).then(Qualifier(name.value, None, 0, optional=True))

    def or_value(self, node: Call) -> Closure:
        assert node.target is not None
        optional, other = self.closure(node.target), self.closure(node.args[0])
        return or_else(optional, other, self.release, unwrap=node.function == "orValue")

    # Macros ---------------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> Closure:
        if node.macro == "bind":
            return self.bind(node)
        items = self.closure(node.range)
        self._types.enter(node)
        slot = self.variables.enter_loop(node.var)
        second = self.variables.enter_loop(node.var2) if node.var2 else 0
        loop = Loop(items, slot, second, self.release)
        # The value of an attribute may be none that can be used.
        self.guarded |= bool(second) and self.release.attributes_lazy
        parts = []
        for part in node.body:
            parts.append(self.closure(part) if part is not None else None)  # noqa: PERF401 — see above
        self.variables.leave(node.var, node.var2)
        return comprehensions.comprehension(node.macro, loop, parts)

    def bind(self, node: Comprehension) -> Closure:
        value = self.closure(node.init)
        if node.init.type.kind is Kind.TYPE:
            type_called(node.accumulator)
        self._types.enter(node)
        slot = self.variables.new_slot()
        selection = Selection(bound_variable(slot, value), 0, 1)
        self.variables.enter(node.accumulator, selection)
        body = self.closure(node.result)
        self.variables.leave(node.accumulator)
        return bind(slot, body)


def _planner(node: Node) -> Any:
    if isinstance(node, Call):
        return _SPECIAL.get(node.function, _Compiler.call)
    return _PLANNERS[type(node)]


_SPECIAL: dict[str, Any] = {
    "_==_": _Compiler.equality,
    "_!=_": _Compiler.equality,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _Compiler.ordering),
    "@in": _Compiler.containment,
    "_&&_": _Compiler.logical,
    "_||_": _Compiler.logical,
    "_?_:_": _Compiler.conditional,
    "_[_]": _Compiler.index,
    "_[?_]": _Compiler.index,
    "_?._": _Compiler.opt_select,
    "or": _Compiler.or_value,
    "orValue": _Compiler.or_value,
}
_PLANNERS: dict[type[Node], Any] = {
    Literal: _Compiler.literal,
    Ident: _Compiler.ident,
    Select: _Compiler.select,
    ListNode: _Compiler.list_node,
    MapNode: _Compiler.map_node,
    Comprehension: _Compiler.comprehension,
}
