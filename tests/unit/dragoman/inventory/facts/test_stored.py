"""Facts of ResourceSlices and DeviceTaintRules, as informers keep them."""

from typing import Any

import pytest

from dragoman.allocation import PoolID, Taint
from dragoman.inventory.facts.stored import PROGRESS, StoredRule, StoredSlice
from dragoman.model.conditions import Condition
from dragoman.model.fields import MalformedObjectError

TAINT = {"key": "broken", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
METADATA = {"name": "n", "uid": "u", "resourceVersion": "7"}


def a_slice(*devices: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": METADATA,
        "spec": {
            "driver": "gpu.example.com",
            "pool": {"name": "node-1", "generation": 3, "resourceSliceCount": 2},
            "devices": list(devices),
        },
    }


def test_a_slice_keeps_names_and_taints() -> None:
    found = StoredSlice.parse(a_slice({"name": "a"}, {"name": "b", "taints": [TAINT]}))
    assert found.pool_id == PoolID("gpu.example.com", "node-1")
    assert (found.generation, found.slice_count) == (3, 2)
    assert found.devices == ("a", "b")
    assert found.taints == {"b": (Taint("broken", "NoExecute", "", "", "2026-01-01T00:00:00Z"),)}
    assert found.content is None


def test_content_is_kept_where_it_is_needed() -> None:
    document = a_slice({"name": "a", "attributes": {"model": {"string": "x"}}})
    found = StoredSlice.parse(document, content=True)
    assert found.content is not None
    assert found.content.devices[0].content.attributes == {"model": {"string": "x"}}


def test_devices_of_v1beta1_are_unwrapped() -> None:
    document = a_slice({"name": "a", "basic": {"taints": [TAINT]}}, version="v1beta1")
    assert set(StoredSlice.parse_v1beta1(document).taints) == {"a"}


def test_a_malformed_slice_names_the_field() -> None:
    with pytest.raises(MalformedObjectError, match=r"spec\.devices\[0\]\.name: expected a string"):
        StoredSlice.parse(a_slice({"name": 5}))


def a_rule(**more: Any) -> dict[str, Any]:
    return {
        "metadata": {**METADATA, "generation": 4, **more.pop("metadata", {})},
        "spec": {"deviceSelector": {"driver": "gpu.example.com"}, "taint": TAINT},
        **more,
    }


def test_a_rule_keeps_its_condition_and_who_wrote_it() -> None:
    message = "1 pod evicted since starting the controller."
    condition = {
        "type": "EvictionInProgress",
        "status": "False",
        "reason": "Completed",
        "message": message,
        "observedGeneration": 4,
        "lastTransitionTime": "2026-01-01T00:00:10Z",
    }
    managed = [
        {"manager": "kubectl", "time": "2026-01-02T00:00:00Z"},
        {"manager": "device-taint-eviction-controller", "time": "2026-01-01T00:00:10Z"},
    ]
    found = StoredRule.parse(
        a_rule(status={"conditions": [condition]}, metadata={"managedFields": managed})
    )
    assert found.generation == 4
    assert found.rule.driver == "gpu.example.com"
    assert found.rule.taint.added == TAINT["timeAdded"]
    assert found.progress == Condition(PROGRESS, "False", "Completed", message, 4)
    assert found.stock_stamp == "2026-01-01T00:00:10Z"


def test_a_new_rule_has_no_condition() -> None:
    found = StoredRule.parse(a_rule())
    assert found.progress is None
    assert found.stock_stamp == ""
