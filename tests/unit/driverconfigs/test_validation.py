"""Reviews of claims, templates and classes: which entries are judged, and the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.cel import budget
from dragoman.driverconfigs import strictjson
from dragoman.driverconfigs.entries import configured
from dragoman.driverconfigs.parameters_validation import ValidationResult
from dragoman.driverconfigs.registry import Registry
from dragoman.driverconfigs.validation import Key, validate_configs, validate_schema
from dragoman.driverconfigs.verdict import Verdict
from tests.unit.driverconfigs import worlds
from tests.unit.driverconfigs.worlds import DRIVER, KIND

STRING = {"type": "string"}
GOOD = {**KIND, "v": "secret"}
BAD = {**KIND, "v": 7}
REGISTRY = worlds.registry(worlds.schema(worlds.config({"v": STRING})))


def verdict(document: dict[str, Any], registry: Registry = REGISTRY, **more: Any) -> Verdict:
    return validate_configs(registry, document["kind"], document, **more)


def in_mode(mode: str, **spec: Any) -> Registry:
    return worlds.registry(worlds.schema(worlds.config({"v": STRING}), mode=mode, **spec))


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (worlds.claim, "spec.devices.config[1].opaque.parameters.v"),
        (worlds.template, "spec.spec.devices.config[1].opaque.parameters.v"),
        (worlds.device_class, "spec.config[1].opaque.parameters.v"),
    ],
    ids=["claim", "template", "class"],
)
def test_the_path_leads_to_the_field(made: Any, path: str) -> None:
    found = verdict(made(worlds.entry(GOOD, "other.example.com"), worlds.entry(BAD)))
    assert not found.allowed
    assert found.message == f"{path}: Invalid value: 7: must be a string"
    [cause] = found.causes
    assert (cause.reason, cause.field) == ("FieldValueTypeInvalid", path)
    assert cause.message == "Invalid value: 7: must be a string"


# The same claim as the three served versions write it; only requests differ.
VERSIONS = {
    "v1": {"name": "gpu", "exactly": {"deviceClassName": "gpus"}},
    "v1beta2": {"name": "gpu", "exactly": {"deviceClassName": "gpus"}},
    "v1beta1": {"name": "gpu", "deviceClassName": "gpus"},
}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_served_version_is_understood(version: str) -> None:
    claim = worlds.claim(worlds.entry(BAD, requests=["gpu"]))
    claim["apiVersion"] = f"resource.k8s.io/{version}"
    claim["spec"]["devices"]["requests"] = [VERSIONS[version]]
    assert [v.error.path for v in verdict(claim).violations] == [
        "spec.devices.config[0].opaque.parameters.v"
    ]


def test_all_problems_are_told_at_once() -> None:
    found = verdict(worlds.claim(worlds.entry(BAD), worlds.entry({**KIND, "w": 1})))
    assert found.message == (
        "2 problems in driver configs: "
        "spec.devices.config[0].opaque.parameters.v: Invalid value: 7: must be a string; "
        "spec.devices.config[1].opaque.parameters.w: Forbidden: unknown field"
    )


def test_a_message_lists_twenty_problems_in_four_kibibytes_and_counts_the_rest() -> None:
    names = [f"unknown-field-with-a-rather-long-name-{i:02}" for i in range(45)]
    found = verdict(worlds.claim(worlds.entry({**KIND, **dict.fromkeys(names, 1)})))
    assert found.message.startswith("45 problems in driver configs: ")
    assert found.message.endswith("; and 25 more")
    assert len(found.causes) == 20
    longer = worlds.claim(worlds.entry({**KIND, **{f"{n}{'é' * 25}": 1 for n in names}}))
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
    found = verdict(worlds.claim(worlds.entry(BAD)), in_mode(mode))
    assert found.allowed is allowed
    assert len(found.warnings) == warnings
    assert ("violations" in found.annotations) is annotated


def test_warnings_are_short_and_few() -> None:
    fields = {f"field{i:02}{'x' * 300}": 1 for i in range(30)}
    found = verdict(worlds.claim(worlds.entry({**KIND, **fields})), in_mode("Warn"))
    assert len(found.warnings) == 15
    assert all(len(warning) <= 256 for warning in found.warnings)
    assert found.warnings[-1] == "and 16 more warnings about driver configs"


def test_annotations_show_names_of_fields_cut_and_escaped() -> None:
    claim = worlds.claim(worlds.entry({**GOOD, "secret": "value", "x\n" * 50: "value"}))
    found = verdict(claim).annotations["violations"]
    assert "parameters.secret: Forbidden: unknown field" in found
    assert "value" not in found
    assert "\n" not in found
    assert max(map(len, found.split("["))) < 200


def test_annotations_name_schemas_and_never_show_values() -> None:
    claim = worlds.claim(
        worlds.entry({**KIND, "v": ["secret"]}),
        worlds.entry({**KIND, "kind": "secret"}),
        worlds.entry(GOOD, "unknown.example.com"),
    )
    annotations = verdict(claim).annotations
    assert annotations["verdict"] == "denied"
    assert annotations["schemas"] == "gpu.example.com@1 (Enforce)"
    assert annotations["unknown-drivers"] == "unknown.example.com"
    assert "spec.devices.config[0].opaque.parameters.v" in annotations["violations"]
    assert "secret" not in json.dumps(dict(annotations))


def test_an_object_without_our_drivers_is_not_annotated() -> None:
    assert verdict(worlds.claim()).annotations == {}


@pytest.mark.parametrize(
    ("driver", "warned"),
    [
        pytest.param("GPU.example.com", True, id="another letter case"),
        pytest.param("gpu.exampel.com", True, id="two letters swapped"),
        pytest.param("gpus.example.com", True, id="one letter more"),
        pytest.param("gp.example.com", True, id="one letter less"),
        pytest.param("gpu.example.org", False, id="a different name"),
        pytest.param("cpu.exampl.com", False, id="two letters off"),
    ],
)
def test_a_driver_name_that_is_nearly_known_is_warned_about(driver: str, warned: bool) -> None:
    found = verdict(worlds.claim(worlds.entry(GOOD, driver)))
    assert found.allowed
    assert [f'did you mean "{DRIVER}"' in text for text in found.warnings] == [True] * warned


def test_the_driver_of_a_switched_off_schema_is_known() -> None:
    found = verdict(worlds.claim(worlds.entry(GOOD)), in_mode("Off"))
    assert found == Verdict()


# Updates


def test_what_was_stored_and_is_unchanged_never_blocks() -> None:
    old = worlds.device_class(worlds.entry(BAD))
    new = worlds.device_class(worlds.entry(BAD))
    new["metadata"]["labels"] = {"a": "b"}
    assert verdict(new, old=old) == Verdict()
    assert not verdict(new).allowed


def test_an_entry_that_moved_is_unchanged_and_a_new_one_is_judged() -> None:
    old = worlds.device_class(worlds.entry(BAD))
    new = worlds.device_class(worlds.entry({**KIND, "v": 8}), worlds.entry(BAD))
    assert [v.error.path for v in verdict(new, old=old).denials] == [
        "spec.config[0].opaque.parameters.v"
    ]


@pytest.mark.parametrize("value", ["7.0", "true"])
def test_an_entry_is_changed_also_where_python_finds_it_equal(value: str) -> None:
    stored, changed = (
        strictjson.parse(
            json.dumps(worlds.device_class(worlds.entry(GOOD))).replace('"secret"', v).encode()
        )
        for v in ("1" if value == "true" else "7", value)
    )
    assert not verdict(changed, old=stored).allowed


@pytest.mark.parametrize("member", ['"v": 1, "v": 7', '"v": 123456789012345678901234567890'])
def test_an_odd_entry_that_was_stored_does_not_block_updates(member: str) -> None:
    text = json.dumps(worlds.device_class(worlds.entry(GOOD))).replace('"v": "secret"', member)
    stored, updated = strictjson.parse(text.encode()), strictjson.parse(text.encode())
    assert not verdict(updated).allowed
    assert verdict(updated, old=stored) == Verdict()
    plain = worlds.device_class(worlds.entry(BAD))
    assert not verdict(updated, old=plain).allowed


def test_an_object_that_is_being_deleted_passes() -> None:
    dying = worlds.device_class(worlds.entry(BAD))
    dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert verdict(dying) == Verdict()


# Kinds


def test_a_kind_may_be_for_classes_only() -> None:
    registry = worlds.registry(
        worlds.schema(worlds.config({"v": STRING}, allowedSources=["Class"]))
    )
    assert verdict(worlds.device_class(worlds.entry(GOOD)), registry).allowed
    for made in (worlds.claim, worlds.template):
        found = verdict(made(worlds.entry(GOOD)), registry)
        assert "example.com/v1 Config is not supported in ResourceClaims" in found.message


@pytest.mark.parametrize(
    ("policy", "denied", "warned"), [("Deny", 1, 0), ("Warn", 0, 1), ("Allow", 0, 0)]
)
def test_an_unlisted_kind_is_what_the_schema_makes_of_it(
    policy: str, denied: int, warned: int
) -> None:
    registry = worlds.registry(worlds.schema(worlds.config(), unknownConfigs=policy))
    found = verdict(worlds.claim(worlds.entry({**KIND, "kind": "Confg"})), registry)
    assert (len(found.denials), len(found.warnings)) == (denied, warned)


def test_a_kind_is_found_by_both_then_by_version_then_without_either() -> None:
    def one(field: str, **discriminator: str) -> dict[str, Any]:
        return {**discriminator, "schema": worlds.config({field: STRING})["schema"]}

    registry = worlds.registry(
        worlds.schema(
            one("none"), one("version", apiVersion="v1"), one("both", apiVersion="v1", kind="A")
        )
    )
    for parameters_ in (
        {"none": "x"},
        {"apiVersion": "v1", "version": "x"},
        {"apiVersion": "v1", "kind": "A", "both": "x"},
    ):
        assert verdict(worlds.claim(worlds.entry(parameters_)), registry).allowed
    assert not verdict(
        worlds.claim(worlds.entry({"apiVersion": "v1", "none": "x"})), registry
    ).allowed


# Hostile and odd objects


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"spec": None},
        {"spec": {"devices": []}},
        {"spec": {"devices": {"config": {"a": 1}, "requests": 1}}},
        {"spec": {"devices": {"config": [None, 1, {"opaque": 1}, {"opaque": {"driver": 1}}]}}},
    ],
)
def test_a_shapeless_object_has_no_entries(document: Any) -> None:
    assert validate_configs(REGISTRY, "ResourceClaim", document) == Verdict()


@pytest.mark.parametrize("kind", ["Pod", "", "resourceclaim"])
def test_other_kinds_have_no_entries(kind: str) -> None:
    assert validate_configs(REGISTRY, kind, worlds.claim(worlds.entry(BAD))) == Verdict()


@pytest.mark.parametrize("value", [None, [], "x", 7])
def test_parameters_that_are_no_object_are_refused(value: Any) -> None:
    assert not verdict(worlds.claim(worlds.entry(value))).allowed


# Budget and cache


def expensive(name: str, driver: str) -> dict[str, Any]:
    alternatives = [{"minimum": bound} for bound in range(2, 300)]
    items = {"type": "integer", "anyOf": [*alternatives, {"minimum": 0}]}
    return worlds.schema(
        worlds.config({"v": {"type": "array", "items": items}}), name=name, driver=driver
    )


def test_an_expensive_schema_spoils_its_own_verdicts_and_no_others() -> None:
    registry = worlds.registry(
        expensive("a-costly", "costly.example.com"), worlds.schema(worlds.config({"v": STRING}))
    )
    costly = worlds.entry({**KIND, "v": [1] * 4000}, "costly.example.com")
    found = verdict(worlds.claim(*[costly] * 31, worlds.entry(BAD)), registry)
    details = {v.schema: v.error.detail for v in found.denials}
    assert "too expensive" in details["a-costly"]
    assert details[DRIVER] == "must be a string"


def test_only_schemas_that_are_asked_share_the_budget() -> None:
    others = [worlds.schema(name=f"other-{i}", driver="costly.example.com") for i in range(9)]
    registry = worlds.registry(expensive("costly", "costly.example.com"), *others)
    entry = worlds.entry({**KIND, "v": [1] * 100}, "costly.example.com")
    alone = worlds.registry(expensive("costly", "costly.example.com"))
    assert verdict(worlds.claim(entry), alone).allowed
    assert verdict(worlds.claim(entry), registry).allowed


@pytest.mark.parametrize("max_steps", [1, 100, 1000, 10_000])
def test_a_verdict_within_an_allowance_is_the_same_with_more(max_steps: int) -> None:
    registry = worlds.registry(expensive("costly", "costly.example.com"))
    outcomes = set()
    for count in (0, 1, 5, 20, 60):
        entry = worlds.entry({**KIND, "v": [1] * count}, "costly.example.com")
        document = worlds.claim(entry, worlds.entry(BAD))
        short = validate_configs(registry, "ResourceClaim", document, max_steps=max_steps)
        full = validate_configs(registry, "ResourceClaim", document)
        assert short.exhausted or short == full
        outcomes.add(short.exhausted)
    assert True in outcomes


def test_a_verdict_is_the_same_whatever_is_remembered() -> None:
    registry = worlds.registry(expensive("costly", "costly.example.com"))
    entries = [
        worlds.entry({**KIND, "v": [1] * count}, "costly.example.com", ["gpu"])
        for count in (20, 40, 10, 40, 60, 20, 60, 60, 60)
    ]
    document = worlds.claim(*entries)
    fresh = verdict(document, registry)
    cache: dict[Key, ValidationResult] = {}
    assert not fresh.allowed
    assert verdict(document, registry, cache=cache) == fresh
    assert cache
    assert verdict(document, registry, cache=cache) == fresh


def test_a_judgement_is_remembered_once_for_equal_parameters() -> None:
    cache: dict[Key, ValidationResult] = {}
    for value in (GOOD, BAD, dict(GOOD)):
        verdict(worlds.claim(worlds.entry(value)), cache=cache)
    assert len(cache) == 2


def test_nothing_is_remembered_of_another_schema_with_the_same_uid_and_generation() -> None:
    # As after etcd was restored from a backup.
    cache: dict[Key, ValidationResult] = {}
    stricter = worlds.registry(worlds.schema(worlds.config({"v": {**STRING, "maxLength": 3}})))
    rule = {"rule": "variables.lax || self.v != 'secret'"}
    ruled = [
        worlds.registry(
            worlds.schema(
                worlds.config({"v": STRING}, rules=[rule]),
                variables=[{"name": "lax", "type": "bool", "value": lax}],
            )
        )
        for lax in (True, False)
    ]
    document = worlds.claim(worlds.entry(GOOD))
    registries = (REGISTRY, stricter, *ruled)
    allowed = [verdict(document, registry, cache=cache).allowed for registry in registries]
    assert allowed == [True, False, True, False]


def test_repeated_keys_are_never_remembered() -> None:
    cache: dict[Key, ValidationResult] = {}
    text = json.dumps(worlds.claim(worlds.entry(GOOD))).replace('"v":', '"v": "y", "v":')
    assert not verdict(strictjson.parse(text.encode()), cache=cache).allowed
    assert cache == {}


def test_parameters_have_the_size_limit_of_the_api_server() -> None:
    def size(length: int) -> Verdict:
        empty = len(json.dumps({**KIND, "v": ""}, separators=(",", ":")))
        return verdict(worlds.claim(worlds.entry({**KIND, "v": "x" * (length - empty)})))

    assert size(10 * 1024).allowed
    assert "Too long: must have at most 10240 bytes" in size(10 * 1024 + 1).message


def test_the_size_counts_numbers_as_shortly_as_they_can_have_come() -> None:
    numbers = {"type": "array", "items": {"type": "number"}}
    registry = worlds.registry(worlds.schema(worlds.config({"v": numbers})))

    def of(count: int) -> Verdict:
        value = "[" + ",".join(["1E5"] * count) + "]"
        text = json.dumps(worlds.claim(worlds.entry({**KIND, "v": "@"}))).replace('"@"', value)
        return verdict(strictjson.parse(text.encode()), registry)

    assert of(2500).allowed  # 10,000 bytes as stored, 22,500 in the longer form
    assert "Too long" in of(2600).message


def test_an_honest_entry_of_ten_kibibytes_32_times_stays_within_the_budget() -> None:
    registry = worlds.registry(
        worlds.schema(worlds.config({"v": {"type": "array", "items": {"type": "integer"}}}))
    )
    full = {**KIND, "v": [1] * 5080}
    assert 10_000 < len(json.dumps(full, separators=(",", ":"))) <= 10_240
    names = [f"r{i}" for i in range(32)]
    entries = [worlds.entry(full, requests=[name]) for name in names]
    assert verdict(worlds.claim(*entries, requests=names), registry).violations == ()
    assert budget.REVIEW_STEPS <= 1_000_000


def test_what_no_api_server_lets_through_is_not_looked_at() -> None:
    many = [worlds.entry(BAD)] * 33
    assert len(verdict(worlds.claim(*many)).denials) == 32
    names = [f"r{index}" for index in range(33)]
    alternatives = [("main", [f"s{index}" for index in range(9)])]
    assert len(configured("ResourceClaim", worlds.claim(requests=names)).targets) == 32
    assert len(configured("ResourceClaim", worlds.claim(requests=alternatives)).targets) == 8
    entry = worlds.entry(GOOD, requests=names)
    assert len(configured("ResourceClaim", worlds.claim(entry)).entries[0].requests) == 32


# DriverConfigSchemas


def test_a_schema_that_does_not_compile_is_refused_with_the_path() -> None:
    broken = worlds.schema(worlds.config({"v": {"type": "strin"}}))
    found = validate_schema(Registry(), broken)
    assert not found.allowed
    assert found.causes[0].field == "spec.configs[0].schema.openAPIV3Schema.properties[v].type"


def test_a_schema_that_compiles_passes() -> None:
    assert validate_schema(Registry(), worlds.schema(worlds.config())).violations == ()


def test_a_broken_schema_can_be_switched_off_labelled_and_deleted() -> None:
    broken = worlds.schema(worlds.config({"v": {"type": "strin"}}))
    off = worlds.schema(worlds.config({"v": {"type": "strin"}}), mode="Off")
    found = validate_schema(Registry(), off, old=broken)
    assert found.allowed
    assert found.warnings != ()
    labelled = {**broken, "metadata": {**broken["metadata"], "labels": {"a": "b"}}}
    assert validate_schema(Registry(), labelled, old=broken) == Verdict()
    dying = {**broken, "metadata": {**broken["metadata"], "deletionTimestamp": "x"}}
    assert validate_schema(Registry(), dying) == Verdict()


def test_a_schema_is_warned_about_what_has_no_effect() -> None:
    conflicting = worlds.schema(worlds.config({"v": {**STRING, "format": "ipaddress"}}), name="z")
    [ignored, decided] = validate_schema(REGISTRY, conflicting).warnings
    assert "unrecognized format" in ignored
    assert "decided by the older object gpu.example.com" in decided


@pytest.mark.parametrize(
    "document", [None, [], {}, {"spec": 1}, {"metadata": [], "spec": {"driver": {}}}]
)
def test_a_shapeless_schema_is_refused(document: Any) -> None:
    assert not validate_schema(Registry(), document).allowed
