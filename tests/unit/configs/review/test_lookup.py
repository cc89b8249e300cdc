"""Which config describes some parameters: by apiVersion and kind."""

from typing import Any

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.validation import validate_configs
from dragoman_configs.review.verdict import Verdict
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds.driverconfigs import KIND

STRING = {"type": "string"}
GOOD = {**KIND, "v": "secret"}
REGISTRY = builders.registry(builders.schema(builders.config({"v": STRING})))


def verdict(document: dict[str, Any], registry: Registry = REGISTRY, **more: Any) -> Verdict:
    return validate_configs(registry, document["kind"], document, **more)


def test_a_kind_may_be_for_classes_only() -> None:
    registry = builders.registry(
        builders.schema(builders.config({"v": STRING}, allowedSources=["Class"]))
    )
    assert verdict(builders.device_class(builders.entry(GOOD)), registry).allowed
    for made in (builders.claim, builders.template):
        found = verdict(made(builders.entry(GOOD)), registry)
        assert "example.com/v1 Config is not supported in ResourceClaims" in found.message


@pytest.mark.parametrize(
    ("policy", "denied", "warned"), [("Deny", 1, 0), ("Warn", 0, 1), ("Allow", 0, 0)]
)
def test_an_unlisted_kind_is_what_the_schema_makes_of_it(
    policy: str, denied: int, warned: int
) -> None:
    registry = builders.registry(builders.schema(builders.config(), unknownConfigs=policy))
    found = verdict(builders.claim(builders.entry({**KIND, "kind": "Confg"})), registry)
    assert (len(found.denials), len(found.warnings)) == (denied, warned)


def test_a_kind_is_found_by_both_then_by_version_then_without_either() -> None:
    def one(field: str, **discriminator: str) -> dict[str, Any]:
        return {**discriminator, "schema": builders.config({field: STRING})["schema"]}

    registry = builders.registry(
        builders.schema(
            one("none"), one("version", apiVersion="v1"), one("both", apiVersion="v1", kind="A")
        )
    )
    for parameters_ in (
        {"none": "x"},
        {"apiVersion": "v1", "version": "x"},
        {"apiVersion": "v1", "kind": "A", "both": "x"},
    ):
        assert verdict(builders.claim(builders.entry(parameters_)), registry).allowed
    assert not verdict(
        builders.claim(builders.entry({"apiVersion": "v1", "none": "x"})), registry
    ).allowed
