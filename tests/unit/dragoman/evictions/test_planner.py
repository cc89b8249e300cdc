"""Which pods are evicted, when and why."""

from dataclasses import replace
from typing import Any

import pytest

from dragoman.evictions.preview import plan_evictions, preview
from tests.unit.dragoman.claims.objects import claim, group, pod
from tests.unit.dragoman.evictions.builders import (
    DRIVER,
    T0,
    a_rule,
    a_slice,
    facts,
    holding,
    pair,
    result,
    taint,
)

BROKEN = a_slice(gpu_0=taint())
EXISTS = {"operator": "Exists"}


def planned(*objects: Any, now: float = T0, **more: Any) -> dict[str, float]:
    """Return the seconds until each eviction, by pod."""
    found = plan_evictions(facts(*objects, **more), now)
    return {one.pod.metadata.name: one.after for one in found}


def for_seconds(key: str, seconds: int) -> dict[str, Any]:
    return {"key": key, **EXISTS, "effect": "NoExecute", "tolerationSeconds": seconds}


def tolerating(*tolerations: dict[str, Any]) -> dict[str, float]:
    return planned(*pair("a", result("gpu-0", *tolerations)), BROKEN)


def test_a_pod_on_a_tainted_device_is_evicted_now() -> None:
    (found,) = plan_evictions(facts(*pair(), BROKEN), T0 + 5)
    assert found.after == 0
    assert found.due.when == T0
    assert [str(one) for one in found.due.reasons] == [f"taint 0 of device {DRIVER}/node-1/gpu-0"]


@pytest.mark.parametrize("effect", ["NoSchedule", "None", "Unknown"])
def test_other_effects_evict_nobody(effect: str) -> None:
    assert planned(*pair(), a_slice(gpu_0=taint(effect=effect)), a_rule(effect=effect)) == {}


@pytest.mark.parametrize(
    ("tolerations", "after"),
    [
        ([], {"a": 0.0}),
        ([{**EXISTS, "effect": "NoExecute"}], {}),
        ([{**EXISTS, "effect": "NoExecute", "tolerationSeconds": 5}], {"a": 5.0}),
        ([{**EXISTS, "effect": "NoExecute", "tolerationSeconds": -5}], {"a": 0.0}),
        ([{**EXISTS, "effect": "NoSchedule"}], {"a": 0.0}),
        ([{"key": "other", **EXISTS, "effect": "NoExecute"}], {"a": 0.0}),
        ([{"key": "broken", "value": "", "effect": "NoExecute"}], {}),
        ([{"key": "broken", "value": "x", "effect": "NoExecute"}], {"a": 0.0}),
        (
            [
                {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 60},
                {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 30},
            ],
            {"a": 30.0},
        ),
        (
            [
                {**EXISTS, "effect": "NoExecute"},
                {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 60},
            ],
            {},
        ),
        # Unlike the stock controller: no effect means every effect.
        ([EXISTS], {}),
        ([{**EXISTS, "tolerationSeconds": 7}], {"a": 7.0}),
    ],
)
def test_tolerations_of_the_allocation_count(
    tolerations: list[dict[str, Any]], after: dict[str, float]
) -> None:
    assert tolerating(*tolerations) == after


def test_a_clock_that_lags_delays_no_eviction() -> None:
    """A taint that is seen was not added in the future: only what is tolerated is waited for."""
    toleration = {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 5}
    both = (*pair("a"), *pair("b", result("gpu-0", toleration)), BROKEN)
    assert planned(*both, now=T0 - 3600) == {"a": 0.0, "b": 5.0}


def test_many_toleration_seconds_do_not_overflow() -> None:
    forever = {**EXISTS, "effect": "NoExecute", "tolerationSeconds": 2**63 - 1}
    assert tolerating(forever)["a"] > 1e10


def test_the_earliest_of_several_taints_counts() -> None:
    tolerated = (for_seconds("slow", 60), for_seconds("broken", 10))
    user, held = pair("a", result("gpu-0", *tolerated), result("gpu-1", *tolerated))
    slow = a_slice(gpu_0=taint("slow"), gpu_1=taint("slow", after=-20))
    assert planned(user, held, slow) == {"a": 40.0}
    both = a_slice(gpu_0=[taint("slow"), taint("broken")])
    assert planned(user, held, both) == {"a": 10.0}


def test_the_earliest_of_two_claims_counts_with_the_reasons_of_both() -> None:
    user, first = pair("a", result("gpu-0", for_seconds("broken", 9)))
    user = user.using("more", claim="second")
    devices = result("gpu-1", for_seconds("broken", 3))
    second = holding(claim("second", namespace="ns").reserved_for(user), devices)
    found = plan_evictions(facts(user, first, second, a_slice(gpu_0=taint(), gpu_1=taint())), T0)
    assert [one.after for one in found] == [3.0]
    assert [one.device for one in found[0].due.reasons] == ["gpu-0", "gpu-1"]


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, True),
        ({"absent": True}, False),
        ({"driver": DRIVER}, True),
        ({"driver": "other"}, False),
        ({"pool": "node-1"}, True),
        ({"pool": "node-2"}, False),
        ({"device": "gpu-0"}, True),
        ({"driver": DRIVER, "pool": "node-1", "device": "gpu-0"}, True),
        ({"driver": DRIVER, "pool": "node-1", "device": "gpu-1"}, False),
    ],
)
def test_a_rule_selects_devices_by_name(selector: dict[str, Any], selected: bool) -> None:
    rule = a_rule(selector=selector)
    # No slice is needed: the device may be gone.
    assert planned(*pair(), rule) == ({"a": 0.0} if selected else {})
    assert preview(rule, facts(*pair(), BROKEN)).published == int(selected)


def test_rules_come_first_among_the_reasons_by_name() -> None:
    (found,) = plan_evictions(facts(*pair(), BROKEN, a_rule("b"), a_rule("a")), T0)
    texts = [str(one) for one in found.due.reasons]
    assert texts[:2] == ["DeviceTaintRule a", "DeviceTaintRule b"]
    assert len(texts) == 3


USER, HELD = pair()


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param((USER.on(""), HELD), id="unscheduled"),
        pytest.param((USER.in_phase("Succeeded"), HELD), id="succeeded"),
        pytest.param((USER.in_phase("Failed"), HELD), id="failed"),
        pytest.param((USER.deleting(), HELD), id="deleting"),
        pytest.param((USER,), id="no claim"),
        pytest.param((USER.changed("status", "resourceClaimStatuses", to=[]), HELD), id="unnamed"),
        pytest.param((USER, HELD.changed("status", "allocation", to=None)), id="not allocated"),
        pytest.param((USER, HELD.changed("status", "reservedFor", to=[])), id="not reserved"),
        pytest.param(
            (USER, HELD.changed("status", "reservedFor", to=[]).reserved_for(pod("a"))),
            id="reserved for another pod of this name",
        ),
        pytest.param((USER, HELD.owned_by(pod("other"))), id="generated for another pod"),
    ],
)
def test_a_pod_that_does_not_use_the_device_stays(objects: tuple[Any, ...]) -> None:
    assert planned(*objects, BROKEN, a_rule()) == {}


def test_all_pods_of_a_shared_claim_are_evicted() -> None:
    pods = [pod(name, namespace="ns").on("n").using("gpu", claim="shared") for name in "abc"]
    shared = holding(claim("shared", namespace="ns").reserved_for(*pods), result())
    assert planned(*pods, shared, BROKEN) == {"a": 0.0, "b": 0.0, "c": 0.0}


def test_admin_access_is_no_exception() -> None:
    assert planned(*pair("a", result("gpu-0", adminAccess=True)), BROKEN) == {"a": 0.0}


def test_the_claim_of_a_podgroup_evicts_its_pods() -> None:
    workers = group("workers")
    member = pod("a").on("n").in_group("workers").using("gpu", template="t").bound("gpu", "made")
    made = claim("made").generated_for(workers, "gpu").reserved_for(workers)
    objects = (member, holding(made, result()), BROKEN)
    assert planned(*objects) == {"a": 0.0}
    assert planned(*objects, groups=False) == {}
    assert planned(member.in_group("others"), *objects[1:]) == {}


def test_the_claim_of_extended_resources_evicts_its_pod() -> None:
    user = pod("a").on("n").with_extended_claim("extended")
    made = holding(claim("extended").owned_by(user).reserved_for(user), result())
    assert planned(user, made, BROKEN) == {"a": 0.0}
    assert planned(user, made.owned_by(pod("b")), BROKEN) == {}
    # The stock controller leaves such pods out of the dry run, too.
    assert len(preview(a_rule(effect="None"), facts(user, made)).pods) == 1


def test_a_dry_run_is_what_the_rule_then_does() -> None:
    slow = {**EXISTS, "tolerationSeconds": 60}
    objects = (
        *pair("a", result("gpu-0")),
        *pair("b", result("gpu-1", slow)),
        *pair("c", result("gpu-2", EXISTS)),
        *pair("d", result("gpu-9", pool="node-2"), namespace="elsewhere"),
        a_slice("s", "gpu-0", "gpu-1", "gpu-2"),
    )
    found = preview(a_rule(effect="None"), facts(*objects, a_rule("other")))
    assert (found.published, found.allocated, found.namespaces) == (3, 4, 2)
    assert {one.metadata.name for one in found.pods} == set(planned(*objects, a_rule()))


def test_a_dry_run_leaves_out_pods_that_only_slices_evict() -> None:
    rule = a_rule(effect="None", selector={"device": "gpu-1"})
    objects = (*pair("a", result("gpu-0")), *pair("b", result("gpu-1")), BROKEN)
    assert [one.metadata.name for one in preview(rule, facts(*objects)).pods] == ["b"]


def test_nothing_is_planned_twice() -> None:
    """Property: evicted pods are being deleted, and are not planned again."""
    world = facts(*pair("a"), *pair("b"), BROKEN)
    for one in plan_evictions(world, T0):
        deleting = replace(one.pod, metadata=replace(one.pod.metadata, deleting=True))
        world = replace(world, pods=[deleting if pod is one.pod else pod for pod in world.pods])
    assert plan_evictions(world, T0) == ()
