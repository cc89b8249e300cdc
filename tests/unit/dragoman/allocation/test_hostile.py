"""Input that no API server stores, or that is meant to hurt: documented errors, bounded time."""

import copy
import json
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.allocation import (
    Allocated,
    BudgetExceeded,
    Cluster,
    DoesNotFit,
    FatalError,
    MalformedObjectError,
    NodeError,
    UnknownNodeError,
    allocate,
    extended_resources,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
    parse_taint_rule,
    profile,
)
from tests.conformance.allocating.worlds import Json, generate
from tests.unit.dragoman.allocation.objects import (
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
from tests.unit.dragoman.allocation.test_properties import cluster_of, tries

JUNK: list[Any] = [
    None, True, -1, 0, 1 << 70, -(1 << 70), 1.5, "", "x" * 5000, "\0", "-1", "1e999999999", [], {},
    [[]], [None], {"": None}, {"value": "-5"}, ["a"] * 300, "9" * 600, "é", {"cel": None},
    "1Ei", "-8Ei",
]  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += paths(item, (*path, index))
    return found


def damaged(document: Any, random: Random) -> Any:
    """Put junk into a list of objects, or into an object, at some places."""
    document = json.loads(json.dumps(document))
    for _ in range(random.choice((1, 1, 2, 4))):
        path = random.choice([one for one in paths(document) if len(one) > 1])
        target = document
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = copy.deepcopy(random.choice(JUNK))
    return document


CONSUMES = {
    **dict.fromkeys(("driver", "pool", "device", "request"), "a"),
    "consumedCapacity": {"memory": "much"},
}


@tries(400)
@given(st.integers(0, 1 << 48), st.sampled_from(["1.36", "1.37"]))
def test_damaged_objects_raise_nothing_but_what_is_documented(seed: int, kubernetes: str) -> None:
    random = Random(seed)
    case = generate(random, kubernetes)
    part = random.choice(["node", "claims", "classes", "slices", "allocated"])
    assume(case[part])
    case[part] = damaged({"it": case[part]}, random)["it"]
    try:
        found = cluster_of(case)
        claims = [parse_claim(one) for one in case["claims"]]
    except MalformedObjectError:
        return
    try:
        outcome = allocate("node-1", claims, found, budget=20_000, reasons=True)
    except UnknownNodeError:
        assert part == "node"
        return
    if isinstance(outcome, Allocated):
        assert len(outcome.allocations) == len(claims)
        json.dumps([allocation.document() for allocation in outcome.allocations])
    else:
        assert outcome.message


@pytest.mark.parametrize(
    ("read", "document", "field"),
    [
        pytest.param(parse_slice, {}, "spec.driver", id="empty slice"),
        pytest.param(
            parse_slice,
            slice_("s", [device("d", capacity={"memory": {"value": "much"}})]),
            "spec.devices[0].capacity.memory.value",
            id="no quantity",
        ),
        pytest.param(
            parse_slice,
            slice_("s", [device("d", capacity={"memory": {"value": "1e999999999"}})]),
            "spec.devices[0].capacity.memory.value",
            id="giant quantity",
        ),
        pytest.param(
            parse_slice,
            slice_("s", [device("d", attributes={"a": 5})]),
            "spec.devices[0].attributes.a",
            id="attribute without a kind",
        ),
        pytest.param(
            parse_claim, claim("c", request("r", True)), "exactly.count", id="count is no number"
        ),
        pytest.param(
            parse_claim, claim("c", {"name": 5}), "spec.devices.requests[0].name", id="name"
        ),
        pytest.param(
            parse_claim,
            {
                **claim("c", request("r")),
                "status": {"allocation": {"devices": {"results": [CONSUMES]}}},
            },
            "status.allocation.devices.results[0].consumedCapacity.memory",
            id="no quantity is consumed",
        ),
        pytest.param(parse_class, device_class("c", 5), "selectors[0].cel.expression", id="class"),
        pytest.param(
            parse_node, {"metadata": {"name": "n", "labels": {"a": 1}}}, "labels.a", id="label"
        ),
        pytest.param(parse_taint_rule, {"metadata": {}}, "metadata.name", id="rule"),
    ],
)
def test_a_malformed_object_is_an_error_that_names_the_field(
    read: Any, document: Json, field: str
) -> None:
    with pytest.raises(MalformedObjectError) as error:
        read(document)
    assert field in str(error.value)


def test_missing_references_are_answered_not_raised() -> None:
    world = cluster(slice_("s", [device("d")]), claims=[held("other", "gone", pool="nowhere")])
    wrong_class = claim("c", request("r", deviceClassName="nope"))
    outcome = allocate("node-1", pod(wrong_class), world)
    assert isinstance(outcome, FatalError)
    assert 'deviceclass.resource.k8s.io "nope" not found' in outcome.message
    unknown = claim("c", request("r"), constraints=[{"requests": ["who"], "matchAttribute": "a/b"}])
    assert isinstance(allocate("node-1", pod(unknown), world), Allocated)
    with pytest.raises(UnknownNodeError):
        allocate("nowhere", pod(), world)


def test_unknown_counters_and_duplicate_devices_rule_the_node_out() -> None:
    consumes = [{"counterSet": "gone", "counters": {"c": {"value": "1"}}}]
    dangling = cluster(slice_("s", [device("d", consumesCounters=consumes)]))
    twice = cluster(slice_("s", [device("d"), device("d")]))
    for world in (dangling, twice):
        outcome = allocate("node-1", pod(), world, reasons=True)
        assert isinstance(outcome, NodeError)
        assert outcome.message == "invalid resource pools were encountered"


def test_negative_amounts_end_the_attempt_in_1_37_and_are_refused_nothing_in_1_36() -> None:
    capacity = {"memory": {"value": "-5"}}
    slices = [slice_("s", [device("d", capacity=capacity, allowMultipleAllocations=True)])]
    new = allocate("node-1", pod(), cluster(*slices, of=profile("1.37")))
    assert isinstance(new, FatalError)
    assert "capacity value is negative" in new.message
    assert isinstance(allocate("node-1", pod(), cluster(*slices)), Allocated)


def test_a_negative_count_asks_for_nothing() -> None:
    outcome = allocate("node-1", pod(claim("c", request("r", -3))), cluster(slice_("s", [])))
    assert isinstance(outcome, Allocated)
    assert outcome.allocations[0].devices == ()


def test_a_step_of_zero_is_not_divided_by() -> None:
    policy = {"default": "1", "validRange": {"min": "1", "step": "0"}}
    capacity = {"memory": {"value": "8", "requestPolicy": policy}}
    slices = [slice_("s", [device("d", capacity=capacity, allowMultipleAllocations=True)])]
    asked = claim("c", request("r", capacity={"requests": {"memory": "2"}}))
    assert isinstance(allocate("node-1", pod(asked), cluster(*slices)), DoesNotFit)


def test_looks_at_devices_are_bounded_beside_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = [device(f"d{n}", attributes={"numa": {"int": n}}) for n in range(200)]
    constraint = [{"matchAttribute": "gpu.example.com/numa"}]
    wanted = pod(claim("c", request("r", 2), constraints=constraint))
    world = cluster(slice_("s", apart))
    found = allocate("node-1", wanted, world, budget=300)
    assert found == DoesNotFit(201)
    assert found.looks == 200 + sum(range(200))
    monkeypatch.setattr("dragoman.allocation.search.search.LEAST_LOOKS", 1000)
    found = allocate("node-1", wanted, world, budget=300)
    assert isinstance(found, BudgetExceeded)
    assert found.steps < 201
    assert 1000 + 16 * 300 < found.looks <= 1000 + 16 * 300 + 200


@pytest.mark.parametrize("kubernetes", ["1.36", "1.37"])
def test_a_selector_of_10_mb_does_not_compile(kubernetes: str) -> None:
    expression = "true && " * 1_300_000 + "true"
    world = cluster(slice_("s", [device("d")]), of=profile(kubernetes))
    outcome = allocate("node-1", pod(claim("c", request("r", 1, expression))), world, reasons=True)
    assert isinstance(outcome, FatalError)
    assert outcome.message.startswith("claim default/c: selector #0: CEL compile error: ")


def test_a_class_that_names_itself_in_its_selector_is_only_text() -> None:
    world = cluster(slice_("s", [device("d")]), classes=[device_class("gpu", "gpu.gpu")])
    assert isinstance(allocate("node-1", pod(), world), FatalError)


def test_hundreds_of_claims_do_not_exhaust_the_stack() -> None:
    devices = [device(f"d{number:04d}") for number in range(1500)]
    claims = [claim(f"c{number}", request("r", 1)) for number in range(1500)]
    outcome = allocate("node-1", pod(*claims), cluster(slice_("s", devices)))
    assert isinstance(outcome, Allocated)
    assert len(outcome.allocations) == 1500


def test_a_search_that_explodes_ends_at_its_budget() -> None:
    devices = [device(f"d{number:02d}") for number in range(24)]
    outcome = allocate(
        "node-1", pod(claim("c", request("r", 25))), cluster(slice_("s", devices)), budget=50_000
    )
    assert outcome == BudgetExceeded(50_000)


def test_a_huge_count_is_one_comparison() -> None:
    world = cluster(slice_("s", [device("d")]))
    outcome = allocate(
        "node-1", pod(claim("c", request("r", 1 << 62), request("q", 1 << 62))), world
    )
    assert isinstance(outcome, FatalError)
    assert outcome.steps == 0


def test_deeply_nested_parameters_are_carried_along() -> None:
    nested: Json = {}
    for _ in range(300):
        nested = {"n": nested}
    config = [{"opaque": {"driver": "d", "parameters": nested}}]
    outcome = allocate(
        "node-1", pod(claim("c", config=config)), cluster(slice_("s", [device("d")]))
    )
    assert isinstance(outcome, Allocated)
    assert outcome.allocations[0].config[0].document == config[0]


def test_an_empty_cluster_serves_nothing() -> None:
    world = Cluster(nodes=[parse_node({"metadata": {"name": "n"}})])
    assert isinstance(allocate("n", [], world), Allocated)
    assert isinstance(allocate("n", pod(), world), FatalError)


@pytest.mark.parametrize("damaged", [5, [], None, "pod"])
def test_a_pod_that_is_no_object_is_malformed(damaged: Any) -> None:
    world = cluster()
    with pytest.raises(MalformedObjectError):
        extended_resources(damaged, parse_node(node()), world)
