"""The keywords of OpenAPI in CRDs, and the walks over a schema."""

from typing import Any

import pytest

from dragoman_configs.fielderrors import FORBIDDEN, INVALID, NOT_SUPPORTED
from dragoman_configs.schemas import openapi


@pytest.mark.parametrize(
    ("keyword", "value", "reason", "words"),
    [
        ("$ref", "#/definitions/a", FORBIDDEN, "$ref is not supported"),
        ("maxLenght", 3, FORBIDDEN, "unknown field; did you mean maxLength?"),
        ("whatever", 3, FORBIDDEN, "unknown field"),
        ("type", "null", NOT_SUPPORTED, '"array", "boolean"'),
        ("maxItems", -1, INVALID, "must be a non-negative integer"),
        ("maxItems", True, INVALID, "must be a non-negative integer"),
        ("enum", [], INVALID, "a list of 1 to 1000 values"),
        ("required", ["a", 1], INVALID, "a list of at most 1000 strings"),
    ],
)
def test_an_invalid_keyword_is_explained(keyword: str, value: Any, reason: str, words: str) -> None:
    error = openapi.keyword_error(keyword, value)
    assert error
    assert error[0] == reason
    assert words in error[1]


@pytest.mark.parametrize(
    ("keyword", "value"), [("type", "object"), ("nullable", True), ("example", object())]
)
def test_a_valid_keyword_is_accepted(keyword: str, value: Any) -> None:
    assert openapi.keyword_error(keyword, value) is None


SCHEMA = {
    "properties": {"a": {"type": "string"}, "b\n": {"type": "integer"}},
    "items": {"type": "boolean"},
    "additionalProperties": {"type": "number"},
}


def test_sub_schemas_are_listed_with_paths_that_can_be_shown() -> None:
    assert dict(openapi.children(SCHEMA)) == {
        ".properties[a]": {"type": "string"},
        ".properties[b\\n]": {"type": "integer"},
        ".items": {"type": "boolean"},
        ".additionalProperties": {"type": "number"},
    }
    assert list(openapi.children({"additionalProperties": True})) == []


def test_sub_schemas_are_replaced_in_a_copy() -> None:
    changed = openapi.map_children(SCHEMA, lambda child: child["type"])
    assert changed == {
        "properties": {"a": "string", "b\n": "integer"},
        "items": "boolean",
        "additionalProperties": "number",
    }
    assert SCHEMA["items"] == {"type": "boolean"}


PAIR = [{"type": "integer"}, {"type": "string"}]


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"anyOf": PAIR}, "anyOf"),
        ({"allOf": [{"anyOf": PAIR}, {"pattern": "a"}]}, "allOf"),
        ({"anyOf": PAIR[::-1]}, None),
        ({"allOf": []}, None),
        ({}, None),
    ],
)
def test_both_forms_of_int_or_string_are_recognized(
    schema: dict[str, Any], keyword: str | None
) -> None:
    assert openapi.is_int_or_string(schema) == keyword
