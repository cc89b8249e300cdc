"""Versions and feature gates."""

import pytest

from dragoman.allocation import UnknownGateError, Variant, profile


@pytest.mark.parametrize(
    ("kubernetes", "gates", "variant"),
    [
        ("1.34", {}, Variant.STABLE),
        ("1.35", {}, Variant.STABLE),
        ("v1.36.3", {}, Variant.INCUBATING),
        ("1.37", {}, Variant.INCUBATING),
        ("1.38", {}, Variant.STABLE),
        ("1.38", {"DRAListTypeAttributes": True}, Variant.INCUBATING),
        ("1.36", {"AllAlpha": True}, Variant.INCUBATING),
        ("1.37", {"AllAlpha": True}, Variant.EXPERIMENTAL),
        ("1.37", {"DRAListTypeAttributes": True}, Variant.EXPERIMENTAL),
        ("1.36", {"AllBeta": False}, Variant.STABLE),
    ],
)
def test_the_first_allocator_that_supports_everything_runs(
    kubernetes: str, gates: dict[str, bool], variant: Variant
) -> None:
    assert profile(kubernetes, gates).variant is variant


def test_defaults_are_those_of_the_version() -> None:
    old, new = profile("1.34"), profile("1.36")
    assert old.features.enabled == {"AdminAccess", "PrioritizedList"}
    assert new.features.enabled - old.features.enabled == {
        "PartitionableDevices",
        "DeviceTaints",
        "DeviceBindingAndStatus",
        "ConsumableCapacity",
    }
    assert not profile("1.37").features.FractionalCapacityRange
    assert profile("1.38").features.FractionalCapacityRange
    assert (new.taint_rules, profile("1.37").taint_rules) == (False, True)
    assert (old.extended_resources, new.extended_resources) == (False, True)


def test_1_36_knows_lists_in_selectors_but_not_in_constraints() -> None:
    found = profile("1.36", {"DRAListTypeAttributes": True})
    assert found.list_attributes
    assert not found.features.ListTypeAttributes


def test_binding_conditions_need_both_gates() -> None:
    assert profile("1.36").features.DeviceBindingAndStatus
    for gate in ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"):
        assert not profile("1.36", {gate: False}).features.DeviceBindingAndStatus


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ({"DRATypo": True}, "feature gate DRATypo does not exist in Kubernetes 1.36"),
        ({"DRADerivedAttributes": True}, "DRADerivedAttributes does not exist in Kubernetes 1.36"),
        ({"DRAAdminAccess": False}, "DRAAdminAccess is locked to true in Kubernetes 1.36"),
    ],
)
def test_a_gate_that_does_not_exist_is_named(gates: dict[str, bool], message: str) -> None:
    with pytest.raises(UnknownGateError, match=message):
        profile("1.36", gates)


@pytest.mark.parametrize("text", ["", "1", "latest", "1.33", "1.x", "9" * 100])
def test_a_version_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Kubernetes"):
        profile(text)
