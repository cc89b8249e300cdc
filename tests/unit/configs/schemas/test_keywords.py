"""Each keyword of a schema accepts and refuses what the API server does."""

from typing import Any

import pytest

from tests.support.worlds.driverconfigs import messages

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
FREE = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(INTEGER, "-9223372036854775808", id="the smallest integer"),
        pytest.param({"type": "number"}, "1", id="an integer for a number"),
        pytest.param({"type": "number"}, "1.5e300", id="a number"),
        pytest.param({"type": "boolean"}, "false", id="a boolean"),
        pytest.param({**STRING, "nullable": True}, "null", id="null where null is a value"),
        pytest.param(STRING, "null", id="null is absent"),
        pytest.param(
            {**STRING, "enum": ["a", None], "nullable": True}, "null", id="null within an enum"
        ),
        pytest.param({"type": "number", "enum": [1]}, "1.0", id="equal numbers"),
        pytest.param({**STRING, "maxLength": 2}, '"éé"', id="length in characters"),
        pytest.param({**STRING, "pattern": "b"}, '"abc"', id="a pattern is not anchored"),
        pytest.param({**INTEGER, "format": "int32"}, "2147483647", id="the largest int32"),
        pytest.param({**INTEGER, "format": "whatever"}, "1", id="a format of no meaning"),
        pytest.param({**INTEGER, "multipleOf": 3}, "9", id="a multiple"),
        pytest.param({"type": "number", "multipleOf": 0.5}, "1.5", id="a fraction's multiple"),
        pytest.param({"x-kubernetes-int-or-string": True}, '"1"', id="a string for int-or-string"),
        pytest.param({"x-kubernetes-int-or-string": True}, "1", id="an integer for int-or-string"),
        pytest.param(FREE, '{"a": [null, {"b": null}], "c": 1.0}', id="anything"),
        pytest.param({"type": "object", "additionalProperties": True}, '{"a": 1}', id="any map"),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True, **FREE},
            '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}}',
            id="an embedded resource",
        ),
        pytest.param(
            {"type": "array", "items": INTEGER, "x-kubernetes-list-type": "set"},
            "[1, 2, 3]",
            id="a set",
        ),
        pytest.param({**STRING, "not": {"enum": ["a"]}}, '"b"', id="not"),
        pytest.param(
            {**STRING, "oneOf": [{"pattern": "^a"}, {"pattern": "z$"}]}, '"ab"', id="one of two"
        ),
        pytest.param(
            {"type": "object", "properties": {"w": {**STRING, "default": "x"}}, "required": ["w"]},
            "{}",
            id="a default stands for what is required",
        ),
    ],
)
def test_a_fitting_value_is_accepted(schema: dict[str, Any], value: str) -> None:
    assert messages(schema, value) == []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        pytest.param(STRING, "1", ".v: Invalid value: 1: must be a string", id="a type"),
        pytest.param(INTEGER, "true", ".v: Invalid value: true: must be an integer", id="true"),
        pytest.param(
            {"type": "number"}, "true", ".v: Invalid value: true: must be a number", id="1"
        ),
        pytest.param(
            INTEGER,
            "1.0",
            ".v: Invalid value: 1.0: must be a literal integer of 64 bits, "
            "without fraction or exponent",
            id="a fraction",
        ),
        pytest.param(
            INTEGER,
            "9223372036854775808",
            ".v: Invalid value: 9223372036854775808: must be an integer",
            id="2^63",
        ),
        pytest.param(
            INTEGER,
            "-9223372036854775809",
            ".v: Invalid value: an integer beyond 64 bits: must be an integer",
            id="below -2^63",
        ),
        pytest.param(
            INTEGER,
            "1234567890123456789012345678901234567890",
            ".v: Invalid value: an integer beyond 64 bits: must be an integer",
            id="a huge integer",
        ),
        pytest.param(
            INTEGER,
            "1e999",
            ".v: Invalid value: 1e999: must be a number that a double can hold",
            id="an integer beyond a double",
        ),
        pytest.param(
            {"type": "number", "maximum": 3},
            "-" + "9" * 400,
            f".v: Invalid value: -{'9' * 62}…: must be a number that a double can hold",
            id="400 digits",
        ),
        pytest.param(
            {"x-kubernetes-preserve-unknown-fields": True},
            '{"any": [1e999]}',
            ".v.any[0]: Invalid value: 1e999: must be a number that a double can hold",
            id="beyond a double, where anything goes",
        ),
        pytest.param(
            {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "object", "x-kubernetes-map-type": "atomic", **FREE},
            },
            '[{"a": 1e999}]',
            ".v[0].a: Invalid value: 1e999: must be a number that a double can hold",
            id="beyond a double, inside what is compared",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            "1.5",
            ".v: Invalid value: 1.5: must be an integer or a string",
            id="int or string",
        ),
        pytest.param(
            {**INTEGER, "format": "int32"},
            "2147483648",
            ".v: Invalid value: 2147483648: must be of format int32",
            id="beyond int32",
        ),
        pytest.param(
            {**INTEGER, "minimum": 1},
            "0",
            ".v: Invalid value: 0: must be greater than or equal to 1",
            id="minimum",
        ),
        pytest.param(
            {**INTEGER, "minimum": 1, "exclusiveMinimum": True},
            "1",
            ".v: Invalid value: 1: must be greater than 1",
            id="exclusive minimum",
        ),
        pytest.param(
            {**INTEGER, "maximum": 1},
            "2",
            ".v: Invalid value: 2: must be less than or equal to 1",
            id="maximum",
        ),
        pytest.param(
            {**INTEGER, "maximum": 1, "exclusiveMaximum": True},
            "1",
            ".v: Invalid value: 1: must be less than 1",
            id="exclusive maximum",
        ),
        pytest.param(
            {**INTEGER, "multipleOf": 3},
            "10",
            ".v: Invalid value: 10: must be a multiple of 3",
            id="multiple",
        ),
        pytest.param(
            {**STRING, "minLength": 2},
            '"é"',
            '.v: Invalid value: "é": must have at least 2 characters',
            id="too short",
        ),
        pytest.param(
            {**STRING, "maxLength": 2},
            '"abc"',
            '.v: Too long: "abc": must have at most 2 characters',
            id="too long",
        ),
        pytest.param(
            {**STRING, "pattern": "^a$"},
            '"a\\n"',
            '.v: Invalid value: "a\\n": must match ^a$',
            id="a final line break does not match $",
        ),
        pytest.param(
            {**STRING, "pattern": r"^\d$"},
            '"٣"',
            r'.v: Invalid value: "٣": must match ^\d$',
            id="digits are ASCII",
        ),
        pytest.param(
            {**STRING, "enum": ["Long", "Short"]},
            '"long"',
            '.v: Unsupported value: "long": supported values: "Long", "Short"; '
            'did you mean "Long"?',
            id="enum",
        ),
        pytest.param(
            {"type": "number", "enum": [1]},
            "2",
            ".v: Unsupported value: 2: supported values: 1",
            id="enum of numbers",
        ),
        pytest.param(
            {"type": "array", "items": INTEGER, "minItems": 2},
            "[1]",
            ".v: Invalid value: an array: must have at least 2 items",
            id="too few items",
        ),
        pytest.param(
            {"type": "array", "items": INTEGER, "maxItems": 1},
            "[1, 2]",
            ".v: Too many: an array: must have at most 1 items",
            id="too many items",
        ),
        pytest.param(
            {"type": "array", "items": INTEGER},
            "[1, null]",
            ".v[1]: Invalid value: null: must be an integer",
            id="null in an array is a value",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": INTEGER},
            '{"a.b/c": "x"}',
            '.v[a.b/c]: Invalid value: "x": must be an integer',
            id="a value of a map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": INTEGER, "maxProperties": 1},
            '{"a": 1, "b": 2}',
            ".v: Too many: an object: must have at most 1 fields",
            id="too many fields",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": INTEGER, "minProperties": 1},
            "{}",
            ".v: Invalid value: an object: must have at least 1 fields",
            id="too few fields",
        ),
        pytest.param(
            {"type": "array", "items": INTEGER, "x-kubernetes-list-type": "set"},
            "[1, 2, 1]",
            ".v[2]: Duplicate value: 1",
            id="twice in a set",
        ),
        pytest.param(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": STRING}, "required": ["k"]},
            },
            '[{"k": "a"}, {"k": "a"}]',
            ".v[1]: Duplicate value: an object",
            id="the same key twice",
        ),
        pytest.param(
            {**STRING, "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
            '"x"',
            '.v: Invalid value: "x": must be of format ipv4 or must be of format ipv6',
            id="no alternative fits",
        ),
        pytest.param(
            {**STRING, "oneOf": [{"pattern": "^a"}, {"pattern": "z$"}]},
            '"az"',
            '.v: Invalid value: "az": must validate exactly one schema (oneOf), validates 2',
            id="two of two",
        ),
        pytest.param(
            {**STRING, "not": {"enum": ["a"]}},
            '"a"',
            '.v: Invalid value: "a": must not validate the schema (not)',
            id="not",
        ),
        pytest.param(
            {"type": "object", "properties": {"w": STRING}, "required": ["w"]},
            '{"w": null}',
            ".v.w: Required value",
            id="null does not stand for what is required",
        ),
        pytest.param(
            {"type": "object", "properties": {"interval": STRING}},
            '{"intervall": "x"}',
            ".v.intervall: Forbidden: unknown field; did you mean interval?",
            id="an unknown field",
        ),
        pytest.param(
            FREE,
            '{"a": {"b": 1, "b": 1}}',
            ".v.a.b: Duplicate value: the key is repeated",
            id="keys",
        ),
    ],
)
def test_another_value_is_refused(schema: dict[str, Any], value: str, message: str) -> None:
    assert messages(schema, value) == [message]
