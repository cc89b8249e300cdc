"""From a structural schema to JSON Schema: the same meaning in the words of `jsonschema`.

OpenAPI's dialect differs in a few words (`nullable`, boolean `exclusiveMinimum`, int-or-string),
and Kubernetes adds list types. What is not about validation (titles, defaults, rules) falls away:
unknown fields, nulls and defaults are settled before (`members`), rules run after (`rules`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dragoman.driverconfigs.openapi import is_int_or_string

JSONSchema = dict[str, Any]

_PLAIN: Final = (
    "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems",
    "minProperties", "maxProperties", "required",
)  # fmt: skip


def translate(schema: Mapping[str, Any]) -> JSONSchema:
    """Translate one schema and all below it; it must have passed the structural check."""
    translated = _type(schema) | _bounds(schema) | _format(schema)
    translated |= {word: schema[word] for word in _PLAIN if schema.get(word) not in (None, [], "")}
    if schema.get("enum"):
        translated["enum"] = schema["enum"]
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        keys = schema.get("x-kubernetes-list-map-keys") or []
        translated["x-unique"] = keys if schema["x-kubernetes-list-type"] == "map" else []
    return translated | _below(schema) | _narrowing(schema)


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
    # A format that does not belong to the type is ignored, as the API server does.
    numeric = schema.get("type") in ("integer", "number")
    name = schema.get("format") or ""
    known = name in ("int32", "int64") if numeric else bool(name)
    return {"format": name} if known else {}


def _below(schema: Mapping[str, Any]) -> JSONSchema:
    below: JSONSchema = {}
    members = {name: translate(child) for name, child in (schema.get("properties") or {}).items()}
    members = {name: child for name, child in members.items() if child}
    if members:
        below["properties"] = members
    if "items" in schema and (items := translate(schema["items"])):
        below["items"] = items
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and (values := translate(others)):
        below["additionalProperties"] = values
    return below


def _narrowing(schema: Mapping[str, Any]) -> JSONSchema:
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
