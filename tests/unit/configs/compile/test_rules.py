"""CEL rules: inside schemas and beside them, with variables, severity and places of errors."""

from typing import Any

import pytest

from dragoman_configs.compile.registry import register
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.review.validation import validate_configs
from dragoman_configs.review.verdict import Verdict
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds.driverconfigs import KIND

FIELDS = {"n": {"type": "integer"}, "name": {"type": "string"}}
INSIDE = "spec.configs[0].schema.openAPIV3Schema"


def reviewed(members: dict[str, Any], *rules: dict[str, Any], **spec: Any) -> Verdict:
    document = builders.schema(builders.config(FIELDS, rules=list(rules)), **spec)
    claim = builders.claim(builders.entry({**KIND, **members}))
    return validate_configs(builders.registry(document), "ResourceClaim", claim)


def texts(verdict: Verdict) -> list[str]:
    place = "spec.devices.config[0].opaque.parameters"
    return [str(v.error).removeprefix(place) for v in verdict.violations]


def test_a_broken_rule_gives_its_message_path_and_reason() -> None:
    rule = {
        "rule": "self.n < 3",
        "message": "too many",
        "fieldPath": ".n",
        "reason": "FieldValueForbidden",
    }
    found = reviewed({"n": 3}, rule)
    assert not found.allowed
    assert texts(found) == [".n: Forbidden: too many"]
    assert reviewed({"n": 2}, rule).violations == ()


def test_a_rule_without_a_message_names_itself() -> None:
    assert texts(reviewed({"n": 3}, {"rule": "self.n < 3"})) == [
        ": Invalid value: failed rule: self.n < 3"
    ]


def test_a_computed_message_shows_values_to_the_user_only() -> None:
    made = {"rule": "self.name == 'a'", "messageExpression": "'not ' + self.name"}
    found = reviewed({"name": "secret"}, made)
    assert texts(found) == [": Invalid value: not secret"]
    [violation] = found.violations
    assert str(violation.error.redacted()).endswith("Invalid value: breaks a rule of the schema")
    assert "secret" not in found.annotations["violations"]


def test_a_computed_message_cannot_write_to_a_terminal() -> None:
    made = {"rule": "self.name == 'a'", "messageExpression": "'not \"' + self.name + '\"'"}
    assert texts(reviewed({"name": "\x1b[2J\r"}, made)) == [': Invalid value: not "\\x1b[2J\\r"']


def test_a_path_with_keys_of_a_map_is_cut_and_escaped() -> None:
    rule = {"rule": "self > 1", "message": "too few"}
    numbers = {"type": "integer", "x-kubernetes-validations": [rule]}
    fields = {"counts": {"type": "object", "additionalProperties": numbers}}
    registry = builders.registry(builders.schema(builders.config(fields)))
    counts = {"a\nb": 0, "x" * 1000: 0}
    claim = builders.claim(builders.entry({**KIND, "counts": counts}))
    short, long = texts(validate_configs(registry, "ResourceClaim", claim))
    assert short == ".counts[a\\nb]: Invalid value: too few"
    assert long.startswith(".counts[xxx")
    assert len(long) < 300


def test_a_rule_that_fails_at_run_time_is_a_violation() -> None:
    found = reviewed({"n": 0}, {"rule": "1 / self.n > 0"})
    assert "division by zero" in found.message


@pytest.mark.parametrize(
    ("items", "value", "name"),
    [
        pytest.param({"type": "object"}, {}, "map[string]interface {}", id="objects"),
        pytest.param(
            {"type": "array", "items": {"type": "integer"}}, [1], "[]interface {}", id="lists"
        ),
    ],
)
@pytest.mark.parametrize(
    "rule", ["self.sets[0] == self.sets[1]", "size(self.sets[0] + self.sets[1]) > 0"]
)
def test_a_set_of_anything_but_scalars_is_compared_with_nothing_as_in_the_api_server(
    items: dict[str, Any], value: Any, name: str, rule: str
) -> None:
    if items["type"] == "object":
        items = {
            **items,
            "properties": {"n": {"type": "integer"}},
            "x-kubernetes-map-type": "atomic",
        }
    unique = {"type": "array", "items": items, "maxItems": 3, "x-kubernetes-list-type": "set"}
    sets = {"type": "array", "items": unique, "maxItems": 3}
    registry = builders.registry(
        builders.schema(builders.config({"sets": sets}, rules=[{"rule": rule}]))
    )
    claim = builders.claim(builders.entry({**KIND, "sets": [[value], [value]]}))
    [found] = validate_configs(registry, "ResourceClaim", claim).violations
    assert f"internal error: runtime error: hash of unhashable type: {name}" in found.error.detail


def test_a_warning_rule_warns_and_an_error_rule_denies() -> None:
    doubt = {"rule": "self.n < 3", "message": "doubtful", "severity": "Warning"}
    fault = {"rule": "self.n < 5", "message": "wrong", "severity": "Error"}
    doubted, refused = reviewed({"n": 4}, doubt, fault), reviewed({"n": 6}, doubt, fault)
    assert (doubted.allowed, len(doubted.warnings)) == (True, 1)
    assert (refused.allowed, len(refused.warnings)) == (False, 1)
    assert refused.message.endswith(": wrong")
    assert refused.warnings[0].endswith(": doubtful")


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        ("bool", True, "variables.X"),
        ("int", 3, "variables.X == 3"),
        ("string", "x", "variables.X == 'x'"),
    ],
)
def test_variables_are_typed_values(kind: str, value: Any, rule: str) -> None:
    variables = [{"name": "X", "type": kind, "value": value}]
    assert reviewed({}, {"rule": rule}, variables=variables).violations == ()
    assert reviewed({}, {"rule": f"!({rule})"}, variables=variables).violations != ()


def test_rules_do_not_run_on_parameters_of_wrong_types() -> None:
    assert texts(reviewed({"n": "x"}, {"rule": "self.n < 3"})) == [
        '.n: Invalid value: "x": must be an integer'
    ]


def test_rules_see_what_the_driver_sees() -> None:
    absent = {"rule": "!has(self.n)"}
    assert reviewed({"n": None}, absent).violations == ()
    document = builders.schema(
        builders.config({"n": {"type": "integer", "default": 5}}, rules=[{"rule": "self.n == 5"}])
    )
    claim = builders.claim(builders.entry(KIND))
    assert validate_configs(builders.registry(document), "ResourceClaim", claim).violations == ()


def test_rules_can_read_apiversion_and_kind() -> None:
    assert reviewed(
        {}, {"rule": "self.kind == 'Config' && self.apiVersion.endsWith('/v1')"}
    ).allowed


def faults(config: dict[str, Any], **spec: Any) -> dict[str, str]:
    state = register(parse(builders.schema(config, **spec)))
    assert state.active is None
    return {error.path: error.detail for error in state.compilation.errors}


def inside(rules: Any) -> dict[str, Any]:
    return builders.config({"n": {"type": "integer", "x-kubernetes-validations": rules}})


@pytest.mark.parametrize(
    ("config", "path", "words"),
    [
        pytest.param(
            builders.config(FIELDS, rules=[{"rule": "true"}, {"rule": "self.m > 1"}]),
            "spec.configs[0].rules[1].rule",
            "undefined field 'm'",
            id="an unknown field",
        ),
        pytest.param(
            builders.config(
                FIELDS, rules=[{"rule": "true", "severity": "Warning"}, {"rule": "self.n"}]
            ),
            "spec.configs[0].rules[1].rule",
            "must evaluate to a bool",
            id="no boolean",
        ),
        pytest.param(
            builders.config(
                FIELDS, rules=[{"rule": "true"}, {"rule": "1 +", "severity": "Warning"}]
            ),
            "spec.configs[0].rules[1].rule",
            "Syntax error",
            id="no expression, in a warning",
        ),
        pytest.param(
            builders.config(FIELDS, rules=[{"rule": "variables.X"}]),
            "spec.configs[0].rules[0].rule",
            "undeclared reference",
            id="an unknown variable",
        ),
        pytest.param(
            builders.config(FIELDS, rules=[{"rule": "true", "messageExpression": "1"}]),
            "spec.configs[0].rules[0].messageExpression",
            "must evaluate to a string",
            id="a message that is no string",
        ),
        pytest.param(
            builders.config(FIELDS, rules=[{"rule": "true", "fieldPath": ".m"}]),
            "spec.configs[0].rules[0].fieldPath",
            "valid field",
            id="a path to nowhere",
        ),
        pytest.param(
            builders.config(FIELDS, rules=[{"rule": "true", "reason": "Because"}]),
            "spec.configs[0].rules[0].reason",
            "supported values",
            id="an unknown reason",
        ),
        pytest.param(
            builders.config(FIELDS, rules=[{"rule": "true", "severity": "Info"}]),
            "spec.configs[0].rules[0].severity",
            "supported values",
            id="an unknown severity",
        ),
        pytest.param(
            builders.config(FIELDS, rules=[{"rule": 1}]),
            "spec.configs[0].rules[0].rule",
            "must be a string",
            id="a rule that is a number",
        ),
        pytest.param(
            builders.config(FIELDS, rules=[{"message": "x"}]),
            "spec.configs[0].rules[0].rule",
            "must not be empty",
            id="no rule",
        ),
        pytest.param(
            inside([{"rule": "self > 'a'"}]),
            f"{INSIDE}.properties[n].x-kubernetes-validations[0].rule",
            "no matching overload",
            id="a wrong type, inside",
        ),
        pytest.param(
            inside([{"rule": "true\n|| true"}]),
            f"{INSIDE}.properties[n].x-kubernetes-validations[0].message",
            "line breaks",
            id="a long rule without a message, inside",
        ),
        pytest.param(
            inside(["true"]),
            f"{INSIDE}.properties[n].x-kubernetes-validations[0]",
            "must be a rule",
            id="a rule that is text, inside",
        ),
    ],
)
def test_an_error_in_a_rule_names_its_place(config: dict[str, Any], path: str, words: str) -> None:
    assert words in faults(config)[path]


def test_rules_inside_and_beside_the_schema_have_different_paths() -> None:
    config = builders.config(FIELDS, rules=[{"rule": "self.c > 1"}])
    root = config["schema"]["openAPIV3Schema"]
    root["x-kubernetes-validations"] = [{"rule": "true"}, {"rule": "self.b > 1"}]
    assert faults(config).keys() == {
        f"{INSIDE}.x-kubernetes-validations[1].rule",
        "spec.configs[0].rules[0].rule",
    }
