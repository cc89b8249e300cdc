"""The keywords of JSON Schema, with a cost each.

They are dragoman's own for three reasons: every step is spent from the review's budget before it
runs (a legal schema can keep the stock keywords of a library busy for minutes), patterns run on
RE2, and integers are literal. `jsonschema.build_validator` prepares their values: sub-schemas are
validators, patterns are compiled, enums are sets.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from typing import Any

from dragoman_cel import budget as steps
from dragoman_configs import fielderrors
from dragoman_configs.schemas.validator import Errors, Keyword, KeywordError, Validator

# Costs in steps, as measured: a step is half a microsecond at most.
_ALTERNATIVE_STEPS = 12  # a failing one makes an error that is never shown
ERROR_STEPS = 8
"""Cost of an error that is shown."""

_FORMAT_STEPS = 6
_PATTERN_STEPS = 4
_PATTERN_WORK = 100  # bytes of text times instructions of the pattern that RE2 does in one
_ALTERNATIVES_SHOWN = 3

_IS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int and -(2**63) <= value < 2**63,
    "number": lambda value: type(value) in (int, float),
    "null": lambda value: value is None,
}

_ARTICLES = {"object": "an object", "array": "an array", "integer": "an integer"}


def _spend(cost: int, _instance: Any) -> Errors:
    steps.current.get().spend(cost)
    return None


def _type(types: list[str], instance: Any) -> Errors:
    for name in types:
        if _IS[name](instance):
            return None
    wanted = " or ".join(_ARTICLES.get(name, f"a {name}") for name in types if name != "null")
    if "integer" in types and isinstance(instance, float) and instance.is_integer():
        wanted = "a literal integer of 64 bits, without fraction or exponent"
    return [KeywordError(f"must be {wanted}")]


def _bounded(words: str, wrong: Callable[[float, float], bool]) -> Keyword:
    """Make a keyword that compares a number with a bound by `wrong(number, bound)`."""

    def keyword(bound: float, instance: Any) -> Errors:
        if type(instance) in (int, float) and wrong(instance, bound):
            return [KeywordError(f"must be {words} {bound}")]
        return None

    return keyword


def _sized(kind: type[Sized], *, most: bool, words: str) -> Keyword:
    """Make a keyword that limits the size of one type's values, from above or from below."""
    article = "most" if most else "least"

    def keyword(limit: int, instance: Any) -> Errors:
        if isinstance(instance, kind) and (
            len(instance) > limit if most else len(instance) < limit
        ):
            return [KeywordError(f"must have at {article} {limit} {words}")]
        return None

    return keyword


def _multiple_of(factor: float, instance: Any) -> Errors:
    if type(instance) not in (int, float):
        return None
    both_integers = isinstance(instance, int) and isinstance(factor, int)
    wrong = bool(instance % factor) if both_integers else not float(instance / factor).is_integer()
    return [KeywordError(f"must be a multiple of {factor}")] if wrong else None


def _required(names: list[str], instance: Any) -> Iterator[KeywordError]:
    if not isinstance(instance, dict):
        return
    budget = steps.current.get()
    budget.spend(len(names) // 10)
    for name in names:
        if name not in instance:
            budget.spend(ERROR_STEPS)
            yield KeywordError("", deque((name,)))


def _pattern(pattern: tuple[Any, str], instance: Any) -> Errors:
    if not isinstance(instance, str):
        return None
    compiled, source = pattern
    text = instance.encode("utf-8", "replace")
    work = len(text) * compiled.programsize // _PATTERN_WORK
    steps.current.get().spend(_PATTERN_STEPS + work)
    return None if compiled.search(text) else [KeywordError(f"must match {source}")]


def _format(check: tuple[str, Callable[[Any], bool]], instance: Any) -> Errors:
    name, fits = check
    if isinstance(instance, str):
        steps.current.get().spend(_FORMAT_STEPS + len(instance) // 20)
    return None if fits(instance) else [KeywordError(f"must be of format {name}")]


@dataclass(frozen=True, slots=True)
class Enum:
    """The values of an enum."""

    values: list[Any]  # In the schema's order
    identities: frozenset[Any]  # The same for look-ups
    words: str  # The error's detail for other values


def _enum(allowed: Enum, instance: Any) -> Errors:
    if identity(instance) in allowed.identities:
        return None
    return [KeywordError(allowed.words)]


def identity(value: Any) -> Any:
    """Make a hashable key, equal for equal JSON values: 1 equals 1.0, but not true.

    Raises:
        StepBudgetExceeded: Writing out an object or array cost too much.
    """
    if isinstance(value, (dict, list)):
        # It may hold numbers out of range, which have an error at their own place.
        written = json.dumps(value, sort_keys=True, default=str)
        steps.current.get().spend(_FORMAT_STEPS + len(written) // 20)
        return written
    return (isinstance(value, bool), value)


def _unique(keys: list[str], instance: Any) -> Errors:
    if not isinstance(instance, list):
        return None
    budget = steps.current.get()
    seen: set[Any] = set()
    errors = []
    for index, item in enumerate(instance):
        budget.spend(2)
        if keys and not isinstance(item, dict):
            continue
        same = identity([item.get(key) for key in keys] if keys else item)
        if same in seen:
            errors.append(KeywordError("", deque((index,)), item))
        seen.add(same)
    return errors


def _properties(named: dict[str, Validator], instance: Any) -> Iterator[KeywordError]:
    if not isinstance(instance, dict):
        return
    for name, value in instance.items():
        child = named.get(name)
        if child is not None:
            for error in child.iter_errors(value):
                yield error.at(name)


def _each_value(child: Validator, instance: Any) -> Iterator[KeywordError]:
    if not isinstance(instance, dict):
        return
    for name, value in instance.items():
        for error in child.iter_errors(value):
            yield error.at(name)


def _items(child: Validator, instance: Any) -> Iterator[KeywordError]:
    if not isinstance(instance, list):
        return
    for index, value in enumerate(instance):
        for error in child.iter_errors(value):
            yield error.at(index)


def _all_of(children: list[Validator], instance: Any) -> Iterator[KeywordError]:
    for child in children:
        yield from child.iter_errors(instance)


def _any_of(children: list[Validator], instance: Any) -> Errors:
    budget = steps.current.get()
    details = []
    for child in children:
        budget.spend(_ALTERNATIVE_STEPS)
        error = next(child.iter_errors(instance), None)
        if error is None:
            return None
        details.append(_brief(error))
    shown = list(dict.fromkeys(details))[:_ALTERNATIVES_SHOWN]
    return [KeywordError(" or ".join(shown))]


def _one_of(children: list[Validator], instance: Any) -> Errors:
    steps.current.get().spend(_ALTERNATIVE_STEPS * len(children))
    fitting = sum(next(child.iter_errors(instance), None) is None for child in children)
    if fitting == 1:
        return None
    return [KeywordError(f"must validate exactly one schema (oneOf), validates {fitting}")]


def _not(child: Validator, instance: Any) -> Errors:
    steps.current.get().spend(_ALTERNATIVE_STEPS)
    if next(child.iter_errors(instance), None) is not None:
        return None
    return [KeywordError("must not validate the schema (not)")]


def _brief(error: KeywordError) -> str:
    place = fielderrors.render(error.path).lstrip(".")
    return f"{place or ''} {error.message or 'is required'}".strip()


KEYWORDS: dict[str, Keyword] = {
    "x-steps": _spend,
    "type": _type,
    "minimum": _bounded("greater than or equal to", lambda value, bound: value < bound),
    "maximum": _bounded("less than or equal to", lambda value, bound: value > bound),
    "exclusiveMinimum": _bounded("greater than", lambda value, bound: value <= bound),
    "exclusiveMaximum": _bounded("less than", lambda value, bound: value >= bound),
    "multipleOf": _multiple_of,
    "minLength": _sized(str, most=False, words="characters"),
    "maxLength": _sized(str, most=True, words="characters"),
    "minItems": _sized(list, most=False, words="items"),
    "maxItems": _sized(list, most=True, words="items"),
    "minProperties": _sized(dict, most=False, words="fields"),
    "maxProperties": _sized(dict, most=True, words="fields"),
    "required": _required,
    "pattern": _pattern,
    "format": _format,
    "enum": _enum,
    "x-unique": _unique,
    "properties": _properties,
    "additionalProperties": _each_value,
    "items": _items,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
}
"""Keywords by name; `x-steps` and `x-unique` are dragoman's own."""
