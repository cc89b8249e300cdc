"""The parts of an admission response: message, causes, warnings, annotations."""

import json
from typing import Any

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.validation import validate_configs
from dragoman_configs.review.verdict import Verdict
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds.driverconfigs import KIND

STRING = {"type": "string"}
GOOD = {**KIND, "v": "secret"}
BAD = {**KIND, "v": 7}
REGISTRY = builders.registry(builders.schema(builders.config({"v": STRING})))


def verdict(document: dict[str, Any], registry: Registry = REGISTRY, **more: Any) -> Verdict:
    return validate_configs(registry, document["kind"], document, **more)


def in_mode(mode: str, **spec: Any) -> Registry:
    return builders.registry(builders.schema(builders.config({"v": STRING}), mode=mode, **spec))


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (builders.claim, "spec.devices.config[1].opaque.parameters.v"),
        (builders.template, "spec.spec.devices.config[1].opaque.parameters.v"),
        (builders.device_class, "spec.config[1].opaque.parameters.v"),
    ],
    ids=["claim", "template", "class"],
)
def test_the_path_leads_to_the_field(made: Any, path: str) -> None:
    found = verdict(made(builders.entry(GOOD, "other.example.com"), builders.entry(BAD)))
    assert not found.allowed
    assert found.message == f"{path}: Invalid value: 7: must be a string"
    [cause] = found.causes
    assert (cause.reason, cause.field) == ("FieldValueTypeInvalid", path)
    assert cause.message == "Invalid value: 7: must be a string"


def test_a_message_lists_all_errors() -> None:
    found = verdict(builders.claim(builders.entry(BAD), builders.entry({**KIND, "w": 1})))
    assert found.message == (
        "2 problems in driver configs: "
        "spec.devices.config[0].opaque.parameters.v: Invalid value: 7: must be a string; "
        "spec.devices.config[1].opaque.parameters.w: Forbidden: unknown field"
    )


def test_a_message_lists_twenty_problems_in_four_kibibytes_and_counts_the_rest() -> None:
    names = [f"unknown-field-with-a-rather-long-name-{i:02}" for i in range(45)]
    found = verdict(builders.claim(builders.entry({**KIND, **dict.fromkeys(names, 1)})))
    assert found.message.startswith("45 problems in driver configs: ")
    assert found.message.endswith("; and 25 more")
    assert len(found.causes) == 20
    longer = builders.claim(builders.entry({**KIND, **{f"{n}{'é' * 25}": 1 for n in names}}))
    message = verdict(longer).message
    assert len(message.encode()) <= 4096
    assert message.startswith("45 problems")


@pytest.mark.parametrize(
    ("mode", "allowed", "warnings", "annotated"),
    [
        ("Enforce", False, 0, True),
        ("Warn", True, 1, True),
        ("Audit", True, 0, True),
        ("Off", True, 0, False),
    ],
)
def test_the_mode_decides_what_happens(
    mode: str, allowed: bool, warnings: int, annotated: bool
) -> None:
    found = verdict(builders.claim(builders.entry(BAD)), in_mode(mode))
    assert found.allowed is allowed
    assert len(found.warnings) == warnings
    assert ("violations" in found.annotations) is annotated


def test_warnings_are_short_and_few() -> None:
    fields = {f"field{i:02}{'x' * 300}": 1 for i in range(30)}
    found = verdict(builders.claim(builders.entry({**KIND, **fields})), in_mode("Warn"))
    assert len(found.warnings) == 15
    assert all(len(warning) <= 256 for warning in found.warnings)
    assert found.warnings[-1] == "and 16 more warnings about driver configs"


def test_annotations_show_names_of_fields_cut_and_escaped() -> None:
    claim = builders.claim(builders.entry({**GOOD, "secret": "value", "x\n" * 50: "value"}))
    found = verdict(claim).annotations["violations"]
    assert "parameters.secret: Forbidden: unknown field" in found
    assert "value" not in found
    assert "\n" not in found
    assert max(map(len, found.split("["))) < 200


def test_annotations_name_schemas_and_never_show_values() -> None:
    claim = builders.claim(
        builders.entry({**KIND, "v": ["secret"]}),
        builders.entry({**KIND, "kind": "secret"}),
        builders.entry(GOOD, "unknown.example.com"),
    )
    annotations = verdict(claim).annotations
    assert annotations["verdict"] == "denied"
    assert annotations["schemas"] == "gpu.example.com@1 (Enforce)"
    assert annotations["unknown-drivers"] == "unknown.example.com"
    assert "spec.devices.config[0].opaque.parameters.v" in annotations["violations"]
    assert "secret" not in json.dumps(dict(annotations))


def test_an_object_without_our_drivers_is_not_annotated() -> None:
    assert verdict(builders.claim()).annotations == {}
