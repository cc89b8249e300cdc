"""Config entries are found in every API version, and ratcheting compares them literally."""

import json
from typing import Any

import pytest

from dragoman_configs import strictjson
from dragoman_configs.compile.registry import Registry
from dragoman_configs.objects.entries import configured
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


# The same claim as the three served versions write it; only requests differ.
VERSIONS = {
    "v1": {"name": "gpu", "exactly": {"deviceClassName": "gpus"}},
    "v1beta2": {"name": "gpu", "exactly": {"deviceClassName": "gpus"}},
    "v1beta1": {"name": "gpu", "deviceClassName": "gpus"},
}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_served_version_is_understood(version: str) -> None:
    claim = builders.claim(builders.entry(BAD, requests=["gpu"]))
    claim["apiVersion"] = f"resource.k8s.io/{version}"
    claim["spec"]["devices"]["requests"] = [VERSIONS[version]]
    assert [v.error.path for v in verdict(claim).violations] == [
        "spec.devices.config[0].opaque.parameters.v"
    ]


def test_an_entry_that_moved_is_unchanged_and_a_new_one_is_validated() -> None:
    old = builders.device_class(builders.entry(BAD))
    new = builders.device_class(builders.entry({**KIND, "v": 8}), builders.entry(BAD))
    assert [v.error.path for v in verdict(new, old=old).denials] == [
        "spec.config[0].opaque.parameters.v"
    ]


@pytest.mark.parametrize("value", ["7.0", "true"])
def test_an_entry_is_changed_also_where_python_finds_it_equal(value: str) -> None:
    stored, changed = (
        strictjson.parse(
            json.dumps(builders.device_class(builders.entry(GOOD))).replace('"secret"', v).encode()
        )
        for v in ("1" if value == "true" else "7", value)
    )
    assert not verdict(changed, old=stored).allowed


@pytest.mark.parametrize("member", ['"v": 1, "v": 7', '"v": 123456789012345678901234567890'])
def test_a_stored_entry_without_a_canonical_form_does_not_block_updates(member: str) -> None:
    text = json.dumps(builders.device_class(builders.entry(GOOD))).replace('"v": "secret"', member)
    stored, updated = strictjson.parse(text.encode()), strictjson.parse(text.encode())
    assert not verdict(updated).allowed
    assert verdict(updated, old=stored) == Verdict()
    plain = builders.device_class(builders.entry(BAD))
    assert not verdict(updated, old=plain).allowed


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
    assert validate_configs(REGISTRY, kind, builders.claim(builders.entry(BAD))) == Verdict()


def test_entries_beyond_the_limits_of_the_api_server_are_ignored() -> None:
    many = [builders.entry(BAD)] * 33
    assert len(verdict(builders.claim(*many)).denials) == 32
    names = [f"r{index}" for index in range(33)]
    alternatives = [("main", [f"s{index}" for index in range(9)])]
    assert len(configured("ResourceClaim", builders.claim(requests=names)).targets) == 32
    assert len(configured("ResourceClaim", builders.claim(requests=alternatives)).targets) == 8
    entry = builders.entry(GOOD, requests=names)
    assert len(configured("ResourceClaim", builders.claim(entry)).entries[0].requests) == 32


def test_a_request_with_alternatives_has_no_class_of_its_own_in_v1beta1() -> None:
    claim = builders.claim(requests=[("main", ["small"])])
    claim["spec"]["devices"]["requests"][0]["deviceClassName"] = ""
    assert configured("ResourceClaim", claim).classes == {"main/small": "gpus"}
