"""Structural schemas become validators: OpenAPI's dialect in JSON Schema's keywords."""

from typing import Any

import pytest

from dragoman_cel import budget
from dragoman_cel.budget import StepBudget
from dragoman_cel.errors import StepBudgetExceeded
from dragoman_configs.schemas.jsonschema import build_validator, field_errors, translate

PAIR = [{"type": "integer"}, {"type": "string"}]


@pytest.mark.parametrize(
    ("schema", "translated"),
    [
        ({"type": "string", "title": "x", "default": "y"}, {"type": ["string"]}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"x-kubernetes-int-or-string": True}, {"type": ["integer", "string"]}),
        (
            {"x-kubernetes-int-or-string": True, "anyOf": PAIR},
            {"type": ["integer", "string"]},
        ),
        (
            {
                "x-kubernetes-int-or-string": True,
                "allOf": [{"anyOf": PAIR}, {"pattern": "^a"}],
            },
            {"type": ["integer", "string"], "allOf": [{"pattern": "^a"}]},
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 3},
            {"type": ["integer"], "exclusiveMinimum": 1, "maximum": 3},
        ),
        ({"type": "integer", "format": "ipv4"}, {"type": ["integer"]}),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            {"type": ["array"], "items": {"type": ["string"]}, "x-unique": []},
        ),
        (
            {"type": "object", "properties": {"free": {"description": "anything"}}},
            {"type": ["object"]},
        ),
    ],
)
def test_a_schema_is_translated(schema: dict[str, Any], translated: dict[str, Any]) -> None:
    assert translate(schema) == translated


def errors(schema: dict[str, Any], value: Any, steps: int = 10_000) -> list[str]:
    token = budget.current.set(StepBudget(steps))
    try:
        return [str(error) for error in field_errors(build_validator(translate(schema)), value)]
    finally:
        budget.current.reset(token)


def test_paths_are_relative_and_a_misspelled_enum_value_gets_a_suggestion() -> None:
    schema = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"type": "string", "enum": ["Mono"]}}},
    }
    assert errors(schema, {"list": ["Mono", "Mnoo"]}) == [
        '.list[1]: Unsupported value: "Mnoo": supported values: "Mono"; did you mean "Mono"?'
    ]


def test_every_visited_value_is_paid_for_before_it_is_validated() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    assert errors(schema, [1] * 100) == []
    with pytest.raises(StepBudgetExceeded):
        errors(schema, [1] * 100, steps=100)
