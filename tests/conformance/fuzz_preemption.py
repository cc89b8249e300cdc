"""Compares victims of plans with those of kube-scheduler, which runs in a Go program.

    python -m tests.conformance.fuzz_preemption 2000 --kubernetes 1.37 --seed 28

Each random world is built twice: as an extended resource of node status, for which the scheduler
preempts, and as devices, for which dragoman plans. The scheduler is the real one with its default
configuration; its client is in memory. tests/e2e/preemption/test_oracle.py runs a few of the same
worlds on an API server. Compared seeds are noted in build/, in a file for each version and
state of the code that decides: a later call with the same code leaves them out.
"""

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from tests.conformance.oracle import Answer, Oracle
from tests.conformance.preemption_oracle import MODULES, SOURCES, oracle
from tests.support.worlds import defaultpreemption as model
from tests.support.worlds.extendedresource import cluster, waiting
from tests.support.worlds.victims import Choice, judged

BATCH = 100
NAMESPACE = "default"
ROOT = Path(__file__).parents[2]
PACKAGES = (
    *(ROOT / "operator/dragoman" / one for one in ("preemption", "allocation", "inventory")),
    ROOT / "tests/support/worlds",
)
"""Packages that decide which victims a world has."""


def main() -> None:
    """Compare the worlds that were not compared yet; exit status 1 for differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", type=int)
    parser.add_argument("--kubernetes", choices=MODULES, default=max(MODULES))
    parser.add_argument("--seed", type=int, default=28)
    given = parser.parse_args()
    code = digest()
    noted = ROOT / f"build/preemption-oracle-{given.kubernetes}-{code}"
    noted.parent.mkdir(exist_ok=True)
    known = dict(_read(noted))
    seeds = range(given.seed, given.seed + given.worlds)
    left = [seed for seed in seeds if seed not in known]
    with oracle(given.kubernetes) as asked:
        for start in range(0, len(left), BATCH):
            found = compare(asked, left[start : start + BATCH], given.kubernetes)
            with noted.open("a") as file:
                file.writelines(f"{seed}\t{kind}\n" for seed, kind in found.items())
            known |= found
    counts = Counter(known[seed] for seed in seeds if seed in known)
    differences = len(seeds) - counts.total()
    print(
        f"Kubernetes {given.kubernetes}, seeds {seeds[0]} to {seeds[-1]}: "
        f"{dict(counts)}, {differences} differences; {len(left)} compared now, "
        f"{len(seeds) - len(left)} before with the same code {code}"
    )
    sys.exit(bool(differences))


def digest() -> str:
    """Return what names the code that decides, and the Go program."""
    found = hashlib.sha256(Path(__file__).read_bytes())
    packages = [one for package in PACKAGES for one in package.rglob("*.py")]
    for one in sorted([*packages, *SOURCES.glob("*.go"), *SOURCES.glob("go*.mod")]):
        found.update(f"{one.relative_to(ROOT)}\0".encode() + one.read_bytes())
    return found.hexdigest()[:12]


def compare(asked: Oracle, seeds: Sequence[int], kubernetes: str) -> dict[int, str]:
    """Return the kinds of worlds in which nothing differs, by seed; print the other ones."""
    worlds = {
        seed: model.random_world(Random(seed), f"s{seed}-", cpu=bool(seed % 2)) for seed in seeds
    }
    answers = asked.ask_all(map(_request, worlds.values()))
    found = {}
    for (seed, world), answer in zip(worlds.items(), list(answers), strict=True):
        kind, problem = _judged(world, answer, kubernetes)
        if problem:
            print(f"Kubernetes {kubernetes}, seed {seed}: {problem}", flush=True)
        else:
            found[seed] = kind
    return found


def _request(world: model.World) -> Answer:
    made = cluster(world, NAMESPACE)
    waits = waiting(world, NAMESPACE)
    for kind in (*made.values(), [waits]):
        for one in kind:
            one["metadata"]["uid"] = one["metadata"]["name"]
    return {
        "nodes": made["nodes"],
        "pods": made["pods"],
        "budgets": made["poddisruptionbudgets"],
        "waiting": waits,
    }


def _judged(world: model.World, answer: Answer, kubernetes: str) -> tuple[str, str]:
    if "error" in answer:
        return "error", str(answer["error"])
    if world.fits:
        return "fits", "" if answer.get("bound") else "the scheduler binds no pod that fits"
    return judged(world, choice(answer), kubernetes)


def choice(answer: Answer) -> Choice:
    """Return what the scheduler chose."""
    node, victims = answer["node"], frozenset(answer["victims"] or ())
    return (node, victims) if node or victims else None


def _read(noted: Path) -> Iterator[tuple[int, str]]:
    for line in noted.read_text().splitlines() if noted.exists() else ():
        seed, kind = line.split("\t")
        yield int(seed), kind


if __name__ == "__main__":
    main()
