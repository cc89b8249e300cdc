"""Victims of plans are those that the real scheduler ends where it preempts itself.

Each random world is built twice: once as an extended resource of node status, for which
kube-scheduler preempts, and once as DRA devices in memory, for which dragoman plans.
"""

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from tests.e2e.preemption.scheduler import Stage
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds import defaultpreemption as model
from tests.support.worlds.victims import judged

WORLDS = int(os.environ.get("DRAGOMAN_WORLDS", "6"))
SEED = int(os.environ.get("DRAGOMAN_SEED", "28"))
SIDE_BY_SIDE = 8
"""Worlds at a time; each has nodes of its own."""


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Run a scheduler without any controller: nothing changes budgets and pods."""
    with ControlPlane(scheduler=True, audit=False) as plane:
        yield Stage(plane)


def test_victims_are_those_of_the_scheduler(stage: Stage) -> None:
    worlds = [
        (seed, model.random_world(Random(seed), f"s{seed}-", cpu=bool(seed % 2)))
        for seed in range(SEED, SEED + WORLDS)
    ]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        answers = threads.map(lambda one: compare(stage, one[1]), worlds)
        compared = [(seed, *answer) for (seed, _), answer in zip(worlds, answers, strict=True)]
    counts = Counter(kind for _, kind, problem in compared if not problem)
    differences = [f"seed {seed}: {problem}" for seed, _, problem in compared if problem]
    print(f"seeds {SEED} to {SEED + WORLDS - 1}: {dict(counts)}, {len(differences)} differences")
    assert not differences
    assert counts["preempted"]


def compare(stage: Stage, world: model.World) -> tuple[str, str]:
    """Return what kind of world it is, and how dragoman and the scheduler differ; empty if not."""
    if world.fits:
        return "fits", ""
    got = stage.preempted(world, expected=bool(model.decide(world)))
    return judged(world, got)
