"""What a finding says about variables and about the driver that a schema describes."""

from typing import Any

import pytest

from dragoman_configs.objects.driverconfigschema import CHECKED_AGAINST
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.review.hints import undecided
from dragoman_configs.review.validation import validate_configs
from dragoman_configs.review.verdict import Verdict
from tests.support.worlds import driverconfigs as builders

GATED = {
    "rules": [
        {"rule": "self.v != 'gated' || variables.Gate", "message": "needs the gate Gate"},
        {
            "rule": "self.v != 'sized' || variables.size > 1",
            "message": "needs a size",
            "severity": "Warning",
        },
    ]
}
VARIABLES = [{"name": "Gate", "value": False}, {"name": "size", "type": "int", "value": 1}]
TEXT = {"v": {"type": "string", "maxLength": 9}}


def schema(annotation: str = "") -> dict[str, Any]:
    document = builders.schema(builders.config(TEXT, **GATED), variables=VARIABLES)
    document["metadata"]["annotations"] = {CHECKED_AGAINST: annotation}
    return document


def judged(document: dict[str, Any], **parameters: Any) -> Verdict:
    claim = builders.claim(builders.entry({**builders.KIND, **parameters}))
    return validate_configs(builders.registry(document), "ResourceClaim", claim)


def test_a_refusal_names_the_variable_and_the_object_to_set_it_in() -> None:
    assert judged(schema(), v="gated").message.endswith(
        ": needs the gate Gate; if the driver runs otherwise, set variable Gate (now false) of "
        "DriverConfigSchema gpu.example.com"
    )


def test_so_does_a_warning() -> None:
    (warning,) = judged(schema(), v="sized").warnings
    assert "set variable size (now 1) of DriverConfigSchema gpu.example.com" in warning


def test_audit_annotations_and_causes_name_them_too() -> None:
    verdict = judged(schema(), v="gated")
    assert "set variable Gate" in verdict.annotations["violations"]
    assert "set variable Gate" in verdict.causes[0].message


@pytest.mark.parametrize(
    ("value", "given", "remedy"),
    [
        pytest.param("gated", (), "--variable gpu.example.com:Gate=true", id="a switch"),
        pytest.param("sized", (), "--variable gpu.example.com:size=VALUE", id="a number"),
    ],
)
def test_offline_a_finding_that_depends_on_a_variable_is_a_warning_with_the_remedy(
    value: str, given: tuple[str, ...], remedy: str
) -> None:
    document = schema()
    (violation,) = judged(document, v=value).violations
    left = undecided(violation, parse(document), given)
    assert not left.denies
    assert str(left.error).endswith(f"; if the driver runs otherwise, use {remedy}")


def test_offline_a_variable_that_the_user_gives_decides() -> None:
    document = schema()
    (violation,) = judged(document, v="gated").violations
    assert undecided(violation, parse(document), {"Gate"}) is violation


def test_offline_other_findings_stay() -> None:
    document = schema()
    (violation,) = judged(document, v="gated", w=1).violations[:1]
    assert violation.error.detail == "unknown field"
    assert undecided(violation, parse(document), ()) is violation


def test_an_unknown_field_says_what_the_schema_was_checked_against() -> None:
    message = judged(schema("acme/driver v1.2.3, 4f3c2b1"), v="x", w=1).message
    assert message.endswith(
        ".w: Forbidden: unknown field; checked against acme/driver v1.2.3, 4f3c2b1"
    )


@pytest.mark.parametrize("annotation", ["", 7, None, {"a": 1}])
def test_without_the_annotation_an_unknown_field_says_nothing_of_it(annotation: Any) -> None:
    assert judged(schema(annotation), v="x", w=1).message.endswith(": unknown field")


def test_a_long_annotation_is_cut_and_escaped() -> None:
    message = judged(schema("\x1b[31m" + "x" * 4096), v="x", w=1).message
    assert "\x1b" not in message
    assert len(message) < 300


@pytest.mark.parametrize(("value", "kind"), [(True, "bool"), (3, "int"), ("x", "string")])
def test_the_value_of_a_variable_tells_its_type(value: Any, kind: str) -> None:
    parsed = parse(builders.schema(variables=[{"name": "V", "value": value}]))
    assert parsed.errors == ()
    assert [(one.type, one.value) for one in parsed.variables] == [(kind, value)]


@pytest.mark.parametrize("value", [None, 1.5, [], {}])
def test_a_variable_of_no_known_type_is_a_fault(value: Any) -> None:
    parsed = parse(builders.schema(variables=[{"name": "V", "value": value}]))
    assert [fault.path for fault in parsed.errors] == ["spec.variables[0].type"]
