"""Validation of values: a structural schema becomes a validator.

`translate` writes OpenAPI's dialect (`nullable`, boolean `exclusiveMinimum`, int-or-string, list
types) in JSON Schema's keywords. Pruning and defaulting come before, CEL rules after, so titles,
defaults and rules are left out. `build_validator` prepares what does not depend on values.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dragoman_base.words.spelling import SuggestionBudget, closest
from dragoman_cel import budget as steps
from dragoman_cel.budget import StepBudget
from dragoman_configs import fielderrors
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.schemas import formats
from dragoman_configs.schemas.keywords import ERROR_STEPS, KEYWORDS, Enum, identity
from dragoman_configs.schemas.openapi import is_int_or_string
from dragoman_configs.schemas.patterns import PatternCompiler
from dragoman_configs.schemas.validator import Validator

JSONSchema = dict[str, Any]

_UNCHANGED = (
    "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems",
    "minProperties", "maxProperties", "required",
)  # fmt: skip

_VISIT_STEPS = 2

_REASONS = {
    "type": fielderrors.TYPE_INVALID,
    "required": fielderrors.REQUIRED,
    "enum": fielderrors.NOT_SUPPORTED,
    "maxLength": fielderrors.TOO_LONG,
    "maxItems": fielderrors.TOO_MANY,
    "maxProperties": fielderrors.TOO_MANY,
    "x-unique": fielderrors.DUPLICATE,
}


def translate(schema: Mapping[str, Any]) -> JSONSchema:
    """Translate a schema that passed the structural check, and all its sub-schemas."""
    translated = _type(schema) | _bounds(schema) | _format(schema)
    translated |= {
        word: schema[word] for word in _UNCHANGED if schema.get(word) not in (None, [], "")
    }
    if schema.get("enum"):
        translated["enum"] = schema["enum"]
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        keys = schema.get("x-kubernetes-list-map-keys") or []
        translated["x-unique"] = keys if schema["x-kubernetes-list-type"] == "map" else []
    return translated | _children(schema) | _value_validations(schema)


def build_validator(schema: JSONSchema, patterns: PatternCompiler | None = None) -> Validator:
    """Make a validator of a translated schema.

    Args:
        schema: The schema, whose patterns are valid.
        patterns: Where they were compiled before.
    """
    patterns = patterns or PatternCompiler()

    def build(one: JSONSchema) -> Validator:
        prepared = {
            word: prepare[word](value) if word in prepare else value for word, value in one.items()
        }
        # First in the dictionary, so that its steps are spent before any other keyword runs.
        return Validator({"x-steps": _VISIT_STEPS + len(one)} | prepared, KEYWORDS)

    prepare: dict[str, Callable[[Any], Any]] = {
        "properties": lambda named: {name: build(child) for name, child in named.items()},
        **dict.fromkeys(("additionalProperties", "items", "not"), build),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), lambda schemas: list(map(build, schemas))),
        "enum": _prepare_enum,
        "format": _prepare_format,
        "pattern": lambda source: (patterns.compile(source), source),
    }
    return build(schema)


def field_errors(validator: Validator, value: Any) -> Iterator[ConfigFieldError]:
    """Yield the errors of a value, with paths relative to it.

    Raises:
        StepBudgetExceeded: The budget in `cel.budget.current` was used up.
    """
    budget, suggesting = steps.current.get(), SuggestionBudget()
    for error in validator.iter_errors(value):
        budget.spend(ERROR_STEPS)
        keyword, detail = error.keyword, error.message
        allowed = error.expected
        known: list[str] = []
        if isinstance(allowed, Enum) and isinstance(error.instance, str):
            before = suggesting.steps
            known = [name for name in allowed.values if isinstance(name, str)]
            detail += _suggestion(error.instance, known, suggesting)
            budget.spend(suggesting.steps - before)
        reason = _REASONS.get(keyword, fielderrors.INVALID)
        shown = fielderrors.OMIT_VALUE if reason == fielderrors.REQUIRED else error.instance
        yield fielderrors.field_error(error.path, reason, detail, shown, known)


def _suggestion(value: str, known: list[str], budget: SuggestionBudget) -> str:
    guess = closest(value, known, budget=budget)
    return f'; did you mean "{guess}"?' if guess else ""


def _type(schema: Mapping[str, Any]) -> JSONSchema:
    types = [schema["type"]] if schema.get("type") else []
    if schema.get("x-kubernetes-int-or-string") and not types:
        types = ["integer", "string"]
    if types and schema.get("nullable"):
        types.append("null")
    return {"type": types} if types else {}


def _bounds(schema: Mapping[str, Any]) -> JSONSchema:
    bounds = {}
    for word, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if word in schema:
            bounds[exclusive if schema.get(exclusive) else word] = schema[word]
    return bounds


def _format(schema: Mapping[str, Any]) -> JSONSchema:
    # The API server ignores a format that does not belong to the type.
    numeric = schema.get("type") in ("integer", "number")
    name = schema.get("format") or ""
    known = name in ("int32", "int64") if numeric else bool(name)
    return {"format": name} if known else {}


def _children(schema: Mapping[str, Any]) -> JSONSchema:
    below: JSONSchema = {}
    named = {name: translate(child) for name, child in (schema.get("properties") or {}).items()}
    named = {name: child for name, child in named.items() if child}
    if named:
        below["properties"] = named
    if "items" in schema and (items := translate(schema["items"])):
        below["items"] = items
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and (values := translate(others)):
        below["additionalProperties"] = values
    return below


def _value_validations(schema: Mapping[str, Any]) -> JSONSchema:
    idiom = is_int_or_string(schema) if schema.get("x-kubernetes-int-or-string") else None
    narrowing: JSONSchema = {}
    for word in ("allOf", "anyOf", "oneOf"):
        alternatives = schema.get(word) or []
        if idiom == word:
            alternatives = [] if word == "anyOf" else alternatives[1:]
        if alternatives:
            narrowing[word] = [translate(child) for child in alternatives]
    if "not" in schema:
        narrowing["not"] = translate(schema["not"])
    return narrowing


def _prepare_format(name: str) -> tuple[str, Callable[[Any], bool]]:
    if name in formats.INTEGER_BOUNDS:
        bound = formats.INTEGER_BOUNDS[name]
        return name, lambda value: type(value) is not int or -bound <= value < bound
    check = formats.check_of(name)
    return name, lambda value: check is None or not isinstance(value, str) or check(value)


def _prepare_enum(values: list[Any]) -> Enum:
    token = steps.current.set(StepBudget(steps.REVIEW_STEPS))
    try:
        identities = frozenset(map(identity, values))
    finally:
        steps.current.reset(token)
    shown = [fielderrors.shorten(value) for value in values[:20] if value is not None]
    return Enum(values, identities, f"supported values: {', '.join(shown)}")
