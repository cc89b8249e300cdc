"""The keywords of OpenAPI v3 in CustomResourceDefinitions, and the values that each may have.

Also the walks over a schema that other modules share.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dragoman_base.words.spelling import closest
from dragoman_configs import fielderrors

TYPES = ("array", "boolean", "integer", "number", "object", "string")

OUTER_ONLY = frozenset({
    "type", "default", "title", "description", "nullable", "additionalProperties",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type",
    "x-kubernetes-map-type", "x-kubernetes-validations",
})  # fmt: skip
"""Keywords forbidden inside allOf, anyOf, oneOf and not."""

MAX_VALUES = 1000
"""Entries of one enum or required list."""

_REFUSED = frozenset({
    "$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id", "$schema",
})  # fmt: skip

KeywordError = tuple[str, str]
"""Reason and detail."""


def keyword_error(keyword: str, value: Any) -> KeywordError | None:
    """Check a keyword and its value; None when both are valid."""
    if keyword in _REFUSED:
        return fielderrors.FORBIDDEN, f"{keyword} is not supported"
    check = _CHECKS.get(keyword)
    if check is None:
        guess = closest(keyword, _CHECKS)
        hint = f"; did you mean {guess}?" if guess else ""
        return fielderrors.FORBIDDEN, f"unknown field{hint}"
    return check(value)


def children(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """List the sub-schemas of fields, items and map values, each with its relative path."""
    for name, child in (schema.get("properties") or {}).items():
        yield property_step(name), child
    if "items" in schema:
        yield ".items", schema["items"]
    if isinstance(schema.get("additionalProperties"), dict):
        yield ".additionalProperties", schema["additionalProperties"]


def property_step(name: str) -> str:
    """Write the path step to the schema of a property."""
    return f".properties[{fielderrors.clip(fielderrors.printable(name), 64)}]"


def map_children(
    schema: Mapping[str, Any], change: Callable[[Mapping[str, Any]], Any]
) -> dict[str, Any]:
    """Copy a schema and replace each sub-schema that `children` lists by `change` of it."""
    copy = dict(schema)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), Mapping):
            copy[word] = change(schema[word])
    if schema.get("properties"):
        copy["properties"] = {name: change(part) for name, part in schema["properties"].items()}
    return copy


def is_int_or_string(schema: Mapping[str, Any]) -> str | None:
    """Recognize the two forms in which CRDs repeat `x-kubernetes-int-or-string` as JSON Schema.

    Returns:
        `anyOf` or `allOf`, whichever holds the pair of types; None without it.
    """
    pair = [{"type": "integer"}, {"type": "string"}]
    if schema.get("anyOf") == pair:
        return "anyOf"
    first = (schema.get("allOf") or [None])[0]
    return "allOf" if first == {"anyOf": pair} else None


def _one_of(*allowed: str) -> Callable[[Any], KeywordError | None]:
    listed = ", ".join(f'"{word}"' for word in allowed)

    def check(value: Any) -> KeywordError | None:
        fits = isinstance(value, str) and value in allowed
        return None if fits else (fielderrors.NOT_SUPPORTED, f"supported values: {listed}")

    return check


def _must(what: str, fits: Callable[[Any], bool]) -> Callable[[Any], KeywordError | None]:
    return lambda value: None if fits(value) else (fielderrors.INVALID, f"must be {what}")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MAX_VALUES
        and all(isinstance(name, str) for name in value)
    )


_TEXT = _must("a string", lambda value: isinstance(value, str))
_FLAG = _must("true or false", lambda value: isinstance(value, bool))
_TRUE = _must("true or undefined", lambda value: value is True)
_COUNT = _must("a non-negative integer", lambda value: type(value) is int and 0 <= value < 2**63)
_NUMBER = _must("a number", _is_number)
_NAMES = _must(f"a list of at most {MAX_VALUES} strings", _is_names)
_SCHEMAS = _must("a list of schemas", lambda value: isinstance(value, list))
_OBJECT = _must("an object", lambda value: isinstance(value, dict))
_ENUM = _must(
    f"a list of 1 to {MAX_VALUES} values",
    lambda value: isinstance(value, list) and 1 <= len(value) <= MAX_VALUES,
)

_CHECKS: dict[str, Callable[[Any], KeywordError | None]] = {
    "type": _one_of(*TYPES),
    "format": _TEXT,
    "title": _TEXT,
    "description": _TEXT,
    "example": lambda _: None,
    "externalDocs": _OBJECT,
    "default": lambda _: None,
    "nullable": _FLAG,
    "enum": _ENUM,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _FLAG,
    "exclusiveMaximum": _FLAG,
    "multipleOf": _must("a number above 0", lambda value: _is_number(value) and value > 0),
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "pattern": _TEXT,
    "minItems": _COUNT,
    "maxItems": _COUNT,
    "uniqueItems": _must("unset, use x-kubernetes-list-type: set", lambda value: value is False),
    "items": _OBJECT,
    "minProperties": _COUNT,
    "maxProperties": _COUNT,
    "required": _NAMES,
    "properties": _OBJECT,
    "additionalProperties": _must(
        "a schema or a boolean", lambda value: isinstance(value, (dict, bool))
    ),
    "allOf": _SCHEMAS,
    "anyOf": _SCHEMAS,
    "oneOf": _SCHEMAS,
    "not": _OBJECT,
    "x-kubernetes-preserve-unknown-fields": _TRUE,
    "x-kubernetes-embedded-resource": _FLAG,
    "x-kubernetes-int-or-string": _FLAG,
    "x-kubernetes-list-type": _one_of("atomic", "set", "map"),
    "x-kubernetes-list-map-keys": _NAMES,
    "x-kubernetes-map-type": _one_of("atomic", "granular"),
    "x-kubernetes-validations": _must("a list of rules", lambda value: isinstance(value, list)),
}
