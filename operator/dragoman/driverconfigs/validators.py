"""Validators: translated schemas made ready for the `jsonschema` package, once for all values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from jsonschema.protocols import Validator
from jsonschema.validators import create

from dragoman.cel.budget import StepBudget
from dragoman.driverconfigs import fielderrors, formats, steps
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.jsonschema import JSONSchema
from dragoman.driverconfigs.keywords import ERROR_STEPS, KEYWORDS, Allowed, identity
from dragoman.driverconfigs.structural import pattern_of
from dragoman.driverconfigs.suggestions import Effort, nearest

_VISIT_STEPS: Final = 2

_CLASS: Final = create(meta_schema={}, validators=KEYWORDS, id_of=lambda _schema: "")

_REASONS: Final = {
    "type": fielderrors.TYPE_INVALID,
    "required": fielderrors.REQUIRED,
    "enum": fielderrors.NOT_SUPPORTED,
    "maxLength": fielderrors.TOO_LONG,
    "maxItems": fielderrors.TOO_MANY,
    "maxProperties": fielderrors.TOO_MANY,
    "x-unique": fielderrors.DUPLICATE,
}


def build(schema: JSONSchema) -> Validator:
    """Make a validator of a translated schema; whatever does not depend on values is prepared."""
    prepared = {word: _PREPARE.get(word, _as_is)(value) for word, value in schema.items()}
    # First in the dictionary, hence paid before any other keyword looks at the value.
    return _CLASS({"x-steps": _VISIT_STEPS + len(schema)} | prepared)


def faults(validator: Validator, value: Any) -> Iterator[Finding]:
    """Yield what the schema finds wrong with a value, with paths relative to it.

    Raises:
        StepBudgetExceeded: the budget in `steps.current` was used up.
    """
    budget, effort = steps.current.get(), Effort()
    for error in validator.iter_errors(value):
        budget.spend(ERROR_STEPS)
        keyword, detail = str(error.validator), error.message
        allowed = error.validator_value
        if isinstance(allowed, Allowed) and isinstance(error.instance, str):
            before = effort.steps
            detail += _guess(error.instance, allowed.values, effort)
            budget.spend(effort.steps - before)
        reason = _REASONS.get(keyword, fielderrors.INVALID)
        shown = fielderrors.NOTHING if reason == fielderrors.REQUIRED else error.instance
        yield fielderrors.finding(error.path, reason, detail, shown)


def _guess(value: str, allowed: list[Any], effort: Effort) -> str:
    names = [name for name in allowed if isinstance(name, str)]
    guess = nearest(value, names, effort=effort)
    return f'; did you mean "{guess}"?' if guess else ""


def _as_is(value: Any) -> Any:
    return value


def _prepare_format(name: str) -> tuple[str, Callable[[Any], bool]]:
    if name in formats.INTEGER_BOUNDS:
        bound = formats.INTEGER_BOUNDS[name]
        return name, lambda value: type(value) is not int or -bound <= value < bound
    check = formats.check_of(name)
    return name, lambda value: check is None or not isinstance(value, str) or check(value)


def _prepare_enum(values: list[Any]) -> Allowed:
    token = steps.current.set(StepBudget(steps.REVIEW_STEPS))
    try:
        identities = frozenset(map(identity, values))
    finally:
        steps.current.reset(token)
    shown = [fielderrors.shorten(value) for value in values[:20] if value is not None]
    return Allowed(values, identities, f"supported values: {', '.join(shown)}")


def _prepare_members(members: dict[str, JSONSchema]) -> dict[str, Validator]:
    return {name: build(child) for name, child in members.items()}


def _prepare_all(children: list[JSONSchema]) -> list[Validator]:
    return [build(child) for child in children]


_PREPARE: Final[dict[str, Callable[[Any], Any]]] = {
    "properties": _prepare_members,
    "additionalProperties": build,
    "items": build,
    "not": build,
    "allOf": _prepare_all,
    "anyOf": _prepare_all,
    "oneOf": _prepare_all,
    "enum": _prepare_enum,
    "format": _prepare_format,
    "pattern": lambda source: (pattern_of(source), source),
}
