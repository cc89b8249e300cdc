"""Victims of plans are those that the real scheduler ends where it preempts itself.

Each random world is built twice: once as an extended resource of node status, for which
kube-scheduler preempts, and once as DRA devices in memory, for which dragoman plans.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from tests.e2e.preemption.scheduler import Stage
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds import defaultpreemption as model
from tests.support.worlds.victims import judged

FEW = 6
WORLDS = int(os.environ.get("DRAGOMAN_PREEMPTION_WORLDS", FEW))
SEED = int(os.environ.get("DRAGOMAN_SEED", "28"))
SIDE_BY_SIDE = 8
"""Worlds at a time; each has nodes of its own."""
DONE = Path(os.environ.get("DRAGOMAN_PREEMPTION_DONE", "/dev/null"))
"""Where the seeds of compared worlds are noted, one a line: a later run leaves them out."""


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Run a scheduler without any controller: nothing changes budgets and pods."""
    with ControlPlane(scheduler=True, audit=False) as plane:
        yield Stage(plane)


def seeds() -> Iterator[int]:
    """Yield the seeds of worlds that are still to be compared."""
    done = set(DONE.read_text().split()) if DONE.is_file() else set()
    yield from (seed for seed in range(SEED, SEED + WORLDS) if str(seed) not in done)


def test_victims_are_those_of_the_scheduler(stage: Stage) -> None:
    worlds = [
        (seed, model.random_world(Random(seed), f"s{seed}-", cpu=bool(seed % 2)))
        for seed in seeds()
    ]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        answers = threads.map(lambda one: compare(stage, one[1]), worlds)
        compared = zip(worlds, answers, strict=True)
        noted = [note(seed, *answer) for (seed, _), answer in compared]
    counts = Counter(kind for kind, _ in noted)
    differences = [problem for _, problem in noted if problem]
    print(f"seeds {SEED} to {SEED + WORLDS - 1}: {dict(counts)}, {len(differences)} differences")
    assert not differences
    assert counts["preempted"] or not worlds


def note(seed: int, kind: str, problem: str) -> tuple[str, str]:
    """Note the seed of a world that was compared."""
    if problem:
        problem = f"seed {seed}: {problem}"
        print(problem)
    elif str(DONE) != "/dev/null":
        with DONE.open("a") as file:
            file.write(f"{seed}\n")
    return kind, problem


def compare(stage: Stage, world: model.World) -> tuple[str, str]:
    """Return what kind of world it is, and how dragoman and the scheduler differ; empty if not."""
    if world.fits:
        return "fits", ""
    got = stage.preempted(world, expected=bool(model.decide(world)))
    return judged(world, got)
