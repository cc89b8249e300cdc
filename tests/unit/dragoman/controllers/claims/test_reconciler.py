"""Releases and whole lives, in virtual time, on the model of the API server."""

import asyncio
from collections import Counter

from tests.unit.dragoman.claims.cases import POD, claim_place
from tests.unit.dragoman.claims.model_server import Place
from tests.unit.dragoman.claims.objects import (
    NAMESPACE,
    PodObject,
    claim,
    pod,
    reservation,
    template,
)
from tests.unit.dragoman.claims.worlds import ClusterState, world
from tests.unit.dragoman.controllers.claims.scenarios import USER, many, names, serving
from tests.unit.dragoman.controllers.claims.simulation import Fate, process
from tests.unit.dragoman.kube.virtual_time import in_virtual_time


@in_virtual_time
async def test_a_settled_cluster_costs_no_write_for_hours() -> None:
    api = serving(*many(5))
    async with process(api) as running:
        await running.follow(10.0)
        before = list(api.server.writes)
        for _ in range(10):
            await asyncio.sleep(1000.0)
            running.deliver_all()
    assert api.server.writes == before


@in_virtual_time
async def test_a_restart_among_finished_and_live_pods_costs_no_write() -> None:
    api = serving(*many(40))
    async with process(api) as running:
        await running.follow(5.0)
        for index in range(20):
            api.server.change(
                Place("pods", NAMESPACE, f"pod-{index}"), lambda found: found.in_phase("Succeeded")
            )
        await running.follow(20.0)
    assert len(names(api)) == 20
    api.server.writes.clear()
    async with process(api) as running:
        await running.follow(1300.0)
    assert api.server.writes == []


@in_virtual_time
async def test_finished_pods_cost_one_deletion_each_and_nothing_is_made_for_them_again() -> None:
    api = serving(*many(50))
    async with process(api) as running:
        await running.follow(5.0)
        api.server.writes.clear()
        for index in range(50):
            api.server.change(
                Place("pods", NAMESPACE, f"pod-{index}"), lambda found: found.in_phase("Failed")
            )
        await running.follow(1300.0)
    assert Counter(api.server.writes) == {"DELETE resourceclaims": 50}
    assert names(api) == []


@in_virtual_time
async def test_a_consumer_that_came_in_the_middle_of_a_release_stays() -> None:
    old, new = pod("a"), pod("a", uid="uid-new").using("gpu", claim="mine").on("node")
    api = serving(of=world(claim("mine").allocated().reserved_for(old), deleted=[old.uid]))

    def come(name: str) -> Fate:
        if name == "PATCH resourceclaims/status" and not list(api.server.objects("Pod")):
            api.server.add(new)
            api.server.change(claim_place("mine"), lambda found: found.reserved_for(new))
        return ""

    api.fate = come
    async with process(api):
        await asyncio.sleep(5.0)
    stored = api.server.get(claim_place("mine"))
    assert stored["status"]["reservedFor"] == [reservation(new)]
    assert stored["status"]["allocation"]


def allocated(name: str, owner: PodObject) -> ClusterState:
    """Return a world in which a running pod uses its claim."""
    made = claim(name).generated_for(owner, "gpu").allocated().reserved_for(owner)
    return world(owner, template(), made)


@in_virtual_time
async def test_a_whole_life_ends_with_two_patches_and_one_deletion() -> None:
    api = serving(of=allocated("made", USER.bound("gpu", "made").on("node").in_phase("Running")))
    async with process(api) as running:
        await running.follow(5.0)
        assert api.server.writes == []
        api.server.change(POD, lambda found: found.in_phase("Succeeded"))
        await running.follow(30.0)
    assert sorted(api.server.writes) == [
        "DELETE resourceclaims",
        "PATCH resourceclaims",
        "PATCH resourceclaims/status",
    ]
    assert names(api) == []


@in_virtual_time
async def test_a_users_claim_is_free_at_once_when_its_last_pod_is_done() -> None:
    user = pod().using("gpu", claim="mine").on("node").in_phase("Running")
    api = serving(of=world(user, claim("mine").allocated().reserved_for(user)))
    async with process(api) as running:
        api.server.change(POD, lambda found: found.in_phase("Succeeded"))
        await running.follow(3.0)
    stored = api.server.get(claim_place("mine"))
    assert "finalizers" not in stored["metadata"]
    assert stored["status"] == {}
    assert api.server.writes == ["PATCH resourceclaims/status", "PATCH resourceclaims"]


@in_virtual_time
async def test_without_a_garbage_collector_claims_of_deleted_pods_go_after_ten_seconds() -> None:
    api = serving(*many(3))
    async with process(api) as running:
        await running.follow(3.0)
        api.server.remove(Place("pods", NAMESPACE, "pod-0"))
        await running.follow(8.0)
        assert len(names(api)) == 3
        await running.follow(4.0)
    assert len(names(api)) == 2
    assert api.server.writes[-1] == "DELETE resourceclaims"


@in_virtual_time
async def test_with_a_garbage_collector_it_costs_no_write() -> None:
    api = serving(*many(3))
    async with process(api) as running:
        await running.follow(3.0)
        api.server.writes.clear()
        api.server.remove(Place("pods", NAMESPACE, "pod-0"))
        await running.follow(3.0)
        api.server.collect_garbage()
        await running.follow(60.0)
    assert api.server.writes == []
    assert len(names(api)) == 2


@in_virtual_time
async def test_the_release_of_very_many_claims_does_not_delay_a_new_pod() -> None:
    done = [user.in_phase("Failed") for user in many(300)]
    made = [claim(f"made-{user.name}").generated_for(user, "gpu") for user in done]
    api = serving(of=world(template(), *done, *made))
    async with process(api) as running:
        await asyncio.sleep(0.1)
        api.server.add(USER)
        running.deliver("pods")
        await asyncio.sleep(0.1)
        assert api.server.get(POD)["status"]["resourceClaimStatuses"]
        assert len(names(api)) > 200
        await asyncio.sleep(60.0)
    assert len(names(api)) == 1
