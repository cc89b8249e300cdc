"""The validation of a value: evaluate the rules of each level, collect errors, count the cost."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from dragoman_cel.budget import StepBudget
from dragoman_cel.data import Invalid
from dragoman_cel.environment import COST_LIMIT, Program
from dragoman_cel.errors import (
    CostLimitExceeded,
    EvaluationError,
    FieldError,
    FieldErrorType,
    StepBudgetExceeded,
)
from dragoman_cel.representation import NONE, Optional
from dragoman_cel.rules.conversion import Converter, Known
from dragoman_cel.rules.paths import child, element
from dragoman_cel.rules.rule import MESSAGE_BYTES, Rule
from dragoman_cel.types import Type

OBJECT_LIMIT = 10_000_000
"""CEL cost units that all rules of one object may spend."""

_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_MESSAGE_OUT_OF_BUDGET = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation "
    "rules will be run"
)
_SCALARS = (bool, int, float, str)


@dataclass(frozen=True, slots=True)
class Level:
    """The rules of one schema node and of the nodes below it."""

    rules: tuple[Rule, ...]  # Its own rules, in order
    convert: Converter  # Converts data to a CEL value
    items: Level | None  # Rules of the elements of a list
    values: Level | None  # Rules of the values of a map
    properties: Mapping[str, Level]  # Rules of the properties of an object
    alternatives: tuple[Level, ...]  # Rules of the parts of `allOf`
    # Fields that pair the elements of a list with the old ones; empty for none
    list_map_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a validation."""

    errors: list[FieldError]  # One for each rule that failed, in the order of evaluation
    cost: int  # CEL cost units spent


class _Stop(Exception):  # noqa: N818 — ends a validation whose errors are complete
    """Ends the validation: no further rules run."""


class Validation:
    """One validation of one object.

    Attributes:
        errors: Errors found so far.
        remaining: CEL cost units left for this object.
    """

    def __init__(self, variables: tuple[Any, ...], budget: StepBudget | None) -> None:
        self.errors: list[FieldError] = []
        self.remaining = OBJECT_LIMIT
        self._variables = variables
        self._budget = budget
        self._known: Known = {}

    def run(self, level: Level, path: str, value: Any, old: Any) -> None:
        """Evaluate the rules of a level and of all levels below it."""
        with suppress(_Stop):
            self._walk(level, path, value, old)

    def _walk(self, level: Level, path: str, value: Any, old: Any) -> None:
        # Rules of a null value do not run; a rule of its parent must check for null.
        if value is None:
            return
        if level.rules:
            self._evaluate(level, path, value, old)
        for part in level.alternatives:
            self._walk(part, path, value, old)
        if isinstance(value, list):
            self._walk_list(level, path, value, old if isinstance(old, list) else [])
        elif isinstance(value, dict):
            self._walk_map(level, path, value, old if isinstance(old, dict) else {})

    def _walk_list(self, level: Level, path: str, value: list[Any], old: list[Any]) -> None:
        if level.items is None:
            return
        old_items = _by_key(old, level.list_map_keys)
        for index, item in enumerate(value):
            before = old_items.get(_key(item, level.list_map_keys))
            self._walk(level.items, element(path, index), item, before)

    def _walk_map(
        self, level: Level, path: str, value: dict[str, Any], old: dict[str, Any]
    ) -> None:
        for key, item in value.items():
            if level.values is not None:
                self._walk(level.values, element(path, key), item, old.get(key))
            part = level.properties.get(key)
            if part is not None:
                self._walk(part, child(path, key), item, old.get(key))

    # Rules ----------------------------------------------------------------------------------

    def _evaluate(self, level: Level, path: str, value: Any, old: Any) -> None:
        if self.remaining <= 0:
            self._stop(path, _OUT_OF_BUDGET)
        current = level.convert(value, self._known)
        before = level.convert(old, self._known) if old is not None else None
        if not any(rule.transition for rule in level.rules):
            # The API server sets oldSelf for a messageExpression only if the rule reads it.
            before = _NO_OLD_SELF
        for rule in level.rules:
            if rule.error:
                self._report(path, f"rule compile error: {rule.error}")
            elif rule.program is not None:
                self._apply(rule, path, (current, before, old))

    def _apply(self, rule: Rule, path: str, values: tuple[Any, Any, Any]) -> None:
        current, before, old = values
        assert rule.program is not None
        if rule.transition and old is None and not rule.optional_old_self:
            return
        data = (current, _old_self(rule, before, old), *self._variables)
        try:
            result, cost = self._run(rule.program, data)
        except StepBudgetExceeded:
            raise
        except CostLimitExceeded as error:
            self._pay(error.cost, path, _OUT_OF_BUDGET)
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._stop(path, f"'{_LIMIT}': {why}: {rule.name}")
        except EvaluationError as error:
            self._pay(error.cost, path, _OUT_OF_BUDGET)
            self._report(path, _failure(error.message, rule))
            return
        self._pay(cost, path, _OUT_OF_BUDGET)
        if result is not True:
            at = child(path, rule.field_path) if rule.field_path else path
            # Only the rule has an optional `oldSelf`: its messageExpression reads the plain one.
            plain = before if old is not None else _NO_OLD_SELF
            detail = self._message(rule, at, (current, plain, *self._variables))
            duplicate = rule.reason == FieldErrorType.DUPLICATE
            self.errors.append(FieldError(rule.reason, at, "" if duplicate else detail))

    def _run(self, program: Program, data: tuple[Any, ...]) -> tuple[Any, int]:
        try:
            return program.evaluate(data, budget=self._budget)
        except StepBudgetExceeded as error:
            # An exhausted shared budget ends the review; an evaluation out of steps fails its rule.
            if self._budget is not None and self._budget.remaining <= 0:
                raise
            stopped = CostLimitExceeded()
            stopped.cost = min(error.cost, COST_LIMIT + 1)
            raise stopped from None

    def _message(self, rule: Rule, path: str, data: tuple[Any, ...]) -> str:
        if rule.message_program is None:
            return rule.fixed_message
        try:
            text, cost = self._run(rule.message_program, data)
        except StepBudgetExceeded:
            raise
        except CostLimitExceeded as error:
            self._pay(error.cost, path, _MESSAGE_OUT_OF_BUDGET)
            why = "due to call cost exceeds limit for messageExpression"
            name = rule.message_program.expression
            self._stop(path, f'no further validation rules will be run {why}: "{name}"')
        except EvaluationError as error:
            self._pay(error.cost, path, _MESSAGE_OUT_OF_BUDGET)
            return rule.fixed_message
        self._pay(cost, path, _MESSAGE_OUT_OF_BUDGET)
        text = _text(text).strip()
        fits = 0 < len(text.encode(errors="replace")) <= MESSAGE_BYTES and "\n" not in text
        return text if fits else rule.fixed_message

    # Results --------------------------------------------------------------------------------

    def _report(self, path: str, detail: str) -> None:
        self.errors.append(FieldError(FieldErrorType.INVALID, path, detail))

    def _pay(self, cost: int, path: str, problem: str) -> None:
        if cost > self.remaining:
            self._stop(path, problem)
        self.remaining -= cost

    def _stop(self, path: str, detail: str) -> NoReturn:
        self._report(path, detail)
        self.remaining = min(self.remaining, 0)
        raise _Stop


_LIMIT = CostLimitExceeded().message
_UNREADABLE = "unsupported conversion to ref.Val: (*errors.errorString)"
_NO_OLD_SELF = Invalid("no such attribute(s): oldSelf")


def _old_self(rule: Rule, before: Any, old: Any) -> Any:
    """Return the values of `oldSelf` for a rule and its messageExpression."""
    if before is _NO_OLD_SELF:
        return before
    if rule.optional_old_self:
        # cel-go unwraps an optional variable to the plain data, without the schema: names
        # are not escaped there, and formats and numbers are what JSON makes of them.
        if type(before) is Invalid:
            return Invalid(f"{_UNREADABLE}{before.error}")
        return Optional(old) if old is not None else NONE
    return before


def _text(value: Any) -> str:
    """Return the text of a message, "" for an unusable result."""
    while type(value) is Optional:
        value = value.value
    if type(value) is Type:
        return value.name
    return value if type(value) is str else ""


def _failure(message: str, rule: Rule) -> str:
    if message.startswith("no such overload"):
        why = "call arguments did not match a supported operator, function or macro signature"
        return f"'{message}': {why} for rule: {rule.name}"
    return f"{message} evaluating rule: {rule.name}"


def _by_key(items: list[Any], names: tuple[str, ...]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for item in items if names else ():
        key = _key(item, names)
        if key is not None:
            found.setdefault(key, item)
    return found


def _key(item: Any, names: tuple[str, ...]) -> Any:
    """Return the key that pairs an element with its old self, None without one."""
    if not names or not isinstance(item, dict):
        return None
    values = [item.get(name) for name in names]
    if not all(isinstance(value, _SCALARS) for value in values):
        return None
    return tuple((type(value), value) for value in values)
