"""What the driver decides about claims: devices, configs, refusals."""

from typing import Any

import pytest

from tests.support.driver.config import Config
from tests.support.driver.messages import ClaimReference
from tests.support.driver.preparation import RefusalError, prepare

DRIVER = "gpu.example.com"
REFERENCE = ClaimReference("ns", "uid-1", "one")


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
    assert ready.configs == {"device-0": Config()}
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
    assert ready.configs["device-0"].label == label


def test_an_entry_for_the_main_request_covers_its_subrequests() -> None:
    seen = claim(config(parameters(label="a"), "gpu"), request="gpu/big")
    assert prepare(REFERENCE, seen, DRIVER, ()).configs["device-0"].label == "a"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        pytest.param(parameters(lable="x"), 'unknown field "lable"', id="a mistyped field"),
        pytest.param(parameters(mode="Both"), "mode: 'Both' is none of", id="an unknown mode"),
        pytest.param(parameters(label=5), "label: not a printable text", id="a number for a text"),
        pytest.param(parameters(label="x" * 64), "at most 63 characters", id="a long text"),
        pytest.param(parameters(label="a\0b"), "not a printable text", id="an unprintable text"),
        pytest.param(parameters(label=None), "label: not a printable text", id="null for a text"),
        pytest.param(parameters(mode=["Shared"]), "is none of", id="a list for a mode"),
        pytest.param(parameters(mode=None), "mode: None is none of", id="null for a mode"),
        pytest.param(parameters(Label="x"), 'unknown field "Label"', id="a field in other letters"),
        pytest.param({"kind": "GpuConfig"}, "unknown config None, GpuConfig", id="no apiVersion"),
        pytest.param(parameters(kind="NicConfig"), "v1, NicConfig: .* is known", id="another kind"),
        pytest.param(parameters(apiVersion="gpu.example.com/v2"), "v2, Gpu", id="a newer version"),
        pytest.param(
            parameters(apiVersion=1), "unknown config 1, Gpu", id="a number for a version"
        ),
        pytest.param({}, "unknown config None, None", id="an empty object"),
        pytest.param([parameters()], "parameters: list is no object", id="a list"),
        pytest.param(None, "parameters: NoneType is no object", id="nothing"),
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
        pytest.param(None, "claim ns/one is gone", id="deleted"),
        pytest.param(claim(uid="uid-2"), "claim ns/one is gone", id="replaced by its namesake"),
        pytest.param({"metadata": {"uid": "uid-1"}}, "claim ns/one is not allocated", id="free"),
    ],
)
def test_a_claim_that_is_not_there_any_more_is_refused(
    seen: dict[str, Any] | None, complaint: str
) -> None:
    with pytest.raises(RefusalError, match=complaint):
        prepare(REFERENCE, seen, DRIVER, ())
