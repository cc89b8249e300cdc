"""Unknown fields and depth: what pruning removes and reports."""

from typing import Any

import pytest

from dragoman_cel.budget import StepBudget
from dragoman_configs import strictjson
from dragoman_configs.compile.registry import register
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.schemas.pruning import (
    MAX_DEPTH,
    MAX_FIELD_ERRORS,
    Pruner,
    pruning_schema,
)
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds.driverconfigs import messages, validated

STRING = {"type": "string"}
FREE = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("policy", "errors", "warnings"), [("Deny", 1, 0), ("Warn", 0, 1), ("Allow", 0, 0)]
)
def test_unknown_fields_are_what_the_driver_makes_of_them(
    policy: str, errors: int, warnings: int
) -> None:
    schema = {"type": "object", "properties": {"w": STRING}}
    result = validated(schema, '{"x": 1}', unknownFields=policy)
    assert (len(result.errors), len(result.warnings)) == (errors, warnings)


@pytest.mark.parametrize("value", ["[]", "1", '"x"', "true"])
def test_a_value_in_place_of_an_object_gives_one_error(value: str) -> None:
    assert len(messages({"type": "object", "properties": {"w": STRING}}, value)) == 1


def test_the_depth_of_parameters_is_limited_at_its_edge() -> None:
    def deep(levels: int) -> str:
        return "[" * levels + "]" * levels

    assert messages(FREE, deep(MAX_DEPTH - 1)) == []
    assert messages(FREE, deep(MAX_DEPTH)) == [
        f": Invalid value: must not be nested deeper than {MAX_DEPTH} levels"
    ]


def pruned(schema: dict[str, Any], value: Any) -> tuple[Any, Pruner]:
    pruner = Pruner(StepBudget(10_000))
    return pruner.prune(pruning_schema(schema), value), pruner


def test_unknown_fields_and_nulls_are_removed_and_defaults_filled_in() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": STRING,
            "n": {**STRING, "nullable": True},
            "d": {**STRING, "default": "x"},
            "deep": {"type": "object", "properties": {"e": {**STRING, "default": "y"}}},
        },
    }
    value = {"a": None, "n": None, "deep": {"unknown": 1}, "other": 2}
    result, pruner = pruned(schema, value)
    assert result == {"n": None, "d": "x", "deep": {"e": "y"}}
    assert [error.path for error in pruner.unknown_field_errors()] == [".deep.unknown", ".other"]
    assert value == {"a": None, "n": None, "deep": {"unknown": 1}, "other": 2}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(FREE, {"a": {"b": None}}, id="preserved fields"),
        pytest.param(
            {"type": "object", "additionalProperties": STRING}, {"a": "b"}, id="values of a map"
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}},
            id="an embedded resource",
        ),
    ],
)
def test_what_the_schema_allows_is_kept(schema: dict[str, Any], value: Any) -> None:
    result, pruner = pruned(schema, value)
    assert result == value
    assert pruner.unknown == []


def test_unreadable_values_and_repeated_keys_are_collected_with_their_paths() -> None:
    value = strictjson.parse(b'{"a":[1e999,"\\ud800"],"b":{"c":1,"c":2}}')
    _, pruner = pruned(FREE, value)
    assert [error.path for error in pruner.unreadable] == [".a[0]", ".a[1]"]
    assert [error.path for error in pruner.duplicates] == [".b.c"]


def test_thousands_of_repeated_keys_make_a_bounded_number_of_errors() -> None:
    members = ",".join(f'"k{n}":1,"k{n}":2' for n in range(1000))
    _, pruner = pruned(FREE, strictjson.parse(f"{{{members}}}".encode()))
    assert len(pruner.duplicates) == MAX_FIELD_ERRORS


@pytest.mark.parametrize(
    ("default", "words"),
    [
        ({"w": 1}, "default.w: Invalid value: 1: must be a string"),
        ({"x": "a"}, "default.x: Forbidden: unknown field"),
    ],
)
def test_a_default_must_be_valid_where_it_stands(default: Any, words: str) -> None:
    field = {"type": "object", "properties": {"w": STRING}, "default": default}
    document = builders.schema(builders.config({"v": {"type": "array", "items": field}}))
    [error] = register(parse(document)).compilation.errors
    assert str(error).endswith(words)
    assert ".properties[v].items.default." in error.path
