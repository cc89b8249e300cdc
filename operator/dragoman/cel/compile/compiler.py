"""The compiler: each node of a checked tree to the closure that evaluates it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from dragoman.cel import types
from dragoman.cel.compile import comparisons, comprehensions, logic
from dragoman.cel.compile.calls import call, or_else
from dragoman.cel.compile.closure import Closure, Code, constant
from dragoman.cel.compile.literals import list_literal, map_literal
from dragoman.cel.compile.selections import Qualifier, Selection
from dragoman.cel.cost import call_cost_of
from dragoman.cel.errors import CompileError, EvaluationError
from dragoman.cel.library import OVERLOADS, STATEFUL
from dragoman.cel.library.conversions import type_named
from dragoman.cel.library.dispatch import dispatcher, plain_dispatcher
from dragoman.cel.overloads import Overload
from dragoman.cel.representation import Invalid, go_name, reread
from dragoman.cel.state import FIRST_VARIABLE, State, spend_steps
from dragoman.cel.syntax.nodes import (
    Call,
    Comprehension,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
)
from dragoman.cel.types import Kind, Type
from dragoman.cel.values.regex import Regex, compile_regex
from dragoman.cel.values.scalars import Uint

_CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
_TYPES: Final = frozenset(
    ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint")
)
_KEYS: Final = frozenset((str, int, Uint, bool, float))
_REGEXES: Final = frozenset(("matches", "find", "findAll"))


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled expression.

    Attributes:
        run: evaluates in a state.
        cost: cost in any case, paid before.
        slots: number of slots of the state.
    """

    run: Code
    cost: int
    slots: int


def compile_tree(
    tree: Node,
    variables: Mapping[str, int],
    functions: Mapping[str, Sequence[Overload]],
    *,
    guarded: bool = False,
) -> Compiled:
    """Compile a checked tree.

    Args:
        tree: annotated by the checker, without errors.
        variables: slot of each variable, from FIRST_VARIABLE on.
        functions: the overloads of the environment.
        guarded: whether data may be `Invalid`, so that every value read must be looked at.

    Raises:
        CompileError: `program instantiation failed: ..` when a constant cannot be converted.
    """
    compiler = _Compiler(variables, functions, guarded=guarded)
    closure = compiler.closure(tree)
    return Compiled(closure.run, closure.cost, compiler.slots)


def _instantiation_failure(error: EvaluationError) -> CompileError:
    return CompileError(f"program instantiation failed: {error.message}")


def _undefined_type(name: str) -> CompileError:
    return _instantiation_failure(EvaluationError(f"reference to undefined type: {name}"))


def _type_called(name: str) -> Type:
    """Return the type of a name: cel-go takes a variable that holds a type for the type itself."""
    if name not in _TYPES:
        raise _undefined_type(name)
    return type_named(name)


def _read(slot: int) -> Code:
    return lambda state: state[slot]


def _joins_lists(node: Call) -> bool:
    return node.function == "_+_" and node.type.kind is Kind.LIST


def _parts(node: Node) -> Sequence[Node | None]:
    """Return what the result of a node comes out of, nothing if it is made anew."""
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
    if node.function in _OF_PARTS or _joins_lists(node):
        return node.args if node.target is None else (node.target, *node.args)
    return ()


def _is_optional(kind: Type) -> bool:
    return kind.kind is Kind.OPAQUE and kind.name == "optional_type"


def _reread(code: Code) -> Code:
    return lambda state: reread(code(state))


def _guard(code: Code) -> Code:
    def run(state: State) -> Any:
        value = code(state)
        if type(value) is Invalid:
            raise value.error
        return value

    return run


class _Compiler:
    def __init__(
        self,
        variables: Mapping[str, int],
        functions: Mapping[str, Sequence[Overload]],
        *,
        guarded: bool,
    ) -> None:
        self.guarded = guarded
        self.functions = functions
        self.slots = FIRST_VARIABLE + len(variables)
        self._scope: dict[str, list[Selection]] = {
            name: [Selection(Closure(_read(slot), 0, flat=True), slot, 1)]
            for name, slot in variables.items()
        }
        self._plans: dict[int, Closure | Selection] = {}
        self._regex_steps = 0
        self._exact: dict[int, bool] = {}
        # Names of macro variables whose type only their use tells, wherever they occur.
        self._untyped_names: set[str] = set()

    def closure(self, node: Node) -> Closure:
        """Compile a node as a value of its own."""
        # Planning stands here once more than it must: nested expressions need no third frame.
        plan = self._plans.get(id(node))
        if plan is None:
            plan = self._plans[id(node)] = _planner(node)(self, node)
        return plan if isinstance(plan, Closure) else self.read(plan.closure())

    def read(self, closure: Closure) -> Closure:
        """Compile reading data, which fails if the data is invalid."""
        return Closure(_guard(closure.run), closure.cost, closure.flat) if self.guarded else closure

    def bare(self, node: Node) -> Closure:
        """Compile a node as a branch or key, where a selection has no cost of its own."""
        plan = self.plan(node)
        return plan if isinstance(plan, Closure) else self.read(plan.closure(bare=True))

    def selection(self, node: Node) -> Selection:
        """Compile a node as the start of a selection."""
        plan = self._plans.get(id(node))
        if plan is None:
            plan = self._plans[id(node)] = _planner(node)(self, node)
        return plan if isinstance(plan, Selection) else Selection(plan, 0, 1)

    def plan(self, node: Node) -> Closure | Selection:
        """Compile a node once; one that an expansion shares keeps its closure."""
        found = self._plans.get(id(node))
        if found is None:
            found = self._plans[id(node)] = _planner(node)(self, node)
        return found

    def literal(self, node: Literal) -> Closure:
        return constant(node.value)

    def ident(self, node: Ident) -> Closure | Selection:
        if node.constant is not None:
            if node.name in ("duration", "timestamp"):
                # The checker of cel-go knows them by these names, its evaluator does not.
                raise _undefined_type(node.name)
            return constant(type_named(node.constant.name))
        if node.type.kind is Kind.TYPE:
            return constant(_type_called(node.name))
        selection = self._scope[node.name][-1]
        if not _is_optional(node.type):
            return selection
        base = selection.base
        return Selection(Closure(_reread(base.run), base.cost, base.flat), 0, selection.lead)

    def select(self, node: Select) -> Closure | Selection:
        if node.constant is not None:
            return constant(type_named(node.constant.name))
        if node.variable:
            return self._scope[node.variable.removeprefix(".")][-1]
        return self.selection(node.operand).then(Qualifier(node.name), test=node.test)

    def list_node(self, node: ListNode) -> Closure:
        items = []
        for item in node.items:
            items.append(self.closure(item))  # noqa: PERF401 — a comprehension is one more frame
        return list_literal(items, node.optional)

    def map_node(self, node: MapNode) -> Closure:
        entries = []
        for entry in node.entries:
            pair = self.closure(entry.key), self.closure(entry.value), entry.optional
            entries.append(pair)
        return map_literal(entries)

    def exact(self, node: Node) -> bool:
        """Tell whether a value is sure to have the checked type.

        What comes out of a list or optional of unknown content takes its type from where it is
        used first.
        """
        found = self._exact.get(id(node))
        if found is None:
            found = bool(node.type.exact)
            if isinstance(node, Ident):
                found = found and node.name not in self._untyped_names
            for part in _parts(node) if found else ():
                found = found and (part is None or self.exact(part))
            self._exact[id(node)] = found
        return found

    def static_type(self, node: Node) -> Type:
        return node.type if self.exact(node) or not node.type.exact else types.DYN

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
        """Evaluate a constant conversion now: it costs nothing later, and its error is ours."""
        try:
            return constant(closure.run(_scratch()))
        except EvaluationError as error:
            raise _instantiation_failure(error) from None

    def function(self, node: Call, nodes: Sequence[Node], args: Sequence[Closure]) -> Closure:
        call_cost = call_cost_of(node.function, node.overloads)
        if node.function in _REGEXES and type(args[1].constant) is str:
            ask = self.regex(node.function, args[1].constant)
            return call(ask, args, call_cost, stateful=True, sequence=True)
        if len(node.overloads) == 1 and all(map(self.exact, nodes)):
            name = node.overloads[0]
            if name in STATEFUL:
                # Formatting is declared with a list of arguments, like functions of three.
                sequence = node.function == "format"
                return call(STATEFUL[name], args, call_cost, stateful=True, sequence=sequence)
            return call(OVERLOADS[name], args, call_cost, stateful=False)
        choices = [
            overload
            for overload in self.functions[node.function]
            if len(overload.params) == len(args)
            and (len(node.overloads) > 1 or overload.name in node.overloads)
        ]
        several = len(node.overloads) > 1 and node.function not in _SHARED
        sequence = several or node.function == "format"
        if len(args) == 2:
            plain = plain_dispatcher(node.function, choices)
            if plain is not None:
                return call(plain, args, call_cost, stateful=False, sequence=sequence)
        run = dispatcher(node.function, choices)
        return call(run, args, call_cost, stateful=True, sequence=sequence)

    def regex(self, function: str, pattern: str) -> Any:
        """Return the function for a constant pattern, which is compiled once."""
        try:
            regex = compile_regex(pattern)
        except EvaluationError as error:
            raise _instantiation_failure(error) from None
        self._regex_steps += regex.steps
        if self._regex_steps > _REGEX_STEPS:
            text = f"error parsing regexp: expression too large: `{pattern}`"
            raise _instantiation_failure(EvaluationError(text))
        ask = {"matches": Regex.matches, "find": Regex.find}.get(function)

        def run(state: State, text: Any, _pattern: Any, *limit: Any) -> Any:
            if type(text) is Type:
                text = text.name  # cel-go looks for Go's string, which a type has as well
            if type(text) is not str or (limit and type(limit[0]) is not int):
                raise EvaluationError("no such overload")
            if ask is None:
                return regex.find_all(text, *limit, pay=partial(spend_steps, state))
            if len(text) > _SHORT:
                spend_steps(state, regex.match_steps(text))
            return ask(regex, text)

        return run

    def equality(self, node: Call) -> Closure:
        left, right = node.args
        kinds = (self.static_type(left), self.static_type(right))
        negated = node.function == "_!=_"
        return comparisons.equals(self.closure(left), self.closure(right), kinds, negated=negated)

    def ordering(self, node: Call) -> Closure:
        left, right = node.args
        kinds = (self.static_type(left), self.static_type(right))
        made = comparisons.ordered(node.function, self.closure(left), self.closure(right), kinds)
        if made is None and kinds[0].dynamic and len(node.overloads) > 1:
            number = self.closure(right).constant
            numeric = [one for one in self.functions[node.function] if one.name in OVERLOADS]
            other = plain_dispatcher(node.function, numeric)
            if type(number) is int and other is not None:
                return comparisons.ordered_with(node.function, self.closure(left), number, other)
        return self.call(node) if made is None else made

    def containment(self, node: Call) -> Closure:
        item, items = node.args
        kinds = (self.static_type(item), self.static_type(items))
        return comparisons.contained(self.closure(item), self.closure(items), kinds, node.overloads)

    def logical(self, node: Call) -> Closure:
        terms = []
        for arg in node.args:
            terms.append(self.closure(arg))  # noqa: PERF401 — a comprehension is one more frame
        return logic.all_of(terms) if node.function == "_&&_" else logic.any_of(terms)

    def conditional(self, node: Call) -> Selection:
        test, then, other = node.args
        made = logic.conditional(self.closure(test), self.bare(then), self.bare(other))
        if _is_optional(node.type):
            made = Closure(_reread(made.run), made.cost, made.flat)
        return Selection(made, 0, 0)

    def index(self, node: Call) -> Selection:
        operand, key = node.args
        optional = node.function != "_[_]"
        selection = self.selection(operand)
        found = self.bare(key)
        if found.is_constant:
            if type(found.constant) not in _KEYS:
                name = go_name(found.constant)
                raise _instantiation_failure(EvaluationError(f"invalid qualifier type: {name}"))
            return selection.then(Qualifier(found.constant, None, 0, optional))
        return selection.then(Qualifier(None, found.run, found.cost, optional))

    def opt_select(self, node: Call) -> Selection:
        operand, name = node.args
        assert isinstance(name, Literal)
        return self.selection(operand).then(Qualifier(name.value, None, 0, optional=True))

    def or_value(self, node: Call) -> Closure:
        assert node.target is not None
        optional, other = self.closure(node.target), self.closure(node.args[0])
        return or_else(optional, other, unwrap=node.function == "orValue")

    # Macros ---------------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> Closure:
        if node.macro == "bind":
            return self.bind(node)
        items = self.closure(node.range)
        if not self.exact(node.range):
            self._untyped_names.update((node.var, node.var2))
        slot, second = self.variable(node.var), self.variable(node.var2) if node.var2 else 0
        loop = comprehensions.Loop(items, slot, second)
        parts = []
        for part in node.body:
            parts.append(self.closure(part) if part is not None else None)  # noqa: PERF401 — see above
        self.leave(node.var, node.var2)
        return self.loop(node.macro, loop, parts)

    def loop(self, macro: str, loop: comprehensions.Loop, parts: list[Closure | None]) -> Closure:
        first, *others = parts
        if macro in ("all", "exists"):
            assert first is not None
            return comprehensions.quantifier(loop, first, decisive=macro == "exists")
        if macro == "exists_one":
            assert first is not None
            return comprehensions.exists_one(loop, first)
        made = tuple(part for part in others if part is not None)
        if macro == "map":
            return comprehensions.collect(loop, first, made[0])
        return comprehensions.collect_map(loop, first, made)

    def bind(self, node: Comprehension) -> Closure:
        value = self.closure(node.init)
        if node.init.type.kind is Kind.TYPE:
            _type_called(node.accumulator)
        if not self.exact(node.init):
            self._untyped_names.add(node.accumulator)
        slot = self.slots
        self.slots += 1
        selection = Selection(comprehensions.bound_variable(slot, value), 0, 1)
        self._scope.setdefault(node.accumulator, []).append(selection)
        body = self.closure(node.result)
        self._scope[node.accumulator].pop()
        return comprehensions.bind(slot, body)

    def variable(self, name: str) -> int:
        """Give a loop variable a slot and bring it into scope."""
        slot = self.slots
        self.slots += 1
        selection = Selection(Closure(_read(slot), 0, flat=True), slot, 1)
        self._scope.setdefault(name, []).append(selection)
        return slot

    def leave(self, *names: str) -> None:
        for name in names:
            if name:
                self._scope[name].pop()


def _planner(node: Node) -> Any:
    if isinstance(node, Call):
        return _SPECIAL.get(node.function, _Compiler.call)
    return _PLANNERS[type(node)]


_REGEX_STEPS: Final = 200_000
"""Plain steps that compiling all the constant patterns of an expression may take."""
_SHORT: Final = 256
"""Code points of a text that any pattern matches in no time."""
_SORT_BY: Final = "@sortByAssociatedKeys"
_OF_PARTS: Final = frozenset(
    (
        *("distinct", "reverse", "flatten", "slice", "sort", _SORT_BY, "first", "last"),
        *(
            "optional.of",
            "optional.ofNonZeroValue",
            "unwrapOpt",
            "optional.unwrap",
            "value",
            "or",
            "orValue",
        ),
    )
)
"""Functions that return something out of what they get."""
_SHARED: Final = frozenset(
    (
        "_+_",
        "_-_",
        "_*_",
        "_/_",
        "_%_",
        "_<_",
        "_<=_",
        "_>_",
        "_>=_",
        "matches",
        "@sortByAssociatedKeys",
    )
)
"""Functions of two arguments whose overloads share one implementation in cel-go."""


def _scratch() -> State:
    """Return a state for what is evaluated while compiling."""
    return [0, 1_000_000, 1_000_000]


_SPECIAL: Final[dict[str, Any]] = {
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
_PLANNERS: Final[dict[type[Node], Any]] = {
    Literal: _Compiler.literal,
    Ident: _Compiler.ident,
    Select: _Compiler.select,
    ListNode: _Compiler.list_node,
    MapNode: _Compiler.map_node,
    Comprehension: _Compiler.comprehension,
}
