"""Victims and nodes are those of default preemption, budgets respected."""

import random

import pytest

from dragoman.preemption.planner import PreemptionOutcome
from tests.support.worlds import defaultpreemption as model
from tests.support.worlds.preemption import manifests, planned
from tests.unit import examples

WORLDS = examples.examples(60)


@pytest.mark.parametrize("cpu", [False, True], ids=["devices alone", "cpu as well"])
def test_nodes_and_victims_are_those_of_default_preemption(cpu: bool) -> None:
    rng = random.Random(28)
    compared = with_victims = 0
    for _ in range(WORLDS):
        world = model.random_world(rng, cpu=cpu)
        if world.fits:
            continue
        made = planned(*manifests(world))
        if made.outcome is PreemptionOutcome.SCHEDULER:
            continue
        wanted = model.decide(world, respectful=True)
        chosen = made.chosen
        got = chosen and (chosen.node, frozenset(one.pod.name for one in chosen.victims))
        assert got in wanted or (got is None and not wanted), world
        compared += 1
        with_victims += bool(wanted)
    assert compared > WORLDS / 3
    assert with_victims > WORLDS / 10
