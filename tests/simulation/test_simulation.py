"""Whole operators in virtual time: what was found stays mended, and the first seeds hold."""

import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.__main__ import FOUND, of_file
from tests.simulation.enumeration import every
from tests.simulation.execution import execute, minimise
from tests.simulation.loop import SimulatedLoop
from tests.simulation.mutants import misplaced, mutants
from tests.simulation.scenarios import EVERY_DAY, SPAN
from tests.simulation.schedule import generate
from tests.simulation.story import story

ROOT = Path(__file__).parents[2]
RUNS = int(os.environ.get("DRAGOMAN_SIMULATE", "8"))
"""Random runs of each scenario."""
FIRST = int(os.environ.get("DRAGOMAN_SIMULATE_FIRST", "1"))
"""The first seed. A change lands or not by the same seeds; `make simulate` plays others."""


@pytest.mark.parametrize("name", EVERY_DAY)
def test_the_first_seeds_violate_no_invariant(name: str) -> None:
    print(f"seeds {FIRST} to {FIRST + RUNS - 1}")
    for seed in range(FIRST, FIRST + RUNS):
        events = generate(seed, name)
        outcome = execute(events, seed, name)
        if outcome.failed:
            small = minimise(events, seed, name, outcome.violations[0].kind, runs=60)
            told = "\n".join([json.dumps(small), *story(execute(small, seed, name))])
            pytest.fail(f"make simulate SEED={seed} SCENARIO={name}\n{told}")
        assert outcome.seconds > SPAN


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.json")), ids=lambda path: path.stem)
def test_what_was_found_stays_mended(path: Path) -> None:
    assert of_file(path).violations == (), json.loads(path.read_text())["what"]


@pytest.mark.parametrize(
    "workload",
    [
        "late-template",  # 5 writes x 13; `make simulate-enumerate` perturbs those of all workloads
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("job", "taint")),
    ],
)
def test_no_perturbation_of_a_write_violates_an_invariant(workload: str) -> None:
    covered = 0
    for run in every(workload):
        assert run.outcome.violations == (), f"{run}: {run.command}"
        covered = max(covered, run.index)
    assert covered >= 5


def test_a_callback_that_fails_is_recorded_and_the_others_run() -> None:
    loop = SimulatedLoop(random.Random(1))
    loop.call_soon(lambda: 1 // 0)
    loop.run_until_complete(asyncio.sleep(1))
    assert "division" in loop.failures[0]
    assert "lambda" in repr(loop.call_later(1, lambda: None))
    loop.close()


def test_a_seed_gives_the_same_run_in_two_processes() -> None:
    """Whatever the hashes of strings are."""
    here = execute(generate(3, "leaders"), 3, "leaders")
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    said = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "seed", "3", "leaders", "--trace"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[:-1] == [" ".join(map(str, line)) for line in here.trace]
    assert said[-1].startswith(f"digest {here.digest}, ")


def test_a_failing_schedule_is_made_smaller_and_told_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fault: the deletion of a running pod counts as its end."""
    done = property(lambda pod: pod.finished or pod.metadata.deleting)
    monkeypatch.setattr("dragoman.model.pod.Pod.done", done)
    for seed in range(1, 40):
        events = generate(seed, "crash")
        outcome = execute(events, seed, "crash")
        if outcome.failed:
            break
    else:
        pytest.fail("nothing was found")
    kind = outcome.violations[0].kind
    small = minimise(events, seed, "crash", kind)
    assert len(small) <= 10
    again = execute(small, seed, "crash")
    assert again.violations[0].kind == kind
    assert again.digest == execute(small, seed, "crash").digest
    assert any(f"VIOLATED {kind}" in line for line in story(again))


def test_every_planted_fault_has_its_place_in_the_product() -> None:
    found = mutants()
    assert len(found) >= 40
    assert {one.name: misplaced(one) for one in found if misplaced(one)} == {}
