"""Environments: the functions, variables and types of expressions; and their programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dragoman_base.versions import Release, Version
from dragoman_cel import types
from dragoman_cel.budget import EVALUATION_OVERHEAD, EVALUATION_STEPS, StepBudget
from dragoman_cel.check.catalog import Catalog
from dragoman_cel.check.checker import check
from dragoman_cel.check.declarations import overloads_of
from dragoman_cel.check.overloads import Overload
from dragoman_cel.check.scope import Scope
from dragoman_cel.compile import Compiled, compile_tree
from dragoman_cel.errors import (
    CompileError,
    CostLimitExceeded,
    EvaluationAborted,
    EvaluationError,
    OperationError,
    StepBudgetExceeded,
    failure,
)
from dragoman_cel.estimate import Path, estimate
from dragoman_cel.library import revised
from dragoman_cel.reads import paths
from dragoman_cel.state import COST, FIRST_VARIABLE, LIMIT, STEPS, State
from dragoman_cel.syntax.macros import macros_of
from dragoman_cel.syntax.nodes import Ident, Node, walk
from dragoman_cel.syntax.parser import TOO_DEEP, parse
from dragoman_cel.types import Type

COST_LIMIT = 1_000_000
"""Run-time limit of one expression, for selectors and rules alike."""

_TYPE_NAMES: Mapping[str, Type] = {
    kind.name: kind
    for kind in (
        types.BOOL, types.BYTES, types.DOUBLE, types.DURATION, types.INT, types.NULL, types.STRING,
        types.TIMESTAMP, types.UINT, types.TYPE, types.list_of(types.DYN),
        types.map_of(types.DYN, types.DYN),
    )
}  # fmt: skip
_OPTIONAL = Type(types.Kind.OPAQUE, "optional_type")
_ANY_OPTIONAL = types.optional_of(types.DYN)


class Program:
    """A compiled expression: immutable, so that threads can share it.

    Attributes:
        expression: Its text.
        type: The type the checker found for its result.
        variables: Names of the environment's variables, in the order of `evaluate`'s values.
    """

    def __init__(
        self, expression: str, tree: Node, compiled: Compiled, environment: Environment
    ) -> None:
        self.expression = expression
        self.type: Type = tree.type
        self.variables = tuple(environment.variables)
        self.run = compiled.run
        self.cost = compiled.cost
        self.local_slots: list[Any] = [None] * (
            compiled.slots - FIRST_VARIABLE - len(self.variables)
        )
        self._tree = tree
        self._environment = environment

    @cached_property
    def names(self) -> frozenset[str]:
        """Return every name the expression reads: variables, and those its macros introduce."""
        return frozenset(node.name for node in walk(self._tree) if isinstance(node, Ident))

    def reads(self, variable: str) -> Collection[Path]:
        """Return the constant paths below a variable that the expression reads."""
        return paths(self._tree, variable)

    @cached_property
    def max_cost(self) -> int:
        """Return the worst-case cost in CEL units, which admission limits; up to 2^64-1."""
        environment = self._environment
        return estimate(self._tree, environment.size_of_path, environment.release)

    @cached_property
    def untyped(self) -> Compiled:
        """Return the program compiled a second time, without use of static types.

        The checker accepts null for many types, and nullable data can be null where its type is
        not. The typed program then raises a Python error instead of cel-go's; this one checks
        the run-time types first.
        """
        return self._environment.compile_untyped(self.expression)

    def evaluate(
        self,
        values: Sequence[Any],
        *,
        cost_limit: int = COST_LIMIT,
        budget: StepBudget | None = None,
    ) -> tuple[Any, int]:
        """Return the result and what it cost in CEL units.

        Args:
            values: A value for each of `variables`, in the form that `representation` describes.
            cost_limit: Units after which the evaluation is cancelled.
            budget: Plain steps shared with other evaluations.

        Raises:
            EvaluationError: With the scheduler's text; `cost` is the cost until then.
            CostLimitExceeded: The cost limit or the steps ran out.
            StepBudgetExceeded: The steps of the evaluation or of the budget ran out; this error
                takes precedence over the outcome of the evaluation.
        """
        steps = EVALUATION_STEPS if budget is None else min(EVALUATION_STEPS, budget.remaining)
        state: State = [self.cost, cost_limit, steps, *values, *self.local_slots]
        try:
            return self.result(state), state[COST]
        finally:
            if budget is not None:
                _spend(budget, steps, state)

    def result(self, state: State) -> Any:
        """Evaluate in a state made for this program; afterwards the state has the cost.

        Raises:
            EvaluationError: As `evaluate`.
        """
        try:
            result = self.run(state)
        except FAILURES as error:
            result = self.recovered(error, state)
        # A test of a conditional without cost costs less than nothing; in Go that is too much.
        if not 0 <= state[COST] <= state[LIMIT]:
            raise with_cost(CostLimitExceeded(), state)
        return result

    def recovered(self, error: Exception, state: State) -> Any:
        """Return the result of the untyped program after a Python error of the typed one.

        Args:
            error: One of `FAILURES` that `run` has raised.
            state: As `run` left it; the cost spent until then counts as steps.

        Raises:
            EvaluationError: The error itself with its cost, or that of the untyped program.
        """
        if isinstance(error, (AttributeError, TypeError)):
            state[STEPS] -= state[COST]
            try:
                state[COST] = self.untyped.cost
                return self.untyped.run(state)
            except (EvaluationError, RecursionError) as failure:
                error = failure
            except TypeError as panic:  # Go panics here, and cel-go recovers
                error = OperationError(f"internal error: {panic}")
        if isinstance(error, RecursionError):
            error = OperationError(TOO_DEEP)
        assert isinstance(error, EvaluationError)
        raise with_cost(error if state[COST] >= 0 else CostLimitExceeded(), state) from None


FAILURES = (EvaluationError, RecursionError, AttributeError, TypeError)
"""Exceptions that the closures of a program raise."""


def with_cost(error: EvaluationError, state: State) -> EvaluationError:
    """Set the cost of a failed evaluation; above the limit, the limit ended it first."""
    cost, limit = state[COST], state[LIMIT]
    stopped = isinstance(error, CostLimitExceeded) and not isinstance(error, StepBudgetExceeded)
    if cost > limit and not isinstance(error, EvaluationAborted):
        error, stopped = CostLimitExceeded(), True
    error.cost = limit + 1 if stopped else min(cost, limit)
    return error


def _spend(budget: StepBudget, steps: int, state: State) -> None:
    try:
        budget.spend(max(0, steps - state[STEPS]) + state[COST] + EVALUATION_OVERHEAD)
    except StepBudgetExceeded as error:
        error.cost = state[COST]
        raise


@dataclass(frozen=True)
class Environment:
    """The functions, variables and types that expressions can use.

    It caches what it derives from these; every thread would compute the same values.
    """

    version: Version  # The Kubernetes version whose library applies, such as (1, 36)
    variables: Mapping[str, Type]  # Type of each variable
    structs: Mapping[str, Mapping[str, Type]]  # Fields of each declared object type
    size_of_path: Callable[[Path], int | None]  # Declared maximum sizes, for `Program.max_cost`.
    bind: bool = False  # Whether `cel.bind` belongs to it.
    # Whether data may be invalid for its declared type (`representation.Invalid`).
    guarded: bool = False
    extra: Mapping[str, tuple[Overload, ...]] | None = None  # Further overloads by function name
    newer: Release | None = None  # What evaluates where it is newer than the library

    @cached_property
    def release(self) -> Release:
        """What evaluates and estimates."""
        return self.newer or Release(self.version)

    @cached_property
    def _scope(self) -> Scope:
        release = self.release
        functions = {
            function: tuple(
                replace(one, name=revised(one.name, release.version)) for one in overloads
            )
            for function, overloads in {**overloads_of(self.version), **(self.extra or {})}.items()
        }
        type_names = {**_TYPE_NAMES, "duration": types.DURATION, "timestamp": types.TIMESTAMP}
        if self.version >= (1, 28):
            type_names[_OPTIONAL.name] = _OPTIONAL
        if self.version >= (1, 30):
            type_names |= {types.IP.name: types.IP, types.CIDR.name: types.CIDR}
        checks = self.version >= (1, 29)
        catalog = None
        if release.names_suggested:
            macros = (name for name, *_ in self._macros)
            # The library declares the operator `in` by its old name as well.
            catalog = Catalog((*functions, *self.variables, *macros, "in"))
        return Scope(functions, self.variables, type_names, self.structs, release, checks, catalog)

    @cached_property
    def _macros(self) -> Mapping[Any, Any]:
        return macros_of(self.version, bind=self.bind)

    def compile(
        self, expression: str, *, check_result: Callable[[Type], str] = lambda _: ""
    ) -> Program:
        """Parse, check and compile an expression.

        Args:
            expression: Its text.
            check_result: Returns the error of a result's type, "" for a valid type.

        Raises:
            CompileError: With every issue found, drawn as cel-go draws them.
        """
        try:
            tree = parse(expression, self._macros, self.release)
            issues = check(tree, self._scope)
            if issues:
                raise failure(expression, issues)
            if problem := check_result(tree.type):
                raise CompileError(problem)
            compiled = self._compiled(tree)
        except RecursionError:
            raise failure(expression, [(-1, TOO_DEEP)]) from None
        return Program(expression, tree, compiled, self)

    def compile_untyped(self, expression: str) -> Compiled:
        """Compile a valid expression without the static types of its nodes."""
        tree = parse(expression, self._macros, self.release)
        check(tree, self._scope)
        for node in walk(tree):
            # An optional stays an optional: cel-go rewraps one behind a variable or condition.
            node.type = _ANY_OPTIONAL if types.is_optional(node.type) else types.DYN
        return self._compiled(tree)

    def _compiled(self, tree: Node) -> Compiled:
        slots = {name: FIRST_VARIABLE + number for number, name in enumerate(self.variables)}
        return compile_tree(tree, slots, self._scope.functions, self.release, guarded=self.guarded)
