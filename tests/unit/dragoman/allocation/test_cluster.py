"""A cluster that changes, and what an allocation says beside its devices."""

import copy
import gc
from typing import Any
from weakref import WeakSet

import pytest

from dragoman.allocation import (
    Allocated,
    Cluster,
    Content,
    DeviceID,
    DoesNotFit,
    FatalError,
    NodeError,
    Outcome,
    allocate,
    fits,
    parse_claim,
    parse_node,
    parse_slice,
    parse_taint_rule,
    profile,
)
from tests.unit.dragoman.allocation.objects import (
    DRIVER,
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


def devices(outcome: Outcome) -> list[str]:
    assert isinstance(outcome, Allocated), outcome
    return [one.device for allocation in outcome.allocations for one in allocation.devices]


def local(name: str, *names: str, **pool: Any) -> Json:
    """Make a slice of a node's own pool."""
    found = slice_(f"slice-{name}", [device(one) for one in names])
    found["spec"]["nodeName"] = name
    found["spec"]["pool"] = {"name": name, "generation": 1, "resourceSliceCount": 1, **pool}
    return found


def rule(name: str, effect: str = "NoSchedule", **selector: str) -> Json:
    taint = {"key": "broken", "effect": effect}
    spec = {"taint": taint, **({"deviceSelector": selector} if selector else {})}
    return {"metadata": {"name": name}, "spec": spec}


def test_each_claim_that_comes_or_goes_changes_what_is_free() -> None:
    world = cluster(local("node-1", "d0", "d1"))
    assert devices(allocate("node-1", pod(), world)) == ["d0"]
    world.put_claim(parse_claim(held("other", "d0")))
    assert devices(allocate("node-1", pod(), world)) == ["d1"]
    assert [holder.claim for holder in world.holders(DeviceID(DRIVER, "node-1", "d0"))] == [
        "default/other"
    ]
    world.put_claim(parse_claim(held("more", "d1")))
    assert isinstance(allocate("node-1", pod(), world), DoesNotFit)
    world.remove_claim("default/other")
    assert devices(allocate("node-1", pod(), world)) == ["d0"]


def test_a_slice_changes_its_own_node_only() -> None:
    nodes = [node("node-1"), node("node-2")]
    world = cluster(local("node-1", "a"), local("node-2", "b"), nodes=nodes)
    assert {name: devices(one) for name, one in fits(pod(), world).items()} == {
        "node-1": ["a"],
        "node-2": ["b"],
    }
    other = world.node_pools("node-2")
    world.put_slice(parse_slice(local("node-1", "c", generation=2)))
    assert world.node_pools("node-2") is other
    assert devices(allocate("node-1", pod(), world)) == ["c"]
    world.remove_slice("slice-node-1")
    assert isinstance(allocate("node-1", pod(), world), DoesNotFit)
    assert world.pools("node-1") == ()


def test_a_node_that_is_labelled_sees_other_pools() -> None:
    selector = {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "fabric", "operator": "In", "values": ["f1"]}]}]}  # fmt: skip
    world = cluster(slice_("s", [device("d")], nodeSelector=selector))
    assert isinstance(allocate("node-1", pod(), world), DoesNotFit)
    world.put_node(parse_node(node("node-1", fabric="f1")))
    outcome = allocate("node-1", pod(), world)
    assert devices(outcome) == ["d"]
    assert isinstance(outcome, Allocated)
    assert outcome.allocations[0].node_selector == selector


def test_a_virtual_node_needs_no_place_in_the_cluster() -> None:
    world = cluster(slice_("s", [device("d")], allNodes=True))
    outcome = allocate(parse_node(node("to-come")), pod(), world)
    assert devices(outcome) == ["d"]
    assert "to-come" not in world.nodes


def test_a_taint_rule_keeps_devices_back_until_it_goes() -> None:
    world = cluster(local("node-1", "d0", "d1"), of=profile("1.37"))
    world.put_taint_rule(parse_taint_rule(rule("r", driver=DRIVER, pool="node-1", device="d0")))
    assert devices(allocate("node-1", pod(), world)) == ["d1"]
    tolerations = [{"key": "broken", "operator": "Exists"}]
    tolerant = claim("c", request("r", tolerations=tolerations))
    outcome = allocate("node-1", pod(tolerant), world)
    assert devices(outcome) == ["d0"]
    assert isinstance(outcome, Allocated)
    assert outcome.allocations[0].document()["devices"]["results"][0]["tolerations"] == tolerations
    world.remove_taint_rule("r")
    assert devices(allocate("node-1", pod(), world)) == ["d0"]


def test_a_taint_rule_without_selector_taints_everything_in_1_36_only() -> None:
    gate = {"DRADeviceTaintRules": True}
    for kubernetes, fitting in (("1.36", False), ("1.37", True)):
        world = cluster(local("node-1", "d"), rules=[rule("r")], of=profile(kubernetes, gate))
        assert isinstance(allocate("node-1", pod(), world), Allocated) is fitting


def test_an_allocated_claim_only_has_to_be_usable_on_the_node() -> None:
    nodes = [node("node-1"), node("node-2")]
    world = cluster(local("node-1", "a", "b"), local("node-2", "c"), nodes=nodes)
    allocated = held("mine", "a")
    requirement = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
    allocated["status"]["allocation"]["nodeSelector"] = {
        "nodeSelectorTerms": [{"matchFields": [requirement]}]
    }
    world.put_claim(parse_claim(allocated))
    claims = pod(allocated, claim("new"))
    assert devices(allocate("node-1", claims, world)) == ["a", "b"]
    outcome = allocate("node-2", claims, world, reasons=True)
    assert isinstance(outcome, DoesNotFit)
    assert outcome.message == "resourceclaim not available on the node"
    assert outcome.reasons[0].code == "NodeSelectorMismatch"


def test_share_ids_are_the_caller_s() -> None:
    shared = device("d", allowMultipleAllocations=True, capacity={"memory": {"value": "8"}})
    wanted = claim("c", request("r", 1, capacity={"requests": {"memory": "2"}}))
    made = iter(["one", "two"])
    outcome = allocate(
        "node-1",
        pod(wanted, claim("d", request("r", capacity={"requests": {"memory": "6"}}))),
        cluster(slice_("s", [shared])),
        share_ids=lambda: next(made),
    )
    assert isinstance(outcome, Allocated)
    found = [one.devices[0] for one in outcome.allocations]
    assert [(one.share_id, one.consumed_capacity) for one in found] == [
        ("one", {"memory": "2"}),
        ("two", {"memory": "6"}),
    ]
    assert outcome.allocations is outcome.allocations


def test_errors_name_the_claim_of_each_pod_although_pods_share_a_template() -> None:
    world = cluster(local("node-1", "d"), classes=[device_class("gpu", "device.driver.bad")])
    for name in ("one", "two"):
        wrong = claim(name, request("r", 1, "1 +"))
        assert isinstance(allocate("node-1", pod(wrong), world), FatalError)
    world = cluster(local("node-1", "d"))
    for name in ("one", "two"):
        outcome = allocate("node-1", pod(claim(name, request("r", 1, "1 +"))), world)
        assert isinstance(outcome, FatalError)
        assert outcome.message.startswith(f"claim default/{name}: selector #0: CEL compile error")


def test_a_broken_pool_rules_out_its_node_only_if_nothing_else_fits() -> None:
    broken = local("node-1", "d", "d")
    world = cluster(broken)
    assert isinstance(allocate("node-1", pod(), world), NodeError)
    world.put_slice(parse_slice(slice_("free", [device("e")], allNodes=True, pool={
        "name": "z", "generation": 1, "resourceSliceCount": 1})))  # fmt: skip
    assert devices(allocate("node-1", pod(), world)) == ["e"]


def test_an_object_that_its_owner_changes_later_changes_no_parsed_one() -> None:
    original = local("node-1", "d0")
    original["spec"]["devices"][0]["attributes"] = {"model": {"string": "x"}}
    asking = claim("claim", request("r", 1, f'device.attributes["{DRIVER}"].model == "x"'))
    changed = copy.deepcopy(original)
    parsed = parse_slice(changed)
    changed["spec"]["devices"][0]["attributes"]["model"]["string"] = "y"
    assert devices(allocate("node-1", pod(asking), cluster(original))) == ["d0"]
    assert parsed.devices[0].name == "d0"


def test_a_document_that_its_reader_changes_changes_no_later_result() -> None:
    parameters = {"apiVersion": "v1", "kind": "K", "n": 1}
    config = [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
    asking = claim("claim", request(), config=config)
    world = cluster(local("node-1", "d0"))
    outcome = allocate("node-1", pod(asking), world)
    assert isinstance(outcome, Allocated)
    document = outcome.allocations[0].document()
    before = copy.deepcopy(document)
    document["devices"]["config"][0]["opaque"]["parameters"]["n"] = 2
    document["nodeSelector"].clear()
    again = allocate("node-1", pod(asking), world)
    assert isinstance(again, Allocated)
    assert again.allocations[0].document() == before


FABRIC = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "fabric", "operator": "Exists"}]}]}


@pytest.mark.parametrize("per_device", [False, True])
def test_nodes_on_one_fabric_share_its_pool(*, per_device: bool) -> None:
    devices = [device("d", **({"nodeSelector": FABRIC} if per_device else {}))]
    where: Json = {"perDeviceNodeSelection": True} if per_device else {"nodeSelector": FABRIC}
    world = cluster(
        slice_("s", devices, pool={"name": "f", "generation": 1, "resourceSliceCount": 1}, **where),
        local("node-1", "a"),
        nodes=[node("node-1", fabric="f1"), node("node-2", fabric="f1"), node("node-3")],
    )
    first, second = world.pools("node-1"), world.pools("node-2")
    assert [str(pool.id) for pool in first] == [f"{DRIVER}/f", f"{DRIVER}/node-1"]
    assert first[0] is second[0]
    assert world.pools("node-3") == ()
    world.put_claim(parse_claim(held("one", "d", pool="f")))
    assert devices_of(world) == ["a", "", ""]
    world.remove_claim("default/one")
    assert devices_of(world) == ["d", "d", ""]
    world.remove_slice("s")
    assert devices_of(world) == ["a", "", ""]


def devices_of(world: Cluster) -> list[str]:
    found = (allocate(name, pod(), world) for name in world.nodes)
    return [devices(one)[0] if isinstance(one, Allocated) else "" for one in found]


def test_a_slice_of_all_nodes_joins_the_pool_of_a_node() -> None:
    own, common = local("node-1", "a", resourceSliceCount=2), slice_("c", [device("b")])
    common["spec"]["pool"] = own["spec"]["pool"]
    del common["spec"]["nodeName"]
    common["spec"]["nodeSelector"] = FABRIC
    world = cluster(own, common, nodes=[node("node-1", fabric="f1")])
    assert [one.name for pool in world.pools("node-1") for one in pool.devices] == ["b", "a"]
    world.remove_slice("c")
    assert [pool.incomplete for pool in world.pools("node-1")] == [True]


def test_what_is_remembered_of_devices_goes_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.allocation.cluster._LEAST_STALE", 20)
    world = cluster()
    wanted = claim("c", request("r", 1, f'device.attributes["{DRIVER}"].serial != "x"'))
    made: WeakSet[Content] = WeakSet()
    for number in range(200):
        item = local("node-1", "d0", generation=number)
        item["spec"]["devices"][0]["attributes"] = {"serial": {"string": str(number)}}
        parsed = parse_slice(item)
        made.add(parsed.devices[0].content)
        world.put_slice(parsed)
        world.put_claim(parse_claim(held("other", "gone", pool=f"pool-{number}")))
        assert devices(allocate("node-1", pod(wanted), world)) == ["d0"]
        allocate("node-1", pod(claim("d", request("r", 9))), world, reasons=True)
    gc.collect()
    assert len(made) <= 25


def test_results_of_searches_are_forgotten_when_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.allocation.requests.environment._ENTRIES", 100)
    names = [f"d{number}" for number in range(12)]
    world = cluster(local("node-1", *names))
    for used in range(1, 1 << 9):
        taken = [name for number, name in enumerate(names) if used >> number & 1]
        world.put_claim(parse_claim(held("other", *taken)))
        expected = next(name for name in names if name not in taken)
        assert devices(allocate("node-1", pod(), world)) == [expected]
        assert world.prepared(pod()).size < 30


def test_a_pool_of_many_slices_is_seen_by_all_nodes_while_it_grows_and_shrinks() -> None:
    count = 100
    head = {"name": "p", "generation": 1, "resourceSliceCount": count}
    items = [
        parse_slice(slice_(f"s{number:03}", [device(f"d{number}")], allNodes=True, pool=head))
        for number in range(count)
    ]
    world = cluster(nodes=[node("node-1"), node("node-2")])
    for item in items[:-1]:
        world.put_slice(item)
    assert [pool.incomplete for pool in world.pools("node-1")] == [True]
    world.put_slice(items[-1])
    world.put_claim(parse_claim(held("one", "d0", pool="p")))
    assert devices(allocate("node-1", pod(), world)) == ["d1"]
    assert world.pools("node-1")[0] is world.pools("node-2")[0]
    world.remove_claim("default/one")
    assert devices(allocate("node-2", pod(), world)) == ["d0"]
    for item in items:
        world.remove_slice(item.name)
    assert world.pools("node-1") == ()


@pytest.mark.parametrize(
    ("kubernetes", "amounts", "said"),
    [
        ("1.37", ["-1"], ""),
        ("1.38", ["1"], ""),
        ("1.38", ["-1024Mi"], 'memory" must not be negative, got -1Gi'),
        ("1.38", ["-1", "-2"], "got -1 (and 1 more claims with invalid consumed capacity)"),
    ],
)
def test_a_claim_with_negative_capacity_stops_all_others(
    kubernetes: str, amounts: list[str], said: str
) -> None:
    shared = device("d", allowMultipleAllocations=True, capacity={"memory": {"value": "8"}})
    claims = [
        held(f"h{index}", "d", shareID=f"s{index}", consumedCapacity={"memory": amount})
        for index, amount in enumerate(amounts)
    ]
    slices = [slice_("s", [shared, device("e")])]
    world = cluster(*slices, claims=claims, of=profile(kubernetes))
    found = allocate("node-1", pod(claim()), world, reasons=True)
    assert isinstance(found, FatalError) == bool(said)
    if isinstance(found, FatalError):
        start = f"claim default/h0, device {DRIVER}/node-1/d: consumed capacity "
        assert found.message.startswith(start)
        assert found.message.endswith(said)
    for index in range(len(claims)):
        world.remove_claim(f"default/h{index}")
    assert isinstance(allocate("node-1", pod(claim()), world), Allocated)
