"""Derived attributes: values that a request computes from a device for its constraints.

Kubernetes 1.37, alpha (gate DRADerivedAttributes). An expression results in a bool, int, string or
version, or in a list of one of these.
"""

from collections.abc import Mapping
from typing import Any

from dragoman.allocation.features import Profile
from dragoman.allocation.requests.expressions import Failure, Views, failed
from dragoman.allocation.timebudget import COST_LIMIT, check, cost_left
from dragoman.model.device import Content
from dragoman_base.versions import Release
from dragoman_cel import types
from dragoman_cel.budget import StepBudget
from dragoman_cel.environment import Program
from dragoman_cel.errors import CompileError, EvaluationError
from dragoman_cel.representation import type_name
from dragoman_cel.selectorenvironment import environment
from dragoman_cel.types import Type
from dragoman_cel.values.semver import Semver

Value = Mapping[str, Any] | Failure

_ELEMENTS = ("bool", "int", "string", "kubernetes.Semver", "any", "dyn")
_LISTS = {"int": "ints", "bool": "bools", "string": "strings", "version": "versions"}


class Derivation:
    """The expression of a derived attribute in one environment."""

    __slots__ = ("_failure", "_program", "_results", "_views")

    def __init__(self, text: str, profile: Profile, views: Views) -> None:
        self._views = views
        self._results: dict[Content, Value] = {}
        self._program: Program | None = None
        self._failure = Failure("")
        check()
        shares = profile.features.ConsumableCapacity
        release = Release(profile.version)  # a cache key, as all arguments
        scope = environment(release.version, True, True, shares, release)  # noqa: FBT003
        try:
            self._program = scope.compile(text, check_result=_complain)
        except CompileError as error:
            message = f"compilation failed: {error.message}" if error.issues else error.message
            self._failure = Failure(message, compiling=True)

    def on(self, content: Content) -> Value:
        """Return the attribute of a device in the API's form, or why there is none."""
        found = self._results.get(content)
        if found is None:
            found = self._results[content] = self._evaluate(content)
            self._views.entries += 1
        return found

    def forget(self) -> None:
        """Drop all results; see `Expression.forget`."""
        self._results.clear()

    def _evaluate(self, content: Content) -> Value:
        if self._program is None:
            return self._failure
        view, limit = self._views(content), cost_left()
        budget = StepBudget(limit) if limit < COST_LIMIT else None
        try:
            if view.value is None:
                raise view.error
            found = self._program.evaluate((view.value,), cost_limit=limit, budget=budget)
            return _attribute(found[0])
        except EvaluationError as error:
            return failed(error, limit)


def _complain(of: Type) -> str:
    element = of.params[0] if of.kind is types.Kind.LIST else of
    if element.declared in _ELEMENTS:
        return ""
    return (
        "must evaluate to a primitive scalar (string, integer, boolean, semver) "
        f"or a list of these scalars, not {of.declared}"
    )


def _attribute(result: Any) -> Mapping[str, Any]:
    if type(result) is not list:
        kind, value = _scalar(result)
        return {kind: value}
    if not result:
        return {"strings": []}
    first, _ = _scalar(result[0])
    values = []
    for index, item in enumerate(result):
        kind, value = _scalar(item)
        if kind != first:
            raise EvaluationError(
                f"expected list element at index {index} to be {first}, got {kind}"
            )
        values.append(value)
    return {_LISTS[first]: values}


def _scalar(result: Any) -> tuple[str, Any]:
    if type(result) is bool:
        return "bool", result
    if type(result) is int:
        return "int", result
    if type(result) is str:
        return "string", result
    if isinstance(result, Semver):
        return "version", str(result)
    raise EvaluationError(f"unsupported type {type_name(result)} for a derived attribute")
