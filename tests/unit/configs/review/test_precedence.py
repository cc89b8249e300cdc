"""How entries stand to each other and to requests, and what drivers ignore or fail on."""

from collections.abc import Sequence
from typing import Any

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.validation import validate_configs
from dragoman_configs.review.verdict import Verdict
from tests.support.worlds import driverconfigs as builders
from tests.support.worlds.driverconfigs import KIND

MAIN = ("main", ("small", "large"))


def behaving(**entries: Any) -> Registry:
    return builders.registry(builders.schema(builders.config(), entries=entries))


def reviewed(registry: Registry, *entries: Sequence[str], requests: Sequence[Any]) -> Verdict:
    """Review a claim with an entry for each list of request names."""
    made = [builders.entry(KIND, requests=names) for names in entries]
    return validate_configs(registry, "ResourceClaim", builders.claim(*made, requests=requests))


@pytest.mark.parametrize(
    ("entries", "requests", "error"),
    [
        pytest.param([["a"]], ["a", "b"], None, id="one entry for one request"),
        pytest.param([["a"], ["b"]], ["a", "b"], None, id="an entry for each request"),
        pytest.param([[]], ["a", "b"], None, id="one entry for all requests"),
        pytest.param(
            [["a"], ["a"]],
            ["a"],
            'spec.devices.config[1]: Invalid value: request "a" has 2 configs for this driver, '
            "it accepts exactly one",
            id="two entries for one request",
        ),
        pytest.param(
            [["b"], []],
            ["a", "b"],
            'spec.devices.config[1]: Invalid value: request "b" has 2 configs for this driver, '
            "it accepts exactly one",
            id="an entry for a request beside one for all",
        ),
        pytest.param(
            [["main"], ["main/small"]],
            [MAIN],
            'spec.devices.config[1]: Invalid value: request "main/small" has 2 configs for this '
            "driver, it accepts exactly one",
            id="an entry for an alternative beside one for its request",
        ),
    ],
)
def test_a_second_entry_is_denied_where_the_driver_accepts_one(
    entries: list[list[str]], requests: list[Any], error: str | None
) -> None:
    found = reviewed(behaving(precedence="ExactlyOne"), *entries, requests=requests)
    assert found.message == (error or "")


def test_a_class_has_one_entry_where_the_driver_accepts_one() -> None:
    thing = builders.device_class(builders.entry(KIND), builders.entry(KIND))
    found = validate_configs(behaving(precedence="ExactlyOne"), "DeviceClass", thing)
    assert found.message.endswith("the class has 2 configs for this driver, it accepts exactly one")


def test_entries_that_stood_together_before_do_not_block_a_third() -> None:
    registry = behaving(precedence="ExactlyOne")
    old = builders.device_class(builders.entry(KIND), builders.entry(KIND))
    new = builders.device_class(
        *[builders.entry(KIND)] * 2, builders.entry({}, "other.example.com")
    )
    assert validate_configs(registry, "DeviceClass", new, old=old).allowed


def test_a_second_entry_like_a_stored_one_is_new() -> None:
    registry = behaving(precedence="ExactlyOne")
    old, new = (builders.device_class(*[builders.entry(KIND)] * count) for count in (1, 2))
    assert validate_configs(registry, "DeviceClass", old, old=new).allowed
    assert not validate_configs(registry, "DeviceClass", new, old=old).allowed


@pytest.mark.parametrize("requests", [[], ["a"]], ids=["no requests", "a request"])
def test_an_entry_without_requests_is_warned_about_where_the_driver_ignores_it(
    requests: list[str],
) -> None:
    found = reviewed(behaving(requestsRequired=True), requests, requests=["a"])
    assert found.allowed
    assert [w.split(": ")[0] for w in found.warnings] == ["spec.devices.config[0].requests"][
        : not requests
    ]


def test_entries_of_classes_name_no_requests_anyway() -> None:
    thing = builders.device_class(builders.entry(KIND))
    assert validate_configs(behaving(requestsRequired=True), "DeviceClass", thing).warnings == ()


def test_an_entry_in_a_class_is_warned_about_where_the_driver_ignores_classes() -> None:
    registry = behaving(classesIgnored=True)
    found = validate_configs(registry, "DeviceClass", builders.device_class(builders.entry(KIND)))
    assert found.allowed
    assert found.warnings == (
        "spec.config[0]: Forbidden: the driver ignores configs in device classes",
    )
    assert reviewed(registry, ["a"], requests=["a"]).warnings == ()


@pytest.mark.parametrize(
    ("covers", "names", "warned"),
    [
        pytest.param(True, ["main"], False, id="the driver knows about alternatives"),
        pytest.param(False, ["main"], True, id="the driver looks up alternatives"),
        pytest.param(False, ["main/small", "main/large"], False, id="alternatives are named"),
        pytest.param(False, ["plain"], False, id="a request without alternatives"),
        pytest.param(False, [], False, id="every request"),
    ],
)
def test_an_entry_for_a_request_with_alternatives_may_not_reach_them(
    covers: bool, names: list[str], warned: bool
) -> None:
    registry = behaving(mainCoversSubrequests=covers)
    found = reviewed(registry, names, requests=[MAIN, "plain"])
    assert found.allowed
    assert [w.split(": ", 3)[0] for w in found.warnings] == ["spec.devices.config[0].requests[0]"][
        : int(warned)
    ]
    assert all("main/small, main/large" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("precedence", "entries", "shadowed"),
    [
        pytest.param("LastWins", [["a"], ["a"]], [0], id="the last one wins"),
        pytest.param("FirstWins", [["a"], ["a"]], [1], id="the first one wins"),
        pytest.param("Merge", [["a"], ["a"]], [], id="both count"),
        pytest.param("LastWins", [["a"], ["b"]], [], id="for different requests"),
        pytest.param("LastWins", [["a", "b"], ["b"]], [], id="for one request more"),
        pytest.param("LastWins", [["b"], []], [0], id="beaten by one for all"),
        pytest.param("LastWins", [[], ["b"]], [], id="beats one for all partly"),
    ],
)
def test_an_entry_that_another_always_beats_is_warned_about(
    precedence: str, entries: list[list[str]], shadowed: list[int]
) -> None:
    found = reviewed(behaving(precedence=precedence), *entries, requests=["a", "b"])
    assert found.allowed
    paths = [v.error.path for v in found.violations if "has no effect" in v.error.detail]
    assert paths == [f"spec.devices.config[{index}]" for index in shadowed]


def test_entries_of_different_kinds_may_be_for_different_devices() -> None:
    registry = builders.registry(
        builders.schema(builders.config(), {**builders.config(), "kind": "Other"})
    )
    entries = [builders.entry(KIND), builders.entry({**KIND, "kind": "Other"})]
    assert validate_configs(registry, "ResourceClaim", builders.claim(*entries)).violations == ()


def test_a_thousand_ignored_requests_hide_no_error() -> None:
    names = [f"r{index}" for index in range(32)]
    rules = {"precedence": "ExactlyOne", "mainCoversSubrequests": False}
    registry = builders.registry(builders.schema(builders.config({}), entries=rules))
    entries = [builders.entry(dict(builders.KIND), requests=[*names[:-1], "r31/a"]) for _ in names]
    claim = builders.claim(*entries, requests=[(name, ("a", "b")) for name in names])
    verdict = validate_configs(registry, "ResourceClaim", claim)
    assert "r31/a" in verdict.message
    assert 15 < len(verdict.violations) < 100
