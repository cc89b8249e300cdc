"""States of devices, holders, and the rows of `top`."""

from typing import Any

import pytest

from dragoman.allocation import profile
from dragoman.inventory.inventory import DeviceState, Inventory
from dragoman.inventory.usage import summary
from dragoman_toolkit import quotas
from tests.support import manifests as objects
from tests.support.worlds.inventory import (
    CLASS,
    DRIVER,
    claim,
    device,
    device_class,
    held,
    inventory,
    pod,
    pool,
)

TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}


def states(taken: Inventory) -> dict[str, DeviceState]:
    return {key.device: one.state for key, one in taken.devices.items()}


def partition(name: str, memory: str) -> dict[str, Any]:
    amounts = {"memory": {"value": memory}}
    return device(name, consumesCounters=[{"counterSet": "set", "counters": amounts}])


def partitioned(*devices: dict[str, Any], memory: str) -> list[dict[str, Any]]:
    counters = pool("n", [], part=1, resourceSliceCount=2)
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [
        {"name": "set", "counters": {"memory": {"value": memory}}}
    ]
    return [pool("n", list(devices), resourceSliceCount=2), counters]


@pytest.mark.parametrize(
    ("manifests", "state"),
    [
        pytest.param([], DeviceState.FREE, id="idle"),
        pytest.param([held(claim(), ("n", "d"))], DeviceState.USED, id="allocated"),
        pytest.param(
            [held(claim(), ("n", "d"), adminAccess=True)], DeviceState.FREE, id="with admin access"
        ),
        pytest.param(
            [held(claim("dragoman-hold-1"), ("n", "d"))], DeviceState.HELD, id="kept out of service"
        ),
        pytest.param([held(claim(), ("n", "other"))], DeviceState.FREE, id="another is allocated"),
    ],
)
def test_state_by_claims(manifests: list[Any], state: DeviceState) -> None:
    taken = inventory(device_class(), pool("n", ["d"]), *manifests)
    assert states(taken)["d"] is state


@pytest.mark.parametrize(
    ("effect", "state"),
    [
        ("NoSchedule", DeviceState.TAINTED),
        ("NoExecute", DeviceState.TAINTED),
        ("None", DeviceState.FREE),
        ("Future", DeviceState.FREE),
    ],
)
def test_state_by_taint(effect: str, state: DeviceState) -> None:
    tainted = device("d", taints=[{**TAINT, "effect": effect}])
    assert states(inventory(pool("n", [tainted])))["d"] is state


def test_a_rule_taints_devices_where_rules_are_on() -> None:
    rule = {
        "kind": "DeviceTaintRule",
        "metadata": {"name": "rule"},
        "spec": {"deviceSelector": {"pool": "n"}, "taint": TAINT},
    }
    manifests = (pool("n", ["d"]), pool("m", ["d"]), rule)
    on = inventory(*manifests, of=profile("1.36", {"DRADeviceTaintRules": True}))
    assert {str(key): one.state for key, one in on.devices.items()} == {
        f"{DRIVER}/m/d": DeviceState.FREE,
        f"{DRIVER}/n/d": DeviceState.TAINTED,
    }
    off = inventory(*manifests, of=profile("1.36"))
    assert {one.state for one in off.devices.values()} == {DeviceState.FREE}


def test_a_device_in_no_slice_is_lost_and_counts_for_the_class_of_its_request() -> None:
    taken = inventory(device_class(), pool("n", ["d"]), held(claim(), ("n", "gone")))
    assert states(taken) == {"d": DeviceState.FREE, "gone": DeviceState.LOST}
    (row,) = summary.classes(taken)
    assert (row.devices, row.free, row.lost) == (1, 1, 1)


def test_no_device_is_lost_where_a_slice_cannot_be_read() -> None:
    broken = pool("n", ["gone"])
    broken["spec"]["devices"] = "many"
    taken = inventory(device_class(), broken, held(claim(), ("n", "gone")))
    assert [one.plural for one in taken.world.malformed] == ["resourceslices"]
    assert states(taken) == {"gone": DeviceState.USED}


def test_free_partitions_are_those_that_fit_one_after_the_other() -> None:
    parts = [partition("big", "8Gi"), *(partition(f"small-{i}", "2Gi") for i in range(4))]
    taken = inventory(device_class(), *partitioned(*parts, memory="8Gi"))
    (row,) = summary.classes(taken)
    # The scheduler takes the big one first, and then nothing is left.
    assert (row.devices, row.free, row.blocked) == (5, 1, 4)


def test_partitions_without_counters_left_are_blocked() -> None:
    parts = [partition("a", "6Gi"), partition("b", "4Gi"), partition("c", "2Gi")]
    taken = inventory(device_class(), *partitioned(*parts, memory="8Gi"), held(claim(), ("n", "a")))
    assert states(taken) == {"a": DeviceState.USED, "b": DeviceState.BLOCKED, "c": DeviceState.FREE}


def test_shares_add_up() -> None:
    shared = device(
        "d", allowMultipleAllocations=True, capacity={f"{DRIVER}/memory": {"value": "8Gi"}}
    )
    claims = [
        held(
            claim(f"c{index}"),
            ("n", "d"),
            shareID=f"share-{index}",
            consumedCapacity={f"{DRIVER}/memory": "1Gi"},
        )
        for index in range(2)
    ]
    (row,) = summary.classes(inventory(device_class(), pool("n", [shared]), *claims))
    (share,) = row.shares
    assert (share.consumed >> 30, share.total >> 30) == (2 * 10**9, 8 * 10**9)
    assert row.used == 1


def test_a_class_whose_selector_fails_says_so_and_selects_nothing() -> None:
    broken = device_class()
    broken["spec"]["selectors"] = [
        {"cel": {"expression": f"device.attributes['{DRIVER}'].missing == 1"}}
    ]
    (row,) = summary.classes(inventory(broken, pool("n", ["d"])))
    assert row.devices == 0
    assert "no such key: missing" in row.failure


def test_holders_down_to_the_container() -> None:
    user = pod(claims={"gpu": "claim"}, node="n")
    user["spec"]["containers"].append({"name": "sidecar", "image": "pause"})
    taken = inventory(pool("n", ["d"]), held(claim(), ("n", "d"), pods=[user]), user)
    (found,) = taken.devices.values()
    (holding,) = found.holdings
    assert [(one.key, one.containers) for one in holding.users] == [("ns/pod", ("main",))]


def test_the_pods_of_a_group_hold_what_is_reserved_for_it() -> None:
    group = {"podGroupName": "group"}
    members = [pod(f"w-{one}", claims={"gpu": "claim"}, schedulingGroup=group) for one in "ab"]
    made = held(claim(), ("n", "a"))
    reserved = {"resource": "podgroups", "name": "group", "uid": "g"}
    made["status"]["reservedFor"] = [{"apiGroup": "scheduling.k8s.io", **reserved}]
    other = pod("other", schedulingGroup=group)
    taken = inventory(pool("n", ["a"]), made, *members, other)
    (one,) = taken.devices.values()
    assert [(user.key, user.containers) for user in one.holdings[0].users] == [
        ("ns/w-a", ("main",)),
        ("ns/w-b", ("main",)),
    ]
    alone = inventory(pool("n", ["a"]), made)
    (row,) = summary.nodes(alone)
    assert row.users == (("podgroups.scheduling.k8s.io/ns/group", 1),)


def test_a_container_uses_only_the_request_that_it_names() -> None:
    user = pod(claims={"gpu": "claim"}, node="n")
    user["spec"]["containers"][0]["resources"]["claims"][0]["request"] = "other"
    taken = inventory(pool("n", ["d"]), held(claim(), ("n", "d"), pods=[user]), user)
    (found,) = taken.devices.values()
    assert found.holdings[0].users[0].containers == ()


def test_pods_that_wait_count_for_the_classes_of_their_claims() -> None:
    manifests = [
        device_class(),
        pool("n", ["d"]),
        claim("waits"),
        pod("waits", claims={"gpu": "waits"}),
        pod("gated", claims={"gpu": "waits"}, schedulingGates=[{"name": "later"}]),
        pod("templated", templates={"gpu": "template"}),
        objects.template("template", "ns", CLASS),
    ]
    (row,) = summary.classes(inventory(*manifests))
    assert row.pending == 2
    waiting = {one.pod: one.waiting for one in summary.pods(inventory(*manifests))}
    assert waiting == {"ns/templated": ("gpu (template template)",), "ns/waits": ("waits",)}


def test_pods_wait_for_extended_resources_that_a_class_serves() -> None:
    served = device_class()
    served["spec"]["extendedResourceName"] = "example.com/gpu"
    asking = pod()
    asking["spec"]["containers"][0]["resources"] = {"requests": {"example.com/gpu": "2"}}
    on = inventory(served, asking, of=profile("1.36", {"DRAExtendedResource": True}))
    (row,) = summary.classes(on)
    assert row.pending == 1
    (waits,) = summary.pods(on)
    assert waits.waiting == ("example.com/gpu (class gpu)",)
    off = inventory(served, asking, of=profile("1.36", {"DRAExtendedResource": False}))
    assert summary.pods(off) == ()


def test_nodes_name_users_taints_and_broken_pools() -> None:
    user = pod(claims={"gpu": "claim"}, node="n")
    taken = inventory(
        device_class(),
        pool("n", ["a", "b", device("c", taints=[TAINT])]),
        pool("m", ["a"], resourceSliceCount=2),
        held(claim(), ("n", "a"), pods=[user]),
        held(claim("idle"), ("n", "b")),
        user,
    )
    broken, row = summary.nodes(taken)
    assert (row.node, row.free, row.devices) == ("n", 0, 3)
    assert row.users == (("claim ns/idle", 1), ("ns/pod", 1))
    assert [one.id.device for one in row.tainted] == ["c"]
    assert (broken.node, broken.devices, [str(one) for one in broken.pools]) == (
        "m",
        0,
        [f"{DRIVER}/m"],
    )


QUOTA = {
    "kind": "ResourceQuota",
    "metadata": {"name": "quota", "namespace": "ns"},
    "spec": {"hard": {f"{CLASS}.deviceclass.resource.k8s.io/devices": "8", "pods": "3"}},
}


@pytest.mark.parametrize(("amount", "devices"), [("64", 64), ("1k", 1000), ("2Ki", 2048)])
def test_the_limit_of_a_quota_is_a_quantity(amount: str, devices: int) -> None:
    hard = {f"{CLASS}.deviceclass.resource.k8s.io/devices": amount}
    (row,) = quotas.namespaces(inventory({**QUOTA, "spec": {"hard": hard}}))
    assert row.classes["gpu"].hard == devices


def test_quotas_charge_by_the_spec_and_say_why_that_is_not_what_is_held() -> None:
    everything = claim("all", allocationMode="All")
    del everything["spec"]["devices"]["requests"][0]["exactly"]["count"]
    taken = inventory(
        pool("n", ["a", "b", "c"]),
        held(everything, ("n", "a"), ("n", "b")),
        claim("waits", count=3),
        held(claim("plain"), ("n", "c")),
        QUOTA,
    )
    (row,) = quotas.namespaces(taken)
    assert (row.held, row.idle) == (3, 0)
    charge = row.classes[CLASS]
    assert (charge.charged, charge.hard) == (32 + 3 + 1, 8)
    assert charge.differences == (
        "32 for allocationMode All in claim all, which has 2",
        "3 for claims without devices",
    )


def test_alternatives_are_charged_with_their_maximum_for_each_class() -> None:
    made = claim()
    made["spec"]["devices"]["requests"] = [
        {
            "name": "r",
            "firstAvailable": [
                {"name": "a", "deviceClassName": "x", "count": 2, "allocationMode": "ExactCount"},
                {"name": "b", "deviceClassName": "x", "count": 1, "allocationMode": "ExactCount"},
                {"name": "c", "deviceClassName": "y", "count": 4, "allocationMode": "ExactCount"},
            ],
        }
    ]
    (row,) = quotas.namespaces(inventory(made))
    assert {name: one.charged for name, one in row.classes.items()} == {"x": 2, "y": 4}


def test_claims_reserved_by_nothing_are_idle_after_an_hour() -> None:
    old = held(claim("old"), ("n", "a"))
    old["metadata"]["creationTimestamp"] = "2026-11-22T10:00:00Z"
    fresh = held(claim("fresh"), ("n", "b"))
    fresh["metadata"]["creationTimestamp"] = "2026-11-22T10:00:00Z"
    fresh["metadata"]["managedFields"] = [
        {"subresource": "status", "time": "2026-11-22T11:30:00Z", "manager": "m"}
    ]
    (row,) = quotas.namespaces(inventory(pool("n", ["a", "b"]), old, fresh))
    assert (row.held, row.idle) == (2, 1)
