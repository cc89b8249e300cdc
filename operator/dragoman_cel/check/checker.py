"""The type checker: it settles names, overloads and types, or reports errors.

A port of the rules of cel-go's checker (0.26) as Kubernetes configures it. The checker writes its
results onto the nodes of the tree.
"""

from typing import Any

from dragoman_cel import types
from dragoman_cel.check.literals import CHECKED, Literals, check_literals
from dragoman_cel.check.scope import SCALARS, Names, Scope, no_overload, resolve
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
    qualified_name,
)
from dragoman_cel.types import DYN, ERROR, Bindings, Kind, Settled, Type


def check(tree: Node, scope: Scope) -> list[tuple[int, str]]:
    """Annotate a tree with types; return (offset, message) of every error.

    Args:
        tree: As parsed; names and namespaced functions are settled in place.
        scope: Functions, variables and object types of the environment.
    """
    checker = _Checker(scope)
    checker.visit(tree)
    known: Settled = {}
    for node in checker.open:
        node.type = checker.bindings.settle(node.type, known)
    if checker.errors or not scope.checks_literals:
        return checker.errors
    return check_literals(checker.literals)


def _unwrapped(of: Type) -> tuple[Type, bool]:
    return (of.params[0], True) if types.is_optional(of) else (of, False)


class _Checker:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.names = Names(scope)
        self.bindings = Bindings(exact=scope.release.types_told_apart)
        self.errors: list[tuple[int, str]] = []
        self.open: list[Node] = []
        self.literals = Literals()
        self._in_format = 0

    def visit(self, node: Node) -> Type:
        """Check a node once; a node shared by an expansion keeps its type."""
        if node.type is not None:
            return node.type  # type: ignore[no-any-return]
        visit = _VISITORS[type(node)]
        if visit is _Checker.call:
            visit = _CALLS.get(node.function, visit)  # type: ignore[attr-defined]
        found: Type = visit(self, node)
        node.type = found
        if found.open:
            self.open.append(node)
        return found

    def report(self, pos: int, message: str) -> Type:
        self.errors.append((pos, message))
        return ERROR

    # Names ----------------------------------------------------------------------------------

    def undeclared(self, pos: int, name: str) -> Type:
        catalog = self.scope.catalog
        end = " (in container '')" if catalog is None else catalog.suggestion(name)
        return self.report(pos, f"undeclared reference to '{name}'{end}")

    def misspelt(self, pos: int, prefix: str, name: str) -> bool:
        """Report a name in a namespace that is not declared, where a near name is."""
        catalog = self.scope.catalog
        if catalog is None or not catalog.near(f"{prefix}.{name}"):
            return False
        parts = prefix.removeprefix(".").split(".")
        for count in range(1, len(parts) + 1):
            if self.names.lookup(".".join(parts[:count]))[0] is not None:
                return False
        self.undeclared(pos, f"{prefix}.{name}")
        return True

    def literal(self, node: Literal) -> Type:
        return SCALARS[type(node.value)]

    def ident(self, node: Ident) -> Type:
        found, node.constant = self.names.lookup(node.name)
        if found is None:
            return self.undeclared(node.pos, node.name)
        node.name = node.name.removeprefix(".")
        return found

    def select(self, node: Select) -> Type:
        if not node.test and isinstance(node.operand, (Ident, Select)):
            name = qualified_name(node)
            if name is not None:
                found, constant = self.names.lookup(name)
                if found is not None:
                    node.constant, node.variable = constant, name
                    return found
                if self.misspelt(node.pos, *name.rsplit(".", 1)):
                    return ERROR
        found = self.field(node, node.operand, node.name, optional=False)
        return types.BOOL if node.test else self.bindings.substitute(found)

    def field(self, node: Node, operand: Node, name: str, *, optional: bool) -> Type:
        whole = self.bindings.substitute(self.visit(operand))
        target, was_optional = _unwrapped(whole)
        found = ERROR
        if target.kind is Kind.MAP:
            found = target.params[1]
        elif target.kind is Kind.STRUCT:
            fields = self.scope.structs.get(target.name)
            if fields is None:
                self.report(node.pos, f"unexpected failed resolution of '{target.name}'")
            elif name not in fields:
                self.report(node.pos, f"undefined field '{name}'")
            else:
                found = fields[name]
        elif target.kind is Kind.PARAM:
            self.bindings.assignable(DYN, target)
            found = DYN
        else:
            if not target.dynamic and target.kind is not Kind.ERROR:
                self.report(node.pos, f"type '{target}' does not support field selection")
            found = DYN
        return types.optional_of(found) if was_optional or optional else found

    # Calls ----------------------------------------------------------------------------------

    def opt_select(self, node: Call) -> Type:
        node.overloads = ("select_optional_field",)
        field = node.args[1]
        assert isinstance(field, Literal)
        visited = self.field(node, node.args[0], field.value, optional=True)
        self.visit(field)
        return self.bindings.substitute(visited)

    def checked_call(self, node: Call) -> Type:
        self.literals.calls.append(node)
        if node.function != "format":
            return self.call(node)
        self._in_format += 1  # cel-go allows mixed types in a list of arguments of `format`
        found = self.call(node)
        self._in_format -= 1
        return found

    def call(self, node: Call) -> Type:
        args = []
        for arg in node.args:
            args.append(self.visit(arg))  # noqa: PERF401 — a comprehension is one more frame
        if node.function in ("_&&_", "_||_"):
            return self.logical(node, args)
        target = node.target
        if target is not None:
            name = qualified_name(target)
            if name is not None:
                whole = f"{name}.{node.function}".removeprefix(".")
                if whole in self.scope.functions:
                    node.function, node.target = whole, None
                    return self.resolve(node, args)
                if self.misspelt(node.pos, name, node.function):
                    return ERROR
            args.insert(0, self.visit(target))
        name = node.function.removeprefix(".") if target is None else node.function
        if name not in self.scope.functions:
            return self.undeclared(node.pos, node.function)
        node.function = name
        return self.resolve(node, args)

    def logical(self, node: Call, args: list[Type]) -> Type:
        node.overloads = ("logical_and" if node.function == "_&&_" else "logical_or",)
        failed = False
        for part, found in zip(node.args, args, strict=True):
            if not self.bindings.assignable(found, types.BOOL):
                self.mismatch(part.pos, types.BOOL, found)
                failed = True
        return ERROR if failed else types.BOOL

    def resolve(self, node: Call, args: list[Type]) -> Type:
        """Settle which overloads fit the arguments, and what they return."""
        result = resolve(node, args, self.scope, self.bindings)
        if result is None:
            return self.report(node.pos, no_overload(node, args, self.bindings))
        return result

    # Literals -------------------------------------------------------------------------------

    def mismatch(self, pos: int, expected: Type, found: Type) -> Type:
        return self.report(pos, f"expected type '{expected}' but found '{found}'")

    def join(self, previous: Type | None, current: Type) -> Type:
        if previous is None or (previous is current and not current.open):
            return current
        if self.bindings.assignable(previous, current):
            return self.bindings.most_general(previous, current)
        return DYN

    def collect_literal(self, node: ListNode | MapNode, size: int) -> None:
        if size > 1 and not self._in_format:
            self.literals.aggregates.append(node)

    def entry_type(self, node: Node) -> Type:
        """Return the type inside an optional element."""
        found = self.visit(node)
        inner, is_optional = _unwrapped(found)
        if not is_optional and not inner.dynamic:
            self.mismatch(node.pos, types.optional_of(inner), inner)
        return inner

    def list_literal(self, node: ListNode) -> Type:
        element: Type | None = None
        for number, item in enumerate(node.items):
            optional = number in node.optional
            found = self.entry_type(item) if optional else self.visit(item)
            element = self.join(element, found)
        self.collect_literal(node, len(node.items))
        return types.list_of(element or self.bindings.fresh())

    def map_literal(self, node: MapNode) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self.join(key, self.visit(entry.key))
            found = self.entry_type(entry.value) if entry.optional else self.visit(entry.value)
            value = self.join(value, found)
        self.collect_literal(node, len(node.entries))
        return types.map_of(key or self.bindings.fresh(), value or self.bindings.fresh())

    def message(self, node: Message) -> Type:
        found, named = self.names.lookup(node.name)
        result = ERROR
        if found is None:
            self.undeclared(node.pos, node.name)
        elif named is None:
            self.report(node.pos, f"'{found.declared}' is not a type")
        elif named.kind is not Kind.STRUCT:
            self.report(node.pos, f"'{named.declared}' is not a message type")
        else:
            result = named
        for entry in node.entries:
            self.visit(entry.value)
        return result

    # Comprehensions -------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> Type:
        self.visit(node.range)
        accumulator = self.visit(node.init)
        ranged = self.bindings.substitute(self.visit(node.range))
        first, second = self.iteration_types(node, ranged)
        self.names.locals.append((node.accumulator, accumulator))
        depth = len(self.names.locals)
        self.names.locals.append((node.var, first))
        if node.var2:
            self.names.locals.append((node.var2, second))
        # The step nests the body deeply; to check the body first saves stack.
        for part in node.body:
            if part is not None:
                self.visit(part)
        self.assert_type(node.condition, types.BOOL)
        self.assert_type(node.step, accumulator)
        del self.names.locals[depth:]
        result = self.visit(node.result)
        self.names.locals.pop()
        return self.bindings.substitute(result)

    def iteration_types(self, node: Comprehension, ranged: Type) -> tuple[Type, Type]:
        if ranged.kind is Kind.LIST:
            element = ranged.params[0]
            return (types.INT, element) if node.var2 else (element, element)
        if ranged.kind is Kind.MAP:
            return ranged.params[0], ranged.params[1]
        if ranged.kind in (Kind.DYN, Kind.ERROR, Kind.PARAM):
            self.bindings.assignable(DYN, ranged)
            return DYN, DYN
        of = f"expression of type '{ranged}' cannot be range of a comprehension"
        self.report(node.range.pos, f"{of} (must be list, map, or dynamic)")
        return ERROR, ERROR

    def assert_type(self, node: Node, expected: Type) -> None:
        found = self.visit(node)
        if not self.bindings.assignable(expected, found):
            self.mismatch(node.pos, expected, found)


_VISITORS: dict[type[Node], Any] = {
    Literal: _Checker.literal,
    Ident: _Checker.ident,
    Select: _Checker.select,
    Call: _Checker.call,
    ListNode: _Checker.list_literal,
    MapNode: _Checker.map_literal,
    Message: _Checker.message,
    Comprehension: _Checker.comprehension,
}
_CALLS: dict[str, Any] = {
    "_?._": _Checker.opt_select,
    **dict.fromkeys(CHECKED, _Checker.checked_call),
}
