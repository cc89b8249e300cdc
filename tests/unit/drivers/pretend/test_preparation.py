"""What the driver decides about claims: devices, configs, refusals."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dragoman_configs.compile.registry import Registry
from dragoman_drivers.kubeletplugin.messages import ClaimReference
from dragoman_drivers.pretend.checkpoint import Checkpoint
from dragoman_drivers.pretend.configs import validator
from dragoman_drivers.pretend.driver import Driver
from dragoman_drivers.pretend.faults import Faults
from dragoman_drivers.pretend.preparation import (
    POD_CLAIM,
    Preparation,
    PreparationFacts,
    RefusalError,
)
from dragoman_drivers.pretend.preparation import prepare as decide
from tests.support.gpuconfig import schema

DRIVER = "gpu.example.com"
REFERENCE = ClaimReference("ns", "uid-1", "one")
VALIDATE = validator(DRIVER, Registry.of([schema(DRIVER)]))
DEVICES = {"device-0": {"name": "device-0", "capacity": {"memory": {"value": "10Gi"}}}}


def prepare(
    reference: ClaimReference, claim: Any, driver: str, others: Iterable[Preparation]
) -> Preparation:
    return decide(reference, claim, PreparationFacts(driver, DEVICES, VALIDATE, tuple(others)))


def parameters(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "gpu.example.com/v1", "kind": "GpuConfig"} | fields


def config(given: Any, *requests: str, driver: str = DRIVER) -> dict[str, Any]:
    return {"requests": [*requests], "opaque": {"driver": driver, "parameters": given}}


def claim(*configs: dict[str, Any], uid: str = "uid-1", **result: Any) -> dict[str, Any]:
    results = [
        {"request": "gpu", "driver": DRIVER, "pool": "n", "device": "device-0", **result},
        {"request": "nic", "driver": "nic.example.com", "pool": "n", "device": "nic-0"},
    ]
    allocation = {"devices": {"results": results, "config": [*configs]}}
    return {"metadata": {"uid": uid}, "status": {"allocation": allocation}}


def test_only_the_drivers_own_devices_are_prepared() -> None:
    ready = prepare(REFERENCE, claim(), DRIVER, ())
    assert [one.device for one in ready.devices] == ["device-0"]
    assert ready.configs == {("device-0", ""): None}
    assert ready.owned == {"device-0"}


@pytest.mark.parametrize(
    ("configs", "label"),
    [
        pytest.param([config(parameters(label="a"))], "a", id="an entry for all requests"),
        pytest.param([config(parameters(label="a"), "gpu")], "a", id="an entry for this request"),
        pytest.param([config(parameters(label="a"), "nic")], "", id="an entry for another one"),
        pytest.param(
            [config(parameters(label="a")), config(parameters(label="b"))],
            "b",
            id="the last counts",
        ),
        pytest.param([config({"x": 1}, driver="nic.example.com")], "", id="of another driver"),
    ],
)
def test_the_last_entry_that_covers_a_request_counts(
    configs: list[dict[str, Any]], label: str
) -> None:
    ready = prepare(REFERENCE, claim(*configs), DRIVER, ())
    assert (ready.configs["device-0", ""] or {}).get("label", "") == label


def test_an_entry_for_the_main_request_covers_its_subrequests() -> None:
    seen = claim(config(parameters(label="a"), "gpu"), request="gpu/big")
    ready = prepare(REFERENCE, seen, DRIVER, ())
    assert ready.configs["device-0", ""]["label"] == "a"
    assert [one.requests for one in ready.devices] == [("gpu",)]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        pytest.param(parameters(lable="x"), r"parameters.lable: .*unknown field", id="a typo"),
        pytest.param(parameters(mode="Both"), r"parameters.mode: .*Both", id="an unknown mode"),
        pytest.param(parameters(label=5), r"parameters.label: .*string", id="a number for a text"),
        pytest.param(parameters(label="x" * 64), r"parameters.label: ", id="a long text"),
        pytest.param(parameters(kind="NicConfig"), r"parameters.kind: ", id="another kind"),
        pytest.param({"kind": "GpuConfig"}, r"parameters.apiVersion: ", id="no apiVersion"),
        pytest.param([parameters()], "parameters: list is not an object", id="a list"),
        pytest.param(None, "parameters: NoneType is not an object", id="nothing"),
    ],
)
def test_a_config_that_cannot_be_decoded_is_refused(given: Any, complaint: str) -> None:
    with pytest.raises(RefusalError, match=complaint):
        prepare(REFERENCE, claim(config(given)), DRIVER, ())


def test_a_device_is_never_given_to_two_claims() -> None:
    first = prepare(ClaimReference("ns", "uid-0", "zero"), claim(uid="uid-0"), DRIVER, ())
    with pytest.raises(RefusalError, match="device-0 is in use by claim uid-0"):
        prepare(REFERENCE, claim(), DRIVER, [first])


def test_admin_access_looks_on_whoever_has_the_device() -> None:
    first = prepare(ClaimReference("ns", "uid-0", "zero"), claim(uid="uid-0"), DRIVER, ())
    admin = prepare(REFERENCE, claim(adminAccess=True), DRIVER, [first])
    assert [one.device for one in admin.devices] == ["device-0"]
    assert admin.owned == frozenset()


def test_a_bad_entry_is_refused_also_where_another_overrides_it() -> None:
    seen = claim(config(parameters(lable="x")), config(parameters(label="x")))
    with pytest.raises(RefusalError, match="lable"):
        prepare(REFERENCE, seen, DRIVER, ())


def test_shares_of_a_divided_device_are_prepared_for_several_claims() -> None:
    first = prepare(
        ClaimReference("ns", "uid-0", "zero"), claim(uid="uid-0", shareID="a"), DRIVER, ()
    )
    second = prepare(REFERENCE, claim(shareID="b"), DRIVER, [first])
    assert [one.share for one in second.devices] == ["b"]


@pytest.mark.parametrize(
    ("seen", "complaint"),
    [
        pytest.param(None, "claim ns/one with UID uid-1 is gone", id="deleted"),
        pytest.param(
            claim(uid="uid-2"), "claim ns/one with UID uid-1 is gone", id="replaced by its namesake"
        ),
        pytest.param({"metadata": {"uid": "uid-1"}}, "claim ns/one is not allocated", id="free"),
    ],
)
def test_a_claim_that_is_not_there_any_more_is_refused(
    seen: dict[str, Any] | None, complaint: str
) -> None:
    with pytest.raises(RefusalError, match=complaint):
        prepare(REFERENCE, seen, DRIVER, ())


def test_a_claim_without_devices_of_the_driver_is_refused() -> None:
    with pytest.raises(RefusalError, match=r"has no devices of other\.example\.com"):
        prepare(REFERENCE, claim(), "other.example.com", ())


def test_a_device_that_is_gone_is_named() -> None:
    with pytest.raises(RefusalError, match="device device-9 of claim ns/one is gone"):
        prepare(REFERENCE, claim(device="device-9"), DRIVER, ())


def test_admin_access_takes_no_config() -> None:
    with pytest.raises(RefusalError, match="admin access takes no config"):
        prepare(REFERENCE, claim(config(parameters(label="a")), adminAccess=True), DRIVER, ())


@pytest.mark.parametrize("name", ["memory", f"{DRIVER}/memory"])
def test_shares_never_consume_more_than_a_device_has(name: str) -> None:
    first = prepare(
        ClaimReference("ns", "uid-0", "zero"),
        claim(uid="uid-0", shareID="a", consumedCapacity={"memory": "6Gi"}),
        DRIVER,
        (),
    )
    with pytest.raises(RefusalError, match="shares consume more memory"):
        prepare(REFERENCE, claim(shareID="b", consumedCapacity={name: "5Gi"}), DRIVER, [first])
    second = claim(shareID="b", consumedCapacity={name: "4Gi"})
    assert prepare(REFERENCE, second, DRIVER, [first]).devices


@pytest.mark.hostile("kit")
@pytest.mark.parametrize("name", ["../..", "a/b", "a\nb", "a\0", "A", "-"])
def test_a_claim_whose_name_in_its_pod_is_none_is_refused(name: str) -> None:
    """The name becomes a part of paths in containers."""
    found = claim()
    found["metadata"]["annotations"] = {POD_CLAIM: name}
    with pytest.raises(RefusalError, match="is no name of a pod's claim"):
        prepare(REFERENCE, found, DRIVER, ())


@pytest.mark.hostile("kit")
@pytest.mark.parametrize("uid", ["..", ".", "", "a/b", "a\0b", "../checkpoint", "a" * 200])
def test_a_uid_of_no_object_removes_nothing(uid: str, tmp_path: Path) -> None:
    driver: Driver = object.__new__(Driver)
    driver.folder, driver.specs, driver.faults = tmp_path, tmp_path, Faults()
    driver._checkpoint = Checkpoint(tmp_path)
    (tmp_path / "serialize.lock").touch()
    (tmp_path / "checkpoint.json").write_text('{"version": 1, "claims": []}')
    before = sorted(tmp_path.rglob("*"))
    assert driver.unprepare_one(ClaimReference("ns", uid, "one")) == ""
    assert sorted(tmp_path.rglob("*")) == before
