"""Journals that others wrote: only pods that a plan names, or that it might name, are evicted."""

from dataclasses import replace
from random import Random

import pytest

from dragoman.controllers.preemption.planning import compute, looked
from dragoman.preemption.planner import PreemptionOutcome
from dragoman.preemption.stored import Journal, Phase, RequestedEviction, digest
from tests.support.hostile import Tries, scaled
from tests.support.worlds import defaultpreemption as model
from tests.support.worlds.inventory import snapshot
from tests.support.worlds.preemption import LENIENT
from tests.support.worlds.preemption import manifests as cluster

FORGED = 100


@pytest.mark.hostile("forged objects")
def test_a_forged_journal_evicts_no_pod_beyond_plans(tries: Tries) -> None:
    chance = Random(29)
    count = scaled(FORGED, least=20)
    for number in range(count):
        world = model.random_world(chance, f"f{number}-", cpu=bool(number % 2))
        state = snapshot(*cluster(world))
        pods = {one["metadata"]["name"]: one for one in state.of("pods")}
        train = pods["train"]
        named = chance.sample(sorted(pods), chance.randint(0, len(pods)))
        begun = chance.random() < 0.5
        forged = Journal(
            namespace="ns",
            name="forged",
            uid="uid-forged",
            pod=chance.choice(sorted(pods)),
            pod_uid=chance.choice([one["metadata"]["uid"] for one in pods.values()]),
            priority=10**6,
            node=chance.choice(sorted(world.rooms)),
            victims=frozenset(digest(pods[one]["metadata"]["uid"]) for one in named),
            devices=(),
            phase=Phase.EVICTING if begun else Phase.RESERVING,
            evictions=(RequestedEviction("x", "", 1.0),) if begun else (),
        )
        if chance.random() < 0.7:
            forged = replace(forged, pod="train", pod_uid=train["metadata"]["uid"])

        victims = looked(state, forged, LENIENT, lambda: False).victims

        assert all(one.pod.priority < world.priority for one in victims)
        assert {one.pod.name for one in victims} <= set(named) - {"train"}
        if not begun and victims:
            (plan,) = compute(state, {train["metadata"]["uid"]}, LENIENT).plans
            assert plan.outcome is PreemptionOutcome.PLANNED
    tries(count)
