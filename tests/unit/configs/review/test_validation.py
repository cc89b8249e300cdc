"""Objects are validated: entries of known drivers, updates, budgets and caches; schemas too."""

import json
from typing import Any

import pytest

from dragoman_cel import budget
from dragoman_configs import strictjson
from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.parameters_validation import ValidationResult
from dragoman_configs.review.validation import Key, validate_configs, validate_schema
from dragoman_configs.review.verdict import Verdict
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds.driverconfigs import DRIVER, KIND

STRING = {"type": "string"}
GOOD = {**KIND, "v": "secret"}
BAD = {**KIND, "v": 7}
REGISTRY = builders.registry(builders.schema(builders.config({"v": STRING})))


def verdict(document: dict[str, Any], registry: Registry = REGISTRY, **more: Any) -> Verdict:
    return validate_configs(registry, document["kind"], document, **more)


def in_mode(mode: str, **spec: Any) -> Registry:
    return builders.registry(builders.schema(builders.config({"v": STRING}), mode=mode, **spec))


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
    found = verdict(builders.claim(builders.entry(GOOD, driver)))
    assert found.allowed
    assert [f'did you mean "{DRIVER}"' in text for text in found.warnings] == [True] * warned


def test_the_driver_of_a_switched_off_schema_is_known() -> None:
    found = verdict(builders.claim(builders.entry(GOOD)), in_mode("Off"))
    assert found == Verdict()


def test_what_was_stored_and_is_unchanged_never_blocks() -> None:
    old = builders.device_class(builders.entry(BAD))
    new = builders.device_class(builders.entry(BAD))
    new["metadata"]["labels"] = {"a": "b"}
    assert verdict(new, old=old) == Verdict()
    assert not verdict(new).allowed


def test_an_object_that_is_being_deleted_passes() -> None:
    dying = builders.device_class(builders.entry(BAD))
    dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert verdict(dying) == Verdict()


@pytest.mark.parametrize("value", [None, [], "x", 7])
def test_parameters_that_are_no_object_are_refused(value: Any) -> None:
    assert not verdict(builders.claim(builders.entry(value))).allowed


def expensive(name: str, driver: str) -> dict[str, Any]:
    alternatives = [{"minimum": bound} for bound in range(2, 300)]
    items = {"type": "integer", "anyOf": [*alternatives, {"minimum": 0}]}
    return builders.schema(
        builders.config({"v": {"type": "array", "items": items}}), name=name, driver=driver
    )


def test_an_expensive_schema_spoils_its_own_verdicts_and_no_others() -> None:
    registry = builders.registry(
        expensive("a-costly", "costly.example.com"), builders.schema(builders.config({"v": STRING}))
    )
    costly = builders.entry({**KIND, "v": [1] * 4000}, "costly.example.com")
    found = verdict(builders.claim(*[costly] * 31, builders.entry(BAD)), registry)
    details = {v.schema: v.error.detail for v in found.denials}
    assert "too expensive" in details["a-costly"]
    assert details[DRIVER] == "must be a string"


def test_only_schemas_that_take_part_share_the_budget() -> None:
    others = [builders.schema(name=f"other-{i}", driver="costly.example.com") for i in range(9)]
    registry = builders.registry(expensive("costly", "costly.example.com"), *others)
    entry = builders.entry({**KIND, "v": [1] * 100}, "costly.example.com")
    alone = builders.registry(expensive("costly", "costly.example.com"))
    assert verdict(builders.claim(entry), alone).allowed
    assert verdict(builders.claim(entry), registry).allowed


@pytest.mark.parametrize("max_steps", [1, 100, 1000, 10_000])
def test_a_verdict_within_an_allowance_is_the_same_with_more(max_steps: int) -> None:
    registry = builders.registry(expensive("costly", "costly.example.com"))
    outcomes = set()
    for count in (0, 1, 5, 20, 60):
        entry = builders.entry({**KIND, "v": [1] * count}, "costly.example.com")
        document = builders.claim(entry, builders.entry(BAD))
        short = validate_configs(registry, "ResourceClaim", document, max_steps=max_steps)
        full = validate_configs(registry, "ResourceClaim", document)
        assert short.exhausted or short == full
        outcomes.add(short.exhausted)
    assert True in outcomes


def test_a_verdict_is_the_same_with_any_cache() -> None:
    registry = builders.registry(expensive("costly", "costly.example.com"))
    entries = [
        builders.entry({**KIND, "v": [1] * count}, "costly.example.com", ["gpu"])
        for count in (20, 40, 10, 40, 60, 20, 60, 60, 60)
    ]
    document = builders.claim(*entries)
    fresh = verdict(document, registry)
    cache: dict[Key, ValidationResult] = {}
    assert not fresh.allowed
    assert verdict(document, registry, cache=cache) == fresh
    assert cache
    assert verdict(document, registry, cache=cache) == fresh


def test_equal_parameters_share_a_cached_result() -> None:
    cache: dict[Key, ValidationResult] = {}
    for value in (GOOD, BAD, dict(GOOD)):
        verdict(builders.claim(builders.entry(value)), cache=cache)
    assert len(cache) == 2


def test_a_schema_with_a_known_uid_and_generation_has_results_of_its_own() -> None:
    # As after etcd was restored from a backup.
    cache: dict[Key, ValidationResult] = {}
    stricter = builders.registry(
        builders.schema(builders.config({"v": {**STRING, "maxLength": 3}}))
    )
    rule = {"rule": "variables.lax || self.v != 'secret'"}
    ruled = [
        builders.registry(
            builders.schema(
                builders.config({"v": STRING}, rules=[rule]),
                variables=[{"name": "lax", "type": "bool", "value": lax}],
            )
        )
        for lax in (True, False)
    ]
    document = builders.claim(builders.entry(GOOD))
    registries = (REGISTRY, stricter, *ruled)
    allowed = [verdict(document, registry, cache=cache).allowed for registry in registries]
    assert allowed == [True, False, True, False]


def test_parameters_with_repeated_keys_are_never_cached() -> None:
    cache: dict[Key, ValidationResult] = {}
    text = json.dumps(builders.claim(builders.entry(GOOD))).replace('"v":', '"v": "y", "v":')
    assert not verdict(strictjson.parse(text.encode()), cache=cache).allowed
    assert cache == {}


def test_parameters_have_the_size_limit_of_the_api_server() -> None:
    def size(length: int) -> Verdict:
        empty = len(json.dumps({**KIND, "v": ""}, separators=(",", ":")))
        return verdict(builders.claim(builders.entry({**KIND, "v": "x" * (length - empty)})))

    assert size(10 * 1024).allowed
    assert "Too long: must have at most 10240 bytes" in size(10 * 1024 + 1).message


def test_the_size_counts_numbers_as_shortly_as_they_can_have_come() -> None:
    numbers = {"type": "array", "items": {"type": "number"}}
    registry = builders.registry(builders.schema(builders.config({"v": numbers})))

    def of(count: int) -> Verdict:
        value = "[" + ",".join(["1E5"] * count) + "]"
        text = json.dumps(builders.claim(builders.entry({**KIND, "v": "@"}))).replace('"@"', value)
        return verdict(strictjson.parse(text.encode()), registry)

    assert of(2500).allowed  # 10,000 bytes as stored, 22,500 in the longer form
    assert "Too long" in of(2600).message


def test_an_honest_entry_of_ten_kibibytes_32_times_stays_within_the_budget() -> None:
    registry = builders.registry(
        builders.schema(builders.config({"v": {"type": "array", "items": {"type": "integer"}}}))
    )
    full = {**KIND, "v": [1] * 5080}
    assert 10_000 < len(json.dumps(full, separators=(",", ":"))) <= 10_240
    names = [f"r{i}" for i in range(32)]
    entries = [builders.entry(full, requests=[name]) for name in names]
    assert verdict(builders.claim(*entries, requests=names), registry).violations == ()
    assert budget.REVIEW_STEPS <= 1_000_000


def test_a_schema_that_does_not_compile_is_refused_with_the_path() -> None:
    broken = builders.schema(builders.config({"v": {"type": "strin"}}))
    found = validate_schema(Registry(), broken)
    assert not found.allowed
    assert found.causes[0].field == "spec.configs[0].schema.openAPIV3Schema.properties[v].type"


def test_a_schema_that_compiles_passes() -> None:
    assert validate_schema(Registry(), builders.schema(builders.config())).violations == ()


def test_a_broken_schema_can_be_switched_off_labelled_and_deleted() -> None:
    broken = builders.schema(builders.config({"v": {"type": "strin"}}))
    off = builders.schema(builders.config({"v": {"type": "strin"}}), mode="Off")
    found = validate_schema(Registry(), off, old=broken)
    assert found.allowed
    assert found.warnings != ()
    labelled = {**broken, "metadata": {**broken["metadata"], "labels": {"a": "b"}}}
    assert validate_schema(Registry(), labelled, old=broken) == Verdict()
    dying = {**broken, "metadata": {**broken["metadata"], "deletionTimestamp": "x"}}
    assert validate_schema(Registry(), dying) == Verdict()


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        pytest.param("1", "true", False, id="a number that became true"),
        pytest.param("1", '1, "minimum": true', False, id="a repeated key"),
        pytest.param("true", "true", True, id="a stored error"),
        pytest.param("1e999", "1e999", True, id="a stored number out of range"),
    ],
)
def test_a_spec_is_unchanged_only_as_it_is_written(before: str, after: str, allowed: bool) -> None:
    def stored(minimum: str) -> Any:
        field = {"type": "integer", "minimum": "@"}
        text = json.dumps(builders.schema(builders.config({"v": field})))
        return strictjson.parse(text.replace('"@"', minimum).encode())

    assert validate_schema(Registry(), stored(after), old=stored(before)).allowed is allowed


def test_a_schema_is_warned_about_what_has_no_effect() -> None:
    conflicting = builders.schema(
        builders.config({"v": {**STRING, "format": "ipaddress"}}), name="z"
    )
    [ignored, decided] = validate_schema(REGISTRY, conflicting).warnings
    assert "unrecognized format" in ignored
    assert "decided by the older object gpu.example.com" in decided


@pytest.mark.parametrize(
    "document", [None, [], {}, {"spec": 1}, {"metadata": [], "spec": {"driver": {}}}]
)
def test_a_shapeless_schema_is_refused(document: Any) -> None:
    assert not validate_schema(Registry(), document).allowed


def test_an_object_under_deletion_keeps_its_configs_and_takes_no_new_ones() -> None:
    stored = builders.device_class(builders.entry(BAD))
    leaving = {**stored, "metadata": {"name": "c", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert verdict(leaving, old=stored) == Verdict()
    worse = {**leaving, "spec": builders.device_class(builders.entry({**KIND, "v": 8}))["spec"]}
    assert not verdict(worse, old=stored).allowed


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(b'"\\ud800"', "must be valid Unicode", id="half a surrogate pair"),
        pytest.param(b'"a\xff"', "must be valid Unicode", id="a stray byte"),
        pytest.param(b"1e999", "must be a number that a double can hold", id="a huge number"),
        pytest.param(b"[" * 5000 + b"]" * 5000, "nested deeper", id="5000 levels"),
    ],
)
def test_an_unreadable_value_is_denied_and_hides_no_other_violation(
    value: bytes, words: str
) -> None:
    claim = builders.claim(
        builders.entry({**KIND, "v": "@"}),
        builders.entry("@", "other.example.com"),
        builders.entry(BAD),
    )
    found = verdict(strictjson.parse(json.dumps(claim).encode().replace(b'"@"', value)))
    assert words in found.message
    assert "config[0].opaque.parameters" in found.message
    assert "config[2].opaque.parameters.v: Invalid value: 7" in found.message
