"""Why claims do not fit, with the numbers that a person needs."""

from typing import Any

import pytest

from dragoman.allocation import Allocated, Code, Profile, Reason, allocate, profile
from tests.unit.dragoman.allocation.objects import (
    Json,
    claim,
    cluster,
    device,
    device_class,
    held,
    node,
    pod,
    request,
    slice_,
)


def reasons(
    *slices: Json, wanted: Json | None = None, budget: int = 1000, **world: Any
) -> list[Reason]:
    found = cluster(*slices, **world)
    claims = pod(wanted or claim())
    outcome = allocate("node-1", claims, found, reasons=True, budget=budget)
    assert not isinstance(outcome, Allocated)
    return list(outcome.reasons)


def only(found: list[Reason], code: Code) -> Reason:
    matching = [reason for reason in found if reason.code is code]
    assert len(matching) == 1, found
    return matching[0]


def details(found: list[Reason], code: Code) -> dict[str, Any]:
    return dict(only(found, code).details)


def test_nothing_is_explained_unless_reasons_are_wanted() -> None:
    outcome = allocate("node-1", pod(), cluster())
    assert not isinstance(outcome, Allocated)
    assert outcome.reasons == ()


def test_no_slice() -> None:
    assert [reason.code for reason in reasons()] == [
        Code.NO_SLICE_FOR_NODE,
        Code.NOT_ENOUGH_DEVICES,
    ]


def test_pools() -> None:
    short = slice_("s", [device("d")])
    short["spec"]["pool"]["resourceSliceCount"] = 3
    assert details(reasons(short), Code.POOL_INCOMPLETE) == {
        "have": 1,
        "want": 3,
        "generation": 1,
    }
    twice = slice_("s", [device("d"), device("d")])
    assert details(reasons(twice), Code.POOL_INVALID) == {"reason": "duplicate device name d"}
    newer = slice_("n", [device("d")])
    newer["spec"] |= {"nodeName": "node-2"}
    newer["spec"]["pool"] |= {"generation": 7, "resourceSliceCount": 2}
    old = slice_("s", [device("d")])
    old["spec"]["pool"] |= {"resourceSliceCount": 2}
    found = reasons(old, newer, nodes=[node("node-1"), node("node-2")])
    assert details(found, Code.POOL_OBSOLETE) == {"generation": 1, "newer": 7, "slice": "s"}


def test_an_incomplete_pool_serves_in_1_34_but_not_an_invalid_one() -> None:
    short = slice_("s", [device("d")])
    short["spec"]["pool"]["resourceSliceCount"] = 3
    old = profile("1.34")
    assert isinstance(allocate("node-1", pod(), cluster(short, of=old)), Allocated)
    found = reasons(short, wanted=claim("c", request(count=2)), of=old)
    assert [reason.code for reason in found] == [Code.NOT_ENOUGH_DEVICES]
    twice = slice_("s", [device("d"), device("d")])
    assert reasons(twice, of=old)[0].code is Code.POOL_INVALID


def test_selectors_show_what_they_read() -> None:
    attributes = {"model": {"string": "a100"}}
    expression = 'device.attributes["gpu.example.com"].model == "h100"'
    found = reasons(
        slice_("s", [device("d", attributes=attributes)]),
        wanted=claim("c", request("r", 1, expression)),
    )
    reason = only(found, Code.SELECTOR_REJECTED)
    assert reason.details == {
        "origin": "claim default/c",
        "index": 0,
        "expression": expression,
        "parts": (expression,),
        "values": {"attributes[gpu.example.com].model": "a100"},
    }
    assert (reason.claim, reason.request) == ("default/c", "r")
    assert str(reason.device) == "gpu.example.com/node-1/d"
    assert "a100" in str(reason)


def test_a_selector_that_fails_is_one_reason_with_what_it_read() -> None:
    expression = 'device.attributes["gpu.example.com"].model == "x"'
    devices = [device("d", attributes={"model": {"string": "y"}}), device("e"), device("f")]
    found = reasons(slice_("s", devices), classes=[device_class("gpu", expression)])
    assert [
        (reason.code, reason.request, reason.device and reason.device.device) for reason in found
    ] == [
        (Code.CEL_ERROR, "r", "e"),
        (Code.SELECTOR_REJECTED, "r", "d"),
    ]
    assert found[0].details == {
        "origin": "class gpu",
        "index": 0,
        "expression": expression,
        "parts": (expression,),
        "values": {"attributes[gpu.example.com].model": "unset"},
        "message": "class gpu: selector #0: CEL runtime error: no such key: model",
    }


def test_a_selector_that_the_search_did_not_reach_is_no_error() -> None:
    late = claim("c", request("a", 2), request("b", 1, 'device.attributes["x.example.com"].y == 1'))
    found = reasons(slice_("s", [device("d")]), wanted=late)
    assert [reason.code for reason in found] == [Code.NOT_ENOUGH_DEVICES]
    assert found[0].request == "a"
    in_use = reasons(
        slice_("s", [device("d")]),
        claims=[held("one", "d")],
        classes=[device_class("gpu", 'device.attributes["x.example.com"].y == 1')],
    )
    assert [reason.code for reason in in_use] == [Code.CEL_ERROR, Code.NOT_ENOUGH_DEVICES]


OBSTACLES = [
    Code.DEVICE_IN_USE,
    Code.SELECTOR_REJECTED,
    Code.NODE_MISMATCH,
    Code.CAPACITY_UNKNOWN,
    Code.COUNTERS_EXCEEDED,
    Code.TAINT_NOT_TOLERATED,
    Code.CONSTRAINT_FAILED,
]


@pytest.mark.parametrize("solved", range(len(OBSTACLES)))
@pytest.mark.parametrize("mode", ["ExactCount", "All"])
def test_the_first_obstacle_is_the_one_that_the_search_meets_first(mode: str, solved: int) -> None:
    stands = set(OBSTACLES[solved:])
    one: Json = {"nodeName": "node-2" if Code.NODE_MISMATCH in stands else "node-1"}
    if Code.CAPACITY_UNKNOWN not in stands:
        one["capacity"] = {"memory": {"value": "2Gi"}}
    if Code.TAINT_NOT_TOLERATED in stands:
        one["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    need = "9" if Code.COUNTERS_EXCEEDED in stands else "1"
    one["consumesCounters"] = [{"counterSet": "card", "counters": {"slices": {"value": need}}}]
    one["attributes"] = {"model": {"string": "x" if Code.SELECTOR_REJECTED in stands else "y"}}
    other = {**one, "nodeName": "node-1", "taints": [], "capacity": {"memory": {"value": "2Gi"}}}
    sets = slice_("c", [], allNodes=True)
    sets["spec"] |= {"sharedCounters": [{"name": "card", "counters": {"slices": {"value": "8"}}}]}
    parts = slice_("s", [device("d", **one), device("e", **other)], perDeviceNodeSelection=True)
    for item in (sets, parts):
        item["spec"]["pool"]["resourceSliceCount"] = 2
    body = request(
        "r",
        1,
        'device.attributes["gpu.example.com"].model == "y"',
        allocationMode=mode,
        capacity={"requests": {"memory": "1Gi"}},
    )
    found = reasons(
        sets,
        parts,
        wanted=claim("c", body, constraints=[{"matchAttribute": "gpu.example.com/numa"}]),
        claims=[held("other", "d")] if Code.DEVICE_IN_USE in stands else [],
    )
    (reason,) = [one for one in found if one.device and one.device.device == "d"]
    expected = OBSTACLES[solved]
    if expected is Code.DEVICE_IN_USE:
        expected = Code.SELECTOR_REJECTED  # a device that is not meant is not in use for the pod
    if mode == "All" and expected is Code.CONSTRAINT_FAILED:
        assert reason is found[0]  # ends the attempt
    assert reason.code is expected


def test_a_device_that_a_request_for_all_does_not_mean_is_not_lost() -> None:
    taints = [{"key": "broken", "effect": "NoSchedule"}]
    devices = [device("here", nodeName="node-1"), device("there", nodeName="node-2", taints=taints)]
    everything = claim("c", request("r", 0, allocationMode="All"), request("q", 2))
    found = reasons(slice_("s", devices, perDeviceNodeSelection=True), wanted=everything)
    assert {(one.code, one.request) for one in found} == {
        (Code.NODE_MISMATCH, "r"),
        (Code.NODE_MISMATCH, "q"),
        (Code.NOT_ENOUGH_DEVICES, "q"),
    }


@pytest.mark.parametrize(("kubernetes", "meant"), [("1.36", 1), ("1.37", 2)])
def test_a_device_that_others_exhausted_is_left_out_of_all_up_to_1_36(
    kubernetes: str, meant: int
) -> None:
    capacity = {"memory": {"value": "8Gi"}}
    full = device("d", allowMultipleAllocations=True, capacity=capacity)
    taints = [{"key": "broken", "effect": "NoSchedule"}]
    tainted = device("e", capacity=capacity, taints=taints)
    wanted = request("r", 0, allocationMode="All", capacity={"requests": {"memory": "1Gi"}})
    found = reasons(
        slice_("s", [full, tainted]),
        wanted=claim("c", wanted),
        claims=[share("one", "8Gi")],
        of=profile(kubernetes),
    )
    assert details(found, Code.NOT_ENOUGH_DEVICES) == {
        "wanted": "all",
        "meant": meant,
        "usable": 0,
        "seen": 2,
    }
    assert details(found, Code.CAPACITY_EXCEEDED)["free"] == "0"


def test_devices_in_use_name_their_holders() -> None:
    found = reasons(slice_("s", [device("d")]), claims=[held("one", "d"), held("two", "d")])
    assert details(found, Code.DEVICE_IN_USE) == {"holders": ("default/one", "default/two")}
    assert details(found, Code.NOT_ENOUGH_DEVICES) == {"wanted": 1, "usable": 0, "seen": 1}


def shared(policy: Json | None = None) -> Json:
    capacity: Json = {"value": "8Gi", **({"requestPolicy": policy} if policy else {})}
    return device("d", allowMultipleAllocations=True, capacity={"memory": capacity})


def share(name: str, amount: str) -> Json:
    return held(name, "d", shareID=f"{name}-share", consumedCapacity={"memory": amount})


def asks(amount: str, capacity: str = "memory") -> Json:
    return claim("c", request("r", capacity={"requests": {capacity: amount}}))


def test_capacity() -> None:
    item = slice_("s", [shared({"default": "1Gi", "validRange": {"min": "1Gi", "step": "2Gi"}})])
    found = reasons(item, wanted=asks("2Gi"), claims=[share("one", "4Gi"), share("two", "2Gi")])
    assert details(found, Code.CAPACITY_EXCEEDED) == {
        "capacity": "memory",
        "requested": "2Gi",
        "rounded": "3Gi",
        "free": "2Gi",
        "value": "8Gi",
        "holders": ("default/one", "default/two"),
    }
    found = reasons(item, wanted=asks("1", "cores"))
    assert details(found, Code.CAPACITY_UNKNOWN) == {"capacity": "cores"}
    bounded = slice_("s", [shared({"default": "1Gi", "validRange": {"min": "1Gi", "max": "2Gi"}})])
    assert details(reasons(bounded, wanted=asks("4Gi")), Code.CAPACITY_POLICY) == {
        "capacity": "memory",
        "requested": "4Gi",
        "rounded": "4Gi",
    }
    whole = slice_("s", [device("d", capacity={"memory": {"value": "1Gi"}})])
    assert details(reasons(whole, wanted=asks("2Gi")), Code.CAPACITY_EXCEEDED)["free"] == "1Gi"


def test_counters() -> None:
    def part(name: str, amount: str) -> Json:
        counters = {"slices": {"value": amount}}
        return device(name, consumesCounters=[{"counterSet": "card", "counters": counters}])

    sets = slice_("c", [])
    sets["spec"] |= {"sharedCounters": [{"name": "card", "counters": {"slices": {"value": "7"}}}]}
    parts = slice_("s", [part("a", "4"), part("b", "5")])
    for item in (sets, parts):
        item["spec"]["pool"]["resourceSliceCount"] = 2
    found = reasons(parts, sets, claims=[held("one", "a")])
    assert details(found, Code.COUNTERS_EXCEEDED) == {
        "set": "card",
        "counter": "slices",
        "need": "5",
        "free": "3",
        "short": "2",
        "holders": ("default/one",),
    }


def test_taints() -> None:
    taints = [{"key": "broken", "value": "x", "effect": "NoSchedule"}]
    found = reasons(slice_("s", [device("d", taints=taints)]))
    assert details(found, Code.TAINT_NOT_TOLERATED) == {
        "key": "broken",
        "value": "x",
        "effect": "NoSchedule",
        "rule": "",
        "taints": ("broken=x:NoSchedule",),
    }


def test_constraints_and_combinations() -> None:
    constraint = [{"matchAttribute": "gpu.example.com/numa"}]
    wanted = claim("c", request("r", 2), constraints=constraint)
    without = slice_("s", [device("d"), device("e")])
    found = [one for one in reasons(without, wanted=wanted) if one.code is Code.CONSTRAINT_FAILED]
    assert [dict(one.details) for one in found] == [
        {"index": 0, "attribute": "gpu.example.com/numa", "kind": "matchAttribute"}
    ] * 2
    apart = slice_("s", [device(str(n), attributes={"numa": {"int": n // 2}}) for n in range(3)])
    found = reasons(apart, wanted=claim("c", request("r", 3), constraints=constraint))
    assert [reason.code for reason in found] == [Code.CONSTRAINT_FAILED, Code.NO_COMBINATION]
    assert found[0].details == {
        "index": 0,
        "attribute": "gpu.example.com/numa",
        "kind": "matchAttribute",
        "wanted": 3,
        "values": {"0": 2, "1": 1},
    }
    assert "0=2, 1=1" in str(found[0])
    assert found[1].details == {
        "constraints": ("gpu.example.com/numa",),
        "counts": ("r=3",),
        "usable": ("r=3",),
        "devices": 3,
        "values": {"gpu.example.com/numa": {"0": 2, "1": 1}},
    }


def test_distinct_values_that_are_too_few() -> None:
    constraint = [{"distinctAttribute": "gpu.example.com/numa"}]
    same = slice_("s", [device(str(n), attributes={"numa": {"int": 7}}) for n in range(2)])
    found = reasons(same, wanted=claim("c", request("r"), request("q"), constraints=constraint))
    assert details(found, Code.CONSTRAINT_FAILED)["values"] == {"7": 2}


def test_a_constraint_that_holds_is_no_reason_where_requests_compete() -> None:
    constraint = [{"matchAttribute": "gpu.example.com/numa"}]
    alone = slice_("s", [device("d", attributes={"numa": {"int": 7}})])
    found = reasons(alone, wanted=claim("c", request("r"), request("q"), constraints=constraint))
    assert [reason.code for reason in found] == [Code.NO_COMBINATION]
    assert (found[0].details["counts"], found[0].details["devices"]) == (("r=1", "q=1"), 1)


def test_a_device_of_another_node() -> None:
    elsewhere = slice_(
        "s",
        [device("here", nodeName="node-1"), device("there", nodeName="node-2")],
        perDeviceNodeSelection=True,
    )
    found = reasons(elsewhere, wanted=claim("c", request("r", 2)))
    assert details(found, Code.NODE_MISMATCH) == {"node": "node-1"}


def test_the_time_out_of_the_scheduler() -> None:
    devices = [device(f"d{number}") for number in range(9)]
    wanted = claim("c", request("r", 9), request("q", 1))
    found = reasons(slice_("s", devices), wanted=wanted, budget=5)
    assert [reason.code for reason in found] == [Code.TIMEOUT]
    assert found[0].details == {"steps": 5, "looks": 5}


@pytest.mark.parametrize(
    ("gate", "what", "of"),
    [
        pytest.param(
            "DRADeviceBindingConditions",
            {"bindingConditions": ["ready"], "bindingFailureConditions": ["bad"]},
            profile("1.36", {"DRADeviceBindingConditions": False}),
            id="binding",
        ),
    ],
)
def test_a_gate_that_is_off(gate: str, what: Json, of: Profile) -> None:
    found = reasons(slice_("s", [device("d", **what)]), of=of)
    assert details(found, Code.FEATURE_DISABLED) == {"gate": gate}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (request("r", deviceClassName="nope"), Code.CLASS_NOT_FOUND),
        (request("r", 33), Code.TOO_MANY_DEVICES),
        (request("r", allocationMode="Some"), Code.INVALID_REQUEST),
        ({"name": "r"}, Code.INVALID_REQUEST),
    ],
)
def test_what_ends_the_attempt_comes_first(wanted: Json, code: Code) -> None:
    found = reasons(slice_("s", [device("d")]), wanted=claim("c", wanted))
    assert found[0].code is code
    assert "claim default/c" in str(found[0])
