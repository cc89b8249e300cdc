"""The CRD validates DriverConfigSchemas in files as the API server does in a cluster."""

from typing import Any

import pytest

from dragoman_configs import catalog
from dragoman_configs.review.crd import compile_crd, validate_object
from dragoman_configs.schemas.structural import validate_structural
from tests.support.worlds import driverconfigs as builders

CRD = catalog.definition()
DEFINITION = compile_crd(CRD)


def test_the_crd_is_structural_by_our_own_check() -> None:
    [version] = CRD["spec"]["versions"]
    outcome = validate_structural(version["schema"]["openAPIV3Schema"])
    assert [str(error) for error in outcome.errors] == []
    assert outcome.warnings == ()


@pytest.mark.parametrize("document", catalog.schemas(), ids=lambda d: str(d["metadata"]["name"]))
def test_the_catalog_has_no_malformed_object(document: dict[str, Any]) -> None:
    assert validate_object(DEFINITION, document) == ()


@pytest.mark.parametrize(
    ("document", "error"),
    [
        pytest.param({}, "spec: Required value", id="nothing"),
        pytest.param({"spec": {}}, "spec.driver: Required value", id="no driver"),
        pytest.param(
            builders.schema(mdoe="Warn"),
            "spec.mdoe: Forbidden: unknown field; did you mean mode?",
            id="a mistyped field",
        ),
        pytest.param(
            builders.schema(builders.config(rules=[{"rule": "true\n"}])),
            "spec.configs[0].rules[0].message: Required value: "
            "message must be specified if rule contains line breaks",
            id="a rule of the CRD",
        ),
        pytest.param(
            builders.schema(builders.config(), builders.config()),
            "spec.configs[1]: Duplicate value: an object",
            id="a map key twice",
        ),
    ],
)
def test_a_malformed_object_gets_field_errors(document: dict[str, Any], error: str) -> None:
    assert [str(found) for found in validate_object(DEFINITION, document)] == [error]


def test_deep_schemas_are_not_too_deep_for_the_definition() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(31):
        schema = {"type": "object", "properties": {"a": schema}}
    document = builders.schema(builders.config({"v": schema}))
    assert validate_object(DEFINITION, document) == ()


def test_a_definition_whose_rules_do_not_compile_is_an_error() -> None:
    rule = [{"rule": "nonsense("}]
    schema = {"type": "object", "properties": {}, "x-kubernetes-validations": rule}
    broken = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    with pytest.raises(ValueError, match="x-kubernetes-validations"):
        compile_crd(broken)
