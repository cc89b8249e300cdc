"""Rules about published slices: each finds the fault that the pretended driver can have."""

import copy
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from dragoman_drivers.conformance import slicerules
from dragoman_drivers.pretend.slices import PretendPool, manifests
from tests.support.mutants import slices as slicemutants

OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
DEVICES = (
    {
        "name": "gpu-0",
        "attributes": {"index": {"int": 0}, "driverVersion": {"version": "1.0.0"}},
        "capacity": {"memory": {"value": "80Gi"}},
    },
    {
        "name": "part-0",
        "attributes": {"index": {"int": 1}},
        "consumesCounters": [{"counterSet": "set", "counters": {"slices": {"value": "2"}}}],
    },
    {
        "name": "shared-0",
        "attributes": {"index": {"int": 2}},
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "80Gi"}},
    },
)
COUNTERS = ({"name": "set", "counters": {"slices": {"value": "8"}}},)
POOL = PretendPool("gpu.example.com", "n", DEVICES, COUNTERS)
Rule = Callable[[Sequence[Any]], str]


def taints(slices: Sequence[Any]) -> str:
    return slicerules.taints(slices, datetime(2026, 11, 24, tzinfo=UTC))


RULES: dict[str, Rule] = {
    "wrong-count": slicerules.complete,
    "twice": slicerules.unique,
    "orphan": slicerules.owned,
    "unknown-counter": slicerules.counters,
    "high-default": slicerules.policies,
    "future-taint": taints,
    "no-driver-version": slicerules.versions,
    "own-domain": slicerules.own_domain,
    "pci-root": slicerules.standard,
    "mixed-types": slicerules.one_type,
}


@pytest.mark.parametrize("mutant", RULES)
def test_a_rule_finds_its_fault_and_no_other_rule_does(mutant: str) -> None:
    slices = slicemutants.slices(manifests(POOL, 1, OWNER), [mutant], 0)
    found = [name for name, rule in RULES.items() if rule(slices)]
    # A device that is published twice is in a third slice, which the count includes.
    assert found == [mutant]


@pytest.mark.parametrize("rule", [*RULES.values(), slicerules.limits, slicerules.own_pools])
def test_good_slices_break_no_rule(rule: Rule) -> None:
    assert rule(manifests(POOL, 1, OWNER)) == ""


def test_a_list_has_the_type_of_its_elements() -> None:
    """As for doctor: matchAttribute compares them (KEP-5491)."""
    slices = manifests(POOL, 1, OWNER)
    with_devices = next(one for one in slices if one["spec"].get("devices"))
    first, second, *_ = with_devices["spec"]["devices"]
    first["attributes"]["numa"], second["attributes"]["numa"] = {"ints": [0, 1]}, {"int": 0}
    assert slicerules.one_type(slices) == ""
    second["attributes"]["numa"] = {"string": "0"}
    assert "numa is of type int in " in slicerules.one_type(slices)


@pytest.mark.parametrize(
    ("mutant", "nodes", "garbage"),
    [
        ("", {"u"}, 0),
        ("", set(), 2),
        ("stale-owner", {"u"}, 2),
        ("orphan", set(), 0),
    ],
)
def test_slices_are_garbage_where_no_owner_is_a_node_that_is_there(
    mutant: str, nodes: set[str], garbage: int
) -> None:
    slices = slicemutants.slices(manifests(POOL, 1, OWNER), [mutant], 0)
    assert len(slicerules.garbage(slices, nodes)) == garbage


def test_a_workload_is_an_owner_that_the_garbage_collector_does_not_follow() -> None:
    slices = manifests(POOL, 1, {**OWNER, "kind": "DaemonSet"})
    assert slicerules.owned(slices) == ""
    assert slicerules.garbage(slices, set()) == []


def test_nodes_must_not_share_a_pool_name() -> None:
    first, second = manifests(POOL, 1, OWNER), manifests(POOL, 1, OWNER)
    for one in second:
        one["spec"]["nodeName"] = "m"
    assert "share the pool name n" in slicerules.own_pools([*first, *second])


def test_a_generation_never_falls_and_rises_with_the_content() -> None:
    first = manifests(POOL, 2, OWNER)
    assert "fell from 2 to 1" in slicerules.generations([*first, *manifests(POOL, 1, OWNER)])
    changed = copy.deepcopy(first)
    changed[1]["spec"]["devices"].pop()
    assert "without a new generation" in slicerules.generations([*first, *changed])
    newer = manifests(POOL.without(frozenset({"gpu-0"})), 3, OWNER)
    assert slicerules.generations([*first, *newer]) == ""


@pytest.mark.parametrize(
    ("name", "problem"),
    [("gpu.example.com", ""), ("GPU.example.com", "lower case"), ("x" * 64, "at most 63")],
)
def test_names_of_drivers(name: str, problem: str) -> None:
    assert problem in slicerules.driver_name(name)
    assert bool(slicerules.driver_name(name)) == bool(problem)
