"""Measure a plan in a cluster whose devices are all used: `python -m tests.bench.preemption`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from random import Random

from dragoman.allocation import profile
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Inventory
from dragoman.preemption.facts import Facts
from dragoman.preemption.planner import plan
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.preemption import holding, node, waiting

BARS = {1_000: 2.0, 5_000: 4.0}
"""Seconds that a plan may take, by nodes with 8 used devices each."""
DEVICES = 8
SELECTOR = f'device.attributes["{builders.DRIVER}"].model == "h100"'


def manifests(nodes: int) -> Iterator[Json]:
    """Yield a cluster whose devices pods of various priorities use, and a pod that waits."""
    rng = Random(1)
    yield builders.device_class()
    model = {"attributes": {"model": {"string": "h100"}}}
    for number in range(nodes):
        name = f"node-{number}"
        yield node(name)
        yield builders.pool(name, [builders.device(f"device-{i}", **model) for i in range(DEVICES)])
        taken = 0
        while taken < DEVICES:
            many = rng.randint(1, min(4, DEVICES - taken))
            started = f"2026-11-22T10:{rng.randint(0, 59):02}:00Z"
            pod = f"pod-{number}-{taken}"
            devices = range(taken, taken + many)
            priority = rng.choice((0, 0, 10, 50, 200))
            yield from holding(pod, name, devices, priority, started=started)
            taken += many
    found = waiting(4)
    exactly = found[1]["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": SELECTOR}}]
    yield from found


def measure(nodes: int) -> tuple[float, float, str]:
    """Return the seconds for the facts, the seconds of a plan, and what it says."""
    world = parse(builders.snapshot(*manifests(nodes)))
    inventory = Inventory(world, profile("1.36"), {}, {})
    cluster = cluster_of(inventory)
    began = time.perf_counter()
    facts = Facts.of(world)
    read = time.perf_counter() - began
    subject = of_pod(world, world.pods["ns/train"])
    best, said = float("inf"), ""
    for _ in range(3):
        began = time.perf_counter()
        made = plan(facts, subject, cluster)
        best = min(best, time.perf_counter() - began)
        said = f"{made.outcome}, {len(made.candidates)} candidates"
    return read, best, said


def main() -> int:
    """Print the best of three for each size; exit status 1 where one is above its bar."""
    status = 0
    for nodes in [int(one) for one in sys.argv[1:]] or BARS:
        read, took, said = measure(nodes)
        load = os.getloadavg()[0]
        print(f"{nodes} nodes: facts {read:.2f} s, plan {took:.2f} s ({said}; load {load:.1f})")
        status |= took > BARS.get(nodes, float("inf"))
    return status


if __name__ == "__main__":
    raise SystemExit(main())
