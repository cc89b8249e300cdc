"""Rules whose estimated cost is too high are refused at admission."""

from typing import Any

import pytest

from dragoman_configs.compile.registry import register
from dragoman_configs.objects.schemaparser import parse
from tests.support.worlds import driverconfigs as builders

FIELDS = {"n": {"type": "integer"}, "name": {"type": "string"}}
INSIDE = "spec.configs[0].schema.openAPIV3Schema"
INTEGERS = {"type": "array", "items": {"type": "integer"}}
PAIRS = "self.all(x, self.all(y, x != y + 1))"


@pytest.mark.parametrize(
    ("schema", "word", "place", "factor"),
    [
        pytest.param(
            {**INTEGERS, "x-kubernetes-validations": [{"rule": PAIRS}]},
            "rule",
            ".properties[v].x-kubernetes-validations[0]",
            "15.7",
            id="all pairs of a list without a bound",
        ),
        pytest.param(
            {
                **INTEGERS,
                "x-kubernetes-validations": [
                    {"rule": "true", "messageExpression": f"{PAIRS} ? 'a' : 'b'"}
                ],
            },
            "messageExpression",
            ".properties[v].x-kubernetes-validations[0]",
            "15.7",
            id="a message about all pairs",
        ),
        pytest.param(
            {
                "type": "array",
                "items": {
                    "type": "string",
                    "x-kubernetes-validations": [{"rule": "self.lowerAscii().contains(self)"}],
                },
            },
            "rule",
            ".properties[v].items.x-kubernetes-validations[0]",
            "more than 100",
            id="long work for every item of a list without a bound",
        ),
    ],
)
def test_a_rule_that_could_cost_too_much_is_refused(
    schema: dict[str, Any], word: str, place: str, factor: str
) -> None:
    [error] = register(parse(builders.schema(builders.config({"v": schema})))).compilation.errors
    assert error.path == f"{INSIDE}{place}.{word}"
    assert f"exceeds the limit by a factor of {factor}: " in error.detail


def test_a_rule_beside_the_schema_that_could_cost_too_much_is_refused_at_its_place() -> None:
    rules = [{"rule": "true"}, {"rule": f"self.v.{PAIRS.removeprefix('self.')}"}]
    document = builders.schema(builders.config({"v": INTEGERS}, rules=rules))
    [error] = register(parse(document)).compilation.errors
    assert error.path == "spec.configs[0].rules[1].rule"


def test_rules_that_cost_too_much_together_are_refused_once() -> None:
    one = {"rule": "self.all(x, self.all(y, x > y))"}
    many = {**INTEGERS, "maxItems": 1000, "x-kubernetes-validations": [one] * 20}
    document = builders.schema(builders.config({"v": many}))
    [error] = register(parse(document)).compilation.errors
    assert error.detail.startswith("with all other rules the estimated cost exceeds the limit")


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({**INTEGERS, "maxItems": 100}, id="a list with a bound"),
        pytest.param(INTEGERS, id="a list without a bound, as long as parameters can be"),
        pytest.param(FIELDS["name"], id="a text without a bound"),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "string"}}, id="a map without one"
        ),
    ],
)
def test_a_rule_may_visit_all_of_ten_kibibytes(schema: dict[str, Any]) -> None:
    rules = ["size(self) < 100000"]
    rules += ["self.all(x, x != x)"] if schema["type"] != "string" else ["self.contains('a')"]
    ruled = {**schema, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}
    document = builders.schema(builders.config({"v": ruled}))
    assert register(parse(document)).compilation.errors == ()
