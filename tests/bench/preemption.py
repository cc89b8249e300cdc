"""Measure a plan in a cluster whose devices are all used: `python -m tests.bench.preemption`."""

import asyncio
import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from dragoman.allocation import profile
from dragoman.controllers.preemption.planning import compute
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.preemption.planner import plan
from dragoman.preemption.policy import Policy
from dragoman.preemption.preemptionfacts import PreemptionFacts
from dragoman.preemption.reservation import toleration
from dragoman.surroundings import in_daemon_thread
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.preemption import holding, node, waiting

BARS = {1_000: 2.0, 5_000: 4.0}
"""Seconds that a plan may take, by nodes with 8 used devices each."""
LAG = 0.1
"""Seconds for which a plan may keep the event loop from other work."""
DEVICES = 8
ALIKE = 1_000
"""Pods of one Job that wait."""
SELECTOR = f'device.attributes["{builders.DRIVER}"].model == "h100"'


@dataclass(frozen=True)
class Figures:
    """What one size costs, in seconds.

    Attributes:
        plan: Of a plan on facts that no plan was computed on before.
        cpu: Its CPU time.
        said: Its outcome.
        whole: CPU time of a pass of the operator for one pod: facts, plan, devices to reserve.
        alike: The same for 1,000 pods alike.
        tolerant: The same where the claim of each tolerates the reservation of its pod.
        lag: The longest time for which the event loop waited during a pass.
    """

    plan: float
    cpu: float
    said: str
    whole: float
    alike: float
    tolerant: float
    lag: float


def manifests(nodes: int, pods: int = 1, *, tolerant: bool = False) -> Iterator[Json]:
    """Yield a cluster whose devices pods of various priorities use, and pods that wait."""
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
    for number in range(pods):
        found = waiting(4, name=f"train-{number}")
        exactly = found[1]["spec"]["devices"]["requests"][0]["exactly"]
        exactly["selectors"] = [{"cel": {"expression": SELECTOR}}]
        if tolerant:
            exactly["tolerations"] = [toleration(found[0]["metadata"]["uid"])]
        yield from found


def measure(nodes: int) -> Figures:
    """Measure one size."""
    state = builders.snapshot(*manifests(nodes))
    gc.collect()
    gc.freeze()
    wall, cpu, said = min(planned(state) for _ in range(3))
    whole, lag = min(asyncio.run(passed(state)) for _ in range(3))
    alike, tolerant = (
        asyncio.run(passed(builders.snapshot(*manifests(nodes, ALIKE, tolerant=one))))[0]
        for one in (False, True)
    )
    return Figures(wall, cpu, said, whole, alike, tolerant, lag)


def planned(state: Snapshot) -> tuple[float, float, str]:
    """Return the seconds of a plan, its CPU time and its outcome."""
    world = parse(state)
    cluster = cluster_of(Inventory(world, profile("1.36"), {}, {}))
    facts = PreemptionFacts.of(world)
    subject = of_pod(world, world.pods["ns/train-0"])
    began, before = time.perf_counter(), time.process_time()
    made = plan(facts, subject, cluster)
    said = f"{made.outcome}, {len(made.candidates)} candidates"
    return time.perf_counter() - began, time.process_time() - before, said


async def passed(state: Snapshot) -> tuple[float, float]:
    """Return the CPU time of a pass, and how long the event loop waited at most."""
    waits = [one["metadata"]["uid"] for one in state.of("pods") if not one["spec"].get("nodeName")]
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began - 0.001)

    beating = asyncio.create_task(beat())
    found = await in_daemon_thread(compute, state, waits, Policy())
    beating.cancel()
    with suppress(asyncio.CancelledError):
        await beating
    if found.left_out:
        print(f"{found.left_out} of {len(waits)} pods had no plan for lack of time")
    return found.seconds, longest


def main() -> int:
    """Print the best of three for each size; exit status 1 where one is above its bar."""
    status = 0
    gc.set_threshold(10_000, 50, 100)  # as the operator
    for nodes in [int(one) for one in sys.argv[1:]] or BARS:
        found = measure(nodes)
        print(
            f"{nodes} nodes: plan {found.plan:.2f} s, {found.cpu:.2f} s of CPU time "
            f"({found.said}); a pass {found.whole:.2f} s of CPU time, "
            f"for {ALIKE} pods alike {found.alike:.2f} s, "
            f"with their own tolerations {found.tolerant:.2f} s; "
            f"event loop waited {found.lag * 1000:.0f} ms at most (load {os.getloadavg()[0]:.1f})",
            flush=True,
        )
        status |= found.plan > BARS.get(nodes, float("inf")) or found.lag > LAG
    return status


if __name__ == "__main__":
    raise SystemExit(main())
