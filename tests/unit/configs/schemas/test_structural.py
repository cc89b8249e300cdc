"""Schemas are refused for what the API server would refuse in a CustomResourceDefinition."""

from typing import Any

import pytest

from dragoman_configs.schemas.structural import (
    MAX_ERRORS,
    MAX_NODES,
    MAX_SCHEMA_DEPTH,
    validate_structural,
)


def within(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


STRING = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object"}, id="an object without fields"),
        pytest.param(
            within({"type": "string", "anyOf": [{"pattern": "^a"}, {"enum": ["b"]}]}),
            id="alternatives that narrow",
        ),
        pytest.param(within({"x-kubernetes-int-or-string": True}), id="int or string"),
        pytest.param(
            within(
                {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^1",
                }
            ),
            id="int or string as controller-gen writes it",
        ),
        pytest.param(
            within(
                {
                    "x-kubernetes-int-or-string": True,
                    "allOf": [
                        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                        {"pattern": "^1"},
                    ],
                }
            ),
            id="int or string with more to say",
        ),
        pytest.param(within({"x-kubernetes-preserve-unknown-fields": True}), id="anything"),
        pytest.param(within({"type": "object", "additionalProperties": STRING}), id="a map"),
        pytest.param(
            within({"type": "object", "additionalProperties": True, "properties": {"b": STRING}}),
            id="a useless word",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"a": STRING},
                "oneOf": [{"required": ["a"]}, {"properties": {"a": {"enum": ["x"]}}}],
            },
            id="alternatives about declared fields",
        ),
        pytest.param(
            within(
                {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "required": ["k"], "properties": {"k": STRING}},
                }
            ),
            id="a list that is a map",
        ),
    ],
)
def test_a_structural_schema_is_accepted(schema: dict[str, Any]) -> None:
    outcome = validate_structural(schema)
    assert [str(error) for error in outcome.errors] == []
    assert outcome.warnings == ()


@pytest.mark.parametrize(
    ("schema", "path", "words"),
    [
        pytest.param("x", "", "must be an object", id="no schema at all"),
        pytest.param({}, ".type", "must not be empty", id="no type at the root"),
        pytest.param(
            {"type": "array", "items": STRING},
            ".type",
            "must be object at the root",
            id="an array at the root",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRING},
            ".additionalProperties",
            "must not be used at the root",
            id="a map at the root",
        ),
        pytest.param(
            {"type": "object", "nullable": True}, ".nullable", "at the root", id="null at the root"
        ),
        pytest.param(
            within({}), ".properties[a].type", "must not be empty", id="a field without a type"
        ),
        pytest.param(
            within({"type": "int"}), ".properties[a].type", '"integer"', id="an unknown type"
        ),
        pytest.param(
            within(
                {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "properties": {"k": STRING},
                        "required": 5,
                    },
                }
            ),
            ".properties[a].items.required",
            "must be a list",
            id="a number as required fields of a map's items",
        ),
        pytest.param(
            within({"type": "array"}),
            ".properties[a].items",
            "must be specified",
            id="an array without items",
        ),
        pytest.param(
            within({"type": "object", "additionalProperties": False, "properties": {"b": STRING}}),
            ".properties[a].additionalProperties",
            "mutually exclusive",
            id="additionalProperties: false beside properties",
        ),
        pytest.param(
            within({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            ".properties[a].type",
            "must not be empty",
            id="types inside anyOf",
        ),
        pytest.param(
            within({"type": "string", "anyOf": [{"type": "string"}]}),
            ".properties[a].anyOf[0].type",
            "must not be set",
            id="a type inside anyOf",
        ),
        pytest.param(
            within({"type": "string", "not": {"default": "x"}}),
            ".properties[a].not.default",
            "must not be set",
            id="a default inside not",
        ),
        pytest.param(
            within({"type": "object", "allOf": [{"properties": {"b": {"enum": ["x"]}}}]}),
            ".properties[a].allOf[0].properties[b]",
            "must also be declared",
            id="a field that only allOf knows",
        ),
        pytest.param(
            within({"$ref": "#/definitions/x"}),
            ".properties[a].$ref",
            "not supported",
            id="a reference",
        ),
        pytest.param(
            within({"type": "object", "patternProperties": {"^a": STRING}}),
            ".properties[a].patternProperties",
            "not supported",
            id="patternProperties",
        ),
        pytest.param(
            within({"type": "array", "items": [STRING]}),
            ".properties[a].items",
            "must be an object",
            id="a tuple",
        ),
        pytest.param(
            within({"type": "array", "items": STRING, "uniqueItems": True}),
            ".properties[a].uniqueItems",
            "list-type: set",
            id="uniqueItems",
        ),
        pytest.param(
            within({"type": "string", "if": {}}), ".properties[a].if", "unknown field", id="if"
        ),
        pytest.param(
            within({"type": "string", "maxLenght": 3}),
            ".properties[a].maxLenght",
            "did you mean maxLength?",
            id="a mistyped word",
        ),
        pytest.param(
            within({"type": "string", "pattern": "(?=a)"}),
            ".properties[a].pattern",
            "RE2",
            id="a pattern with look-ahead",
        ),
        pytest.param(
            within({"type": "string", "pattern": "(a{1000}){1000}"}),
            ".properties[a].pattern",
            "RE2",
            id="a pattern that explodes",
        ),
        pytest.param(
            within({"type": "string", "pattern": 1}),
            ".properties[a].pattern",
            "must be a string",
            id="a pattern that is a number",
        ),
        pytest.param(
            within({"type": "string", "enum": []}),
            ".properties[a].enum",
            "1 to 1000",
            id="an empty enum",
        ),
        pytest.param(
            within({"type": "integer", "multipleOf": 0}),
            ".properties[a].multipleOf",
            "above 0",
            id="multiples of nothing",
        ),
        pytest.param(
            within({"type": "integer", "minimum": True}),
            ".properties[a].minimum",
            "must be a number",
            id="a minimum that is true",
        ),
        pytest.param(
            within({"type": "integer", "exclusiveMinimum": 1}),
            ".properties[a].exclusiveMinimum",
            "true or false",
            id="a later draft's exclusiveMinimum",
        ),
        pytest.param(
            within({"type": "string", "x-kubernetes-preserve-unknown-fields": False}),
            ".properties[a].x-kubernetes-preserve-unknown-fields",
            "true or undefined",
            id="preserve-unknown-fields: false",
        ),
        pytest.param(
            within({"type": "string", "x-kubernetes-list-type": "set"}),
            ".properties[a].type",
            "must be array",
            id="a list type on a string",
        ),
        pytest.param(
            within({"type": "array", "items": STRING, "x-kubernetes-list-type": "map"}),
            ".properties[a].x-kubernetes-list-map-keys",
            "must not be empty",
            id="a map list without keys",
        ),
        pytest.param(
            within(
                {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "properties": {"k": STRING}},
                }
            ),
            ".properties[a].items.properties[k].default",
            "required or have a default",
            id="an optional map key",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": "string"}},
            ".properties[a]",
            "must be a schema",
            id="a field that is no schema",
        ),
    ],
)
def test_what_is_not_structural_is_refused_with_its_path(
    schema: Any, path: str, words: str
) -> None:
    found = {error.path: error.detail for error in validate_structural(schema).errors}
    assert words in found[path]


def test_an_unknown_format_is_ignored_with_a_warning() -> None:
    outcome = validate_structural(within({"type": "string", "format": "ipaddress"}))
    assert outcome.errors == ()
    assert [str(warning) for warning in outcome.warnings] == [
        '.properties[a].format: Unsupported value: "ipaddress": unrecognized format, ignored'
    ]


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels - 1):
        schema = within(schema)
    return schema


def test_depth_and_size_of_schemas_are_limited_at_their_edges() -> None:
    wide = {"type": "object", "properties": {f"p{i}": STRING for i in range(MAX_NODES - 1)}}
    assert validate_structural(wide).errors == ()
    assert validate_structural(nested(MAX_SCHEMA_DEPTH)).errors == ()
    wide["properties"]["one too many"] = STRING  # type: ignore[index]
    for schema in (wide, nested(MAX_SCHEMA_DEPTH + 1)):
        assert [error.reason for error in validate_structural(schema).errors] == [
            "FieldValueTooMany"
        ]


def test_large_patterns_are_refused_together_and_early() -> None:
    large = {"type": "string", "pattern": "[a-z]{900}"}
    assert validate_structural(within(large)).errors == ()
    many = {"type": "object", "properties": {f"p{i}": large for i in range(100)}}
    assert {error.reason for error in validate_structural(many).errors} == {"FieldValueTooLong"}
    wrong = {"type": "string", "pattern": "("}
    many = {"type": "object", "properties": {f"p{i}": wrong for i in range(1000)}}
    assert len(validate_structural(many).errors) == MAX_ERRORS
