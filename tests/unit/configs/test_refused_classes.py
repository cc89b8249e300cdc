"""A kind that the driver refuses for the devices of some of its DeviceClasses."""

from typing import Any

import pytest

from dragoman_configs.review.validation import validate_configs
from tests.support.worlds import driverconfigs as builders

SCHEMA = builders.schema(builders.config(refusedClasses=["slices", "virtual"]))
REGISTRY = builders.registry(SCHEMA)


def claim(*classes: str, requests: tuple[str, ...] = ()) -> dict[str, Any]:
    made = builders.claim(builders.entry(builders.KIND, requests=requests))
    made["spec"]["devices"]["requests"] = [
        {"name": f"r{index}", "exactly": {"deviceClassName": name}}
        for index, name in enumerate(classes)
    ]
    return made


def found(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    verdict = validate_configs(REGISTRY, document["kind"], document)
    errors = [str(one.error) for one in verdict.violations if one.denies]
    return errors, [str(one.error) for one in verdict.violations if not one.denies]


REFUSED = (
    "spec.devices.config[0].requests[0]: Forbidden: the driver rejects Config for devices of class "
    "slices"
)
SKIPPED = (
    "spec.devices.config[0]: Invalid value: has no effect, the driver skips it for every request"
)


def test_an_entry_that_names_a_request_of_the_class_is_refused() -> None:
    assert found(claim("slices", requests=("r0",))) == ([REFUSED], [])


def test_so_it_is_in_the_first_version_of_the_api() -> None:
    document = claim("slices", requests=("r0",))
    document["apiVersion"] = "resource.k8s.io/v1beta1"
    document["spec"]["devices"]["requests"] = [{"name": "r0", "deviceClassName": "slices"}]
    assert found(document) == ([REFUSED], [])


def test_so_it_is_for_an_alternative() -> None:
    document = builders.claim(
        builders.entry(builders.KIND, requests=("main/b",)), requests=[("main", ["a", "b"])]
    )
    document["spec"]["devices"]["requests"][0]["firstAvailable"][1]["deviceClassName"] = "slices"
    assert found(document) == ([REFUSED], [])


def test_so_it_is_in_a_template() -> None:
    document = builders.template()
    document["spec"]["spec"] = claim("slices", requests=("r0",))["spec"]
    assert found(document) == ([REFUSED.replace("spec.", "spec.spec.", 1)], [])


@pytest.mark.parametrize("requests", [("r0",), ()])
def test_an_entry_for_another_class_passes(requests: tuple[str, ...]) -> None:
    assert found(claim("whole", requests=requests)) == ([], [])


def test_an_entry_without_requests_passes_where_one_class_fits() -> None:
    assert found(claim("slices", "whole")) == ([], [])


def test_an_entry_without_requests_has_no_effect_where_none_fits() -> None:
    assert found(claim("slices", "virtual")) == ([], [SKIPPED])


@pytest.mark.parametrize(("name", "refused"), [("slices", True), ("class", False)])
def test_a_class_of_the_name_is_refused(name: str, refused: bool) -> None:
    document = builders.device_class(builders.entry(builders.KIND))
    document["metadata"]["name"] = name
    errors, warnings = found(document)
    expected = "spec.config[0]: Forbidden: the driver rejects Config for devices of class slices"
    assert errors == ([expected] if refused else [])
    assert warnings == []


@pytest.mark.parametrize("name", [None, 7, ["slices"], {}])
def test_a_class_name_of_any_json_is_survived(name: Any) -> None:
    document = claim("slices", requests=("r0",))
    document["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = name
    assert found(document) == ([], [])
