"""Binding conditions and metadata of devices, as the pretended driver writes them."""

import json
from pathlib import Path
from typing import Any

from dragoman_drivers.conformance.scenarios.sharing import wrong_metadata
from dragoman_drivers.kubeletplugin.messages import ClaimReference, PreparedDevice
from dragoman_drivers.pretend import metadata
from dragoman_drivers.pretend.binding import decided
from dragoman_drivers.pretend.preparation import Preparation

DRIVER, POOL, NOW = "gpu.example.com", "n", "2026-01-01T00:00:00Z"
CLAIM = ClaimReference("ns", "uid-1", "one")


def claim(*results: dict[str, Any], devices: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    status: dict[str, Any] = {"allocation": {"devices": {"results": [*results]}}}
    return {"status": status | ({"devices": devices} if devices is not None else {})}


def result(device: str, *conditions: str, pool: str = POOL) -> dict[str, Any]:
    found: dict[str, Any] = {"driver": DRIVER, "pool": pool, "device": device}
    return found | ({"bindingConditions": [*conditions]} if conditions else {})


def ready(pod_claim: str = "") -> Preparation:
    device = PreparedDevice(("gpu",), POOL, "gpu-0", ("a/b=c",))
    return Preparation(CLAIM, (device,), {("gpu-0", ""): None}, frozenset(), (), pod_claim)


def test_binding_conditions_of_the_own_pool_become_true_once() -> None:
    seen = claim(result("a", "x/one", "x/two"), result("b"), result("c", "x/one", pool="other"))
    found = decided(seen, DRIVER, POOL, NOW)
    assert found is not None
    (entry,) = found
    assert entry["device"] == "a"
    assert {one["type"]: one["status"] for one in entry["conditions"]} == {
        "x/one": "True",
        "x/two": "True",
    }
    again = claim(result("a", "x/one", "x/two"), devices=found)
    assert decided(again, DRIVER, POOL, NOW) is None


def test_a_claim_without_allocation_or_conditions_is_left_alone() -> None:
    assert decided({}, DRIVER, POOL, NOW) is None
    assert decided(claim(result("a")), DRIVER, POOL, NOW) is None


def test_other_entries_of_a_claims_status_stay() -> None:
    other = {"driver": "net.example.com", "pool": "p", "device": "nic", "data": {"x": 1}}
    found = decided(claim(result("a", "x/one"), devices=[other]), DRIVER, POOL, NOW)
    assert found is not None
    assert found[0] == other


def test_metadata_is_found_in_containers_by_the_name_that_the_pod_knows() -> None:
    path = "/var/run/kubernetes.io/dra-device-attributes"
    assert metadata.inside(DRIVER, ready(), "gpu") == (
        f"{path}/resourceclaims/one/gpu/gpu.example.com-metadata.json"
    )
    assert metadata.inside(DRIVER, ready("mine"), "gpu") == (
        f"{path}/resourceclaimtemplates/mine/gpu/gpu.example.com-metadata.json"
    )
    ((outside, _),) = metadata.mounts(DRIVER, Path("/d"), ready())
    assert outside == Path("/d/dra-device-metadata/uid-1/gpu/metadata.json")


def test_metadata_names_claim_and_devices_and_other_metadata_is_wrong() -> None:
    text = metadata.text(DRIVER, ready(), "gpu")
    meta = {"uid": "uid-1"}
    assert wrong_metadata(text, meta, DRIVER, ["gpu-0"]) == ""
    assert wrong_metadata(text + text, meta, DRIVER, ["gpu-0"]) == ""
    assert "of claim uid-1" in wrong_metadata(text, {"uid": "uid-2"}, DRIVER, ["gpu-0"])
    assert "its devices are" in wrong_metadata(text, meta, DRIVER, ["gpu-1"])
    assert wrong_metadata("", meta, DRIVER, ["gpu-0"]) == "it is empty"
    assert "no DeviceMetadata" in wrong_metadata("{", meta, DRIVER, ["gpu-0"])
    other = json.dumps(json.loads(text) | {"apiVersion": "example.com/v1"})
    assert "is no DeviceMetadata" in wrong_metadata(other, meta, DRIVER, ["gpu-0"])
