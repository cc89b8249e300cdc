"""Why claims do not fit, with the numbers that a person needs."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.allocation import Allocated, Code, Profile, Reason, allocate, profile
from tests.unit.allocation.objects import (
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
    *slices: Json, asked: Json | None = None, budget: int = 1000, **world: Any
) -> list[Reason]:
    found = cluster(*slices, **world)
    claims = pod(asked or claim())
    outcome = allocate("node-1", claims, found, reasons=True, budget=budget)
    assert not isinstance(outcome, Allocated)
    return list(outcome.reasons)


def only(found: list[Reason], code: Code) -> Reason:
    matching = [reason for reason in found if reason.code is code]
    assert len(matching) == 1, found
    return matching[0]


def details(found: list[Reason], code: Code) -> dict[str, Any]:
    return dict(only(found, code).details)


def test_nothing_is_explained_unless_it_is_asked_for() -> None:
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


def test_selectors_show_what_they_read() -> None:
    attributes = {"model": {"string": "a100"}}
    expression = 'device.attributes["gpu.example.com"].model == "h100"'
    found = reasons(
        slice_("s", [device("d", attributes=attributes)]),
        asked=claim("c", request("r", 1, expression)),
    )
    reason = only(found, Code.SELECTOR_REJECTED)
    assert reason.details == {
        "origin": "claim default/c",
        "index": 0,
        "expression": expression,
        "values": {"attributes[gpu.example.com].model": "a100"},
    }
    assert (reason.claim, reason.request) == ("default/c", "r")
    assert str(reason.device) == "gpu.example.com/node-1/d"
    assert "a100" in str(reason)


def test_a_selector_that_fails_is_told_beside_the_error() -> None:
    found = reasons(
        slice_("s", [device("d")]),
        classes=[device_class("gpu", 'device.attributes["gpu.example.com"].model == "x"')],
    )
    assert [reason.code for reason in found][:2] == [Code.CEL_ERROR, Code.CEL_ERROR]
    assert found[1].details["message"] == "no such key: model"


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
    found = reasons(item, asked=asks("2Gi"), claims=[share("one", "4Gi"), share("two", "2Gi")])
    assert details(found, Code.CAPACITY_EXCEEDED) == {
        "capacity": "memory",
        "requested": "2Gi",
        "rounded": "3Gi",
        "free": "2Gi",
        "value": "8Gi",
        "holders": ("default/one", "default/two"),
    }
    found = reasons(item, asked=asks("1", "cores"))
    assert details(found, Code.CAPACITY_UNKNOWN) == {"capacity": "cores"}
    bounded = slice_("s", [shared({"default": "1Gi", "validRange": {"min": "1Gi", "max": "2Gi"}})])
    assert details(reasons(bounded, asked=asks("4Gi")), Code.CAPACITY_POLICY) == {
        "capacity": "memory",
        "requested": "4Gi",
        "rounded": "4Gi",
    }
    whole = slice_("s", [device("d", capacity={"memory": {"value": "1Gi"}})])
    assert details(reasons(whole, asked=asks("2Gi")), Code.CAPACITY_EXCEEDED)["free"] == "1Gi"


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
    }


def test_constraints_and_combinations() -> None:
    constraint = [{"matchAttribute": "gpu.example.com/numa"}]
    asked = claim("c", request("r", 2), constraints=constraint)
    without = slice_("s", [device("d"), device("e")])
    found = [one for one in reasons(without, asked=asked) if one.code is Code.CONSTRAINT_FAILED]
    assert [dict(one.details) for one in found] == [
        {"index": 0, "attribute": "gpu.example.com/numa", "kind": "matchAttribute"}
    ] * 2
    apart = slice_("s", [device(str(n), attributes={"numa": {"int": n}}) for n in range(2)])
    found = reasons(apart, asked=asked)
    assert [reason.code for reason in found] == [Code.NO_COMBINATION]
    assert found[0].details == {"constraints": ("gpu.example.com/numa",), "counts": ("r=2",)}


def test_a_device_of_another_node() -> None:
    elsewhere = slice_(
        "s",
        [device("here", nodeName="node-1"), device("there", nodeName="node-2")],
        perDeviceNodeSelection=True,
    )
    found = reasons(elsewhere, asked=claim("c", request("r", 2)))
    assert details(found, Code.NODE_MISMATCH) == {"node": "node-1"}


def test_the_time_out_of_the_scheduler() -> None:
    devices = [device(f"d{number}") for number in range(9)]
    asked = claim("c", request("r", 9), request("q", 1))
    found = reasons(slice_("s", devices), asked=asked, budget=5)
    assert details(found, Code.TIMEOUT) == {"steps": 5}
    assert only(found, Code.NO_COMBINATION)


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
    ("asked", "code"),
    [
        (request("r", deviceClassName="nope"), Code.CLASS_NOT_FOUND),
        (request("r", 33), Code.TOO_MANY_DEVICES),
        (request("r", allocationMode="Some"), Code.INVALID_REQUEST),
        ({"name": "r"}, Code.INVALID_REQUEST),
    ],
)
def test_what_ends_the_attempt_comes_first(asked: Json, code: Code) -> None:
    found = reasons(slice_("s", [device("d")]), asked=claim("c", asked))
    assert found[0].code is code
    assert "claim default/c" in str(found[0])
