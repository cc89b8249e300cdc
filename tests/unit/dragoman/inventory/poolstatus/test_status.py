"""Answers to ResourcePoolStatusRequests; after TestCalculatePoolStatus and views_test upstream."""

from typing import Any

import pytest

from dragoman.inventory.poolstatus.status import PoolFacts, is_incomplete, pool_statuses
from dragoman.model.allocated import AllocatedDevice, Details
from dragoman.model.slice import Slice, parse_slice
from dragoman.model.taints import parse_taint_rule

DRIVER = "gpu.example.com"
Json = dict[str, Any]


def a_slice(
    *devices: str | Json,
    name: str = "s",
    pool: str = "p",
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> Slice:
    items = [{"name": one} if isinstance(one, str) else one for one in devices]
    return parse_slice(
        {
            "metadata": {"name": name, "uid": f"uid-{name}"},
            "spec": {
                "driver": DRIVER,
                "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
                "nodeName": "node-1",
                "devices": items,
                **spec,
            },
        }
    )


def used(*devices: str, pool: str = "p", **more: Any) -> list[AllocatedDevice]:
    return [AllocatedDevice(DRIVER, pool, one, details=Details(**more)) for one in devices]


def rule(effect: str = "NoSchedule", **selector: str) -> Any:
    return parse_taint_rule(
        {
            "metadata": {"name": "r"},
            "spec": {"deviceSelector": selector, "taint": {"key": "k", "effect": effect}},
        }
    )


def status(*slices: Slice, devices: Any = (), rules: Any = (), **more: Any) -> Json:
    (found,) = pool_statuses(PoolFacts(slices, devices, rules), **more)
    return found


def counts(found: Json) -> tuple[int, int, int, int]:
    """Return total, allocated, available and unavailable devices."""
    names = ("totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices")
    return tuple(found[name] for name in names)


def tainted(name: str, effect: str = "NoExecute") -> Json:
    return {"name": name, "taints": [{"key": "k", "effect": effect}]}


def test_a_pool_is_counted() -> None:
    found = status(a_slice("a", "b", "c"), devices=used("a"))
    assert found == {
        "driver": DRIVER,
        "poolName": "p",
        "generation": 1,
        "nodeName": "node-1",
        "resourceSliceCount": 1,
        "totalDevices": 3,
        "allocatedDevices": 1,
        "availableDevices": 2,
        "unavailableDevices": 0,
    }


@pytest.mark.parametrize(
    ("devices", "allocated", "rules", "expected"),
    [
        pytest.param(["a", "b"], used("a", "a", "a"), [], (2, 1, 1, 0), id="shares count once"),
        pytest.param(["a", "b"], used("a", admin=True), [], (2, 0, 2, 0), id="admin access"),
        pytest.param(["a", "b"], used("gone"), [], (2, 1, 2, 0), id="gone, and yet allocated"),
        pytest.param(["a", "b"], used("a", pool="q"), [], (2, 0, 2, 0), id="another pool"),
        pytest.param([tainted("a"), "b"], [], [], (2, 0, 1, 1), id="tainted"),
        pytest.param([tainted("a", "None"), "b"], [], [], (2, 0, 2, 0), id="informing taint"),
        pytest.param(["a", "b"], [], [rule(device="b")], (2, 0, 1, 1), id="tainted by a rule"),
        pytest.param(["a", "b"], [], [rule("None")], (2, 0, 2, 0), id="rule without effect"),
        # Kubernetes 1.37 subtracts such a device twice.
        pytest.param([tainted("a"), "b"], used("a"), [], (2, 1, 1, 1), id="tainted and allocated"),
    ],
)
def test_devices_that_are_in_use_or_tainted_are_not_available(
    devices: list[Any], allocated: Any, rules: Any, expected: tuple[int, ...]
) -> None:
    assert counts(status(a_slice(*devices), devices=allocated, rules=rules)) == expected


def test_the_highest_generation_counts() -> None:
    found = status(a_slice("a", "b"), a_slice("c", name="t", generation=2))
    assert (found["generation"], found["totalDevices"]) == (2, 1)


def test_a_pool_on_several_nodes_names_none() -> None:
    other = a_slice("b", name="t", count=2, nodeName="node-2")
    assert "nodeName" not in status(a_slice("a", count=2), other)


def test_an_incomplete_pool_has_no_counts() -> None:
    found = status(a_slice("a", count=3))
    assert is_incomplete(found)
    assert "totalDevices" not in found
    assert found["validationError"] == (
        "PoolIncomplete: pool gpu.example.com/p is incomplete: observed 1/3 slices at generation 1"
    )


def test_a_pool_that_the_scheduler_ignores_says_why() -> None:
    found = status(a_slice("a", count=2), a_slice("a", name="t", count=2))
    assert found["validationError"].startswith("PoolInvalid: ")
    assert "duplicate device name a" in found["validationError"]
    assert not is_incomplete(found)


def test_pools_are_sorted() -> None:
    slices = [a_slice("a", name=name, pool=name) for name in ("q", "r", "p")]
    assert [one["poolName"] for one in pool_statuses(PoolFacts(slices))] == ["p", "q", "r"]


# Views of partitions and shares -------------------------------------------------------------------

COUNTERS = [{"name": "set", "counters": {"memory": {"value": "80Gi"}}}]


def partition(name: str, kind: str, memory: str, attribute: str = "profile") -> Json:
    consumes = [{"counterSet": "set", "counters": {"memory": {"value": memory}}}]
    return {
        "name": name,
        "attributes": {attribute: {"string": kind}},
        "consumesCounters": consumes,
    }


PARTITIONS = (
    partition("big-0", "big", "40Gi"),
    partition("big-1", "big", "40Gi"),
    partition("small-0", "small", "10Gi"),
    partition("small-1", "small", "10Gi"),
)
ATTRIBUTE = f"{DRIVER}/profile"


@pytest.fixture
def partitioned() -> tuple[Slice, Slice]:
    return (
        a_slice(name="counters", count=2, sharedCounters=COUNTERS),
        a_slice(*PARTITIONS, name="devices", count=2, partitionTypeAttribute=ATTRIBUTE),
    )


def allocatable(found: Json) -> dict[str, tuple[int, int]]:
    return {one["type"]: (one["total"], one["allocatable"]) for one in found["partitionSummary"]}


def test_partitions_are_counted_by_type(partitioned: tuple[Slice, ...]) -> None:
    assert allocatable(status(*partitioned)) == {"big": (2, 2), "small": (2, 2)}
    found = status(*partitioned, devices=used("big-0", "small-0"))
    # 30Gi are left: a big partition does not fit any more.
    assert allocatable(found) == {"big": (2, 0), "small": (2, 1)}
    assert found["partitionSummary"][0]["attribute"] == ATTRIBUTE


def test_a_server_of_1_36_gets_no_views(partitioned: tuple[Slice, ...]) -> None:
    assert "partitionSummary" not in status(*partitioned, views=False)


def test_the_attribute_of_the_request_is_the_default() -> None:
    slices = a_slice(name="c", count=2, sharedCounters=COUNTERS), a_slice(*PARTITIONS, count=2)
    assert "partitionSummary" not in status(*slices)
    assert set(allocatable(status(*slices, attribute=ATTRIBUTE))) == {"big", "small"}


@pytest.mark.parametrize(
    ("devices", "attribute", "error"),
    [
        ((partition("a", "x", "1Gi", "other"),), ATTRIBUTE, "PartitionTypeMissing: device"),
        (
            (partition("a", "x", "1Gi"), partition("b", "x", "2Gi")),
            ATTRIBUTE,
            "PartitionCostMismatch: ",
        ),
        (
            tuple(partition(f"d{index}", f"t{index}", "1Gi") for index in range(33)),
            ATTRIBUTE,
            "PartitionSummaryOverCap: ",
        ),
    ],
)
def test_a_view_that_cannot_be_computed_says_why(
    devices: tuple[Json, ...], attribute: str, error: str
) -> None:
    counters = a_slice(name="c", count=2, sharedCounters=COUNTERS)
    found = status(counters, a_slice(*devices, count=2), attribute=attribute)
    assert found["validationError"].startswith(error)
    assert "partitionSummary" not in found
    assert found["totalDevices"] == len(devices)


def test_an_attribute_without_counters_is_an_error() -> None:
    found = status(a_slice("a", partitionTypeAttribute=ATTRIBUTE))
    assert found["validationError"].startswith("PartitionTypeMissing: pool")


def shareable(name: str, memory: str) -> Json:
    return {
        "name": name,
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": memory}},
    }


def test_shares_are_summed() -> None:
    shares = used("a", consumed=(("memory", "10Gi"),)) + used("a", consumed=(("memory", "5Gi"),))
    exclusive = used("x", consumed=(("memory", "99Gi"),))
    slices = a_slice(shareable("a", "40Gi"), shareable("b", "40Gi"), "x")
    assert status(slices, devices=[*shares, *exclusive])["shareableSummary"] == {
        "fullyAvailableDevices": 1,
        "partiallyAvailableDevices": 1,
        "capacity": [{"name": "memory", "total": "80Gi", "consumed": "15Gi", "available": "65Gi"}],
    }


def test_more_is_consumed_than_there_is() -> None:
    held = used("a", consumed=(("memory", "99Gi"),))
    (capacity,) = status(a_slice(shareable("a", "40Gi")), devices=held)["shareableSummary"][
        "capacity"
    ]
    assert capacity["available"] == "0"


def test_too_many_capacities_are_an_error() -> None:
    device = shareable("a", "1") | {
        "capacity": {f"c{index}": {"value": "1"} for index in range(33)}
    }
    assert status(a_slice(device))["validationError"].startswith("ShareableSummaryOverCap: ")


def test_errors_are_cut() -> None:
    found = status(a_slice("a", pool="p" * 400, count=2))
    assert len(found["validationError"]) == 256
