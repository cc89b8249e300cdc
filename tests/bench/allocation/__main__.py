"""`make bench-allocator`: measure the allocator beside kube-scheduler's own."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from dragoman.allocation import (
    Allocated,
    BudgetExceeded,
    Claim,
    Cluster,
    Features,
    allocate,
    explain,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
    profile_of,
)
from dragoman_base.versions import parse
from tests.bench.allocation import worlds
from tests.bench.allocation.bars import GO, OWN, documents, table
from tests.bench.allocation.record import Record
from tests.conformance.allocation_oracle import oracle
from tests.conformance.allocator import agrees
from tests.conformance.oracle import Oracle

Json = dict[str, Any]

KUBERNETES = os.environ.get("KUBERNETES", "1.36")
"""Whose library is measured alongside ours."""
STEPS = 1_000_000
UPDATES = 2000
IMPORTS = 25
IMPORT = (
    "import time; start = time.process_time(); import dragoman.allocation; "
    "print(time.process_time() - start)"
)


class Sweep(NamedTuple):
    """What one pod got on all nodes of a cluster.

    Attributes:
        seconds: Time for all nodes.
        fits: Nodes on which it fits.
        steps: Effort of all searches.
        devices: Devices in all results.
        first: Index of the first node on which it fits, -1 for none.
        results: What it gets there.
    """

    seconds: float
    fits: int
    steps: int
    devices: int
    first: int
    results: list[Json]


class World:
    """A cluster on both sides."""

    def __init__(self, go: Oracle, nodes: list[Json], slices: list[Json]) -> None:
        self.nodes = nodes
        self.cluster = cluster(nodes, slices)
        self._go = go
        self._held: list[Json] = []
        go.ask(
            {
                "op": "world",
                "features": worlds.FEATURES,
                "nodes": nodes,
                "slices": slices,
                "classes": worlds.CLASSES,
            }
        )

    def ours(self, claims: Sequence[Claim]) -> Sweep:
        """Try a pod on every node with dragoman; all results are made."""
        fits = steps = devices = 0
        first, results = -1, []
        started = time.perf_counter()
        for index, name in enumerate(self.cluster.nodes):
            outcome = allocate(name, claims, self.cluster)
            steps += outcome.steps
            if isinstance(outcome, Allocated):
                found = outcome.allocations
                devices += sum(len(one.devices) for one in found)
                fits += 1
                if first < 0:
                    first, results = index, [one.document() for one in found]
        return Sweep(time.perf_counter() - started, fits, steps, devices, first, results)

    def theirs(self, claims: list[Json]) -> Sweep:
        """Try a pod on every node with the Go library."""
        reply = self._go.ask({"op": "sweep", "pods": [claims], "allocated": self._held})
        pod = reply["pods"][0]
        return Sweep(
            pod["seconds"],
            pod["fits"],
            pod["steps"],
            pod["devices"],
            pod["first"],
            pod["results"] or [],
        )

    def place(self, results: list[Json]) -> None:
        """Let a pod hold what it got on the first node."""
        devices = [
            (one["driver"], one["pool"], one["device"])
            for result in results
            for one in result.get("devices", {}).get("results", ())
        ]
        holder = worlds.held(len(self._held), devices)
        self._held.append(holder)
        self.cluster.put_claim(parse_claim(holder))


def cluster(nodes: list[Json], slices: list[Json]) -> Cluster:
    """Make a cluster of the profile that the bench compares."""
    return Cluster(
        profile_of(parse(KUBERNETES), Features(**worlds.FEATURES)),
        nodes=map(parse_node, nodes),
        slices=map(parse_slice, slices),
        classes=map(parse_class, worlds.CLASSES),
    )


def race(
    world: World, pods: int, make: Callable[[int], list[Json]]
) -> tuple[dict[str, float], dict[str, float]]:
    """Sweep pods one after the other on both sides; each is placed on its first node.

    The two take turns, so that other work on the machine slows both.
    """
    seconds = [0.0, 0.0]
    placed = 0
    for number in range(pods):
        claims = make(number)
        own = world.ours([parse_claim(claim) for claim in claims])
        other = world.theirs(claims)
        same = agrees({"results": other.results}, {"results": own.results})
        if own[1:5] != other[1:5] or not same:
            raise SystemExit(f"pod {number}: {own[1:5]} instead of {other[1:5]}")
        seconds[0] += own.seconds
        seconds[1] += other.seconds
        if own.first >= 0:
            placed += 1
            world.place(own.results)
    calls = pods * len(world.nodes)
    ours, theirs = (
        {
            "calls_per_s": calls / spent,
            "us_per_call": spent / calls * 1e6,
            "pods": pods,
            "placed": placed,
        }
        for spent in seconds
    )
    return ours, theirs


def backtracking() -> dict[str, float]:
    """Ask for 25 of 24 equal devices."""
    found = cluster([worlds.node(0)], worlds.equal(24))
    claims = [parse_claim(worlds.claim("c0", worlds.exact("r", 25)))]
    found.put_class(parse_class({"metadata": {"name": "gpu"}, "spec": {}}))
    started = time.process_time()
    outcome = allocate("node-00000", claims, found, budget=STEPS)
    seconds = time.process_time() - started
    assert isinstance(outcome, BudgetExceeded)
    return {"s": seconds, "steps_per_s": outcome.steps / seconds}


def update() -> dict[str, float]:
    """Change one slice after the other, and allocate on its node."""
    slices = list(worlds.fleet(5000))
    found = cluster([worlds.node(number) for number in range(5000)], slices)
    claims = [parse_claim(claim) for claim in worlds.pod(0)]
    for name in found.nodes:
        allocate(name, claims, found)
    alone, used = [], []
    for number in range(UPDATES):
        document = slices[number * 2]
        document["spec"]["pool"]["generation"] += 1
        started = time.process_time()
        found.put_slice(parse_slice(document))
        alone.append(time.process_time() - started)
        outcome = allocate(document["spec"]["nodeName"], claims, found)
        used.append(time.process_time() - started)
        assert isinstance(outcome, Allocated)
    return {
        "p50_ms": statistics.median(alone) * 1000,
        "p99_ms": sorted(alone)[UPDATES * 99 // 100] * 1000,
        "used_p99_ms": sorted(used)[UPDATES * 99 // 100] * 1000,
    }


def reasons() -> dict[str, float]:
    """Find the reasons of 1,000 devices and 4 requests on one node after the other."""
    found = cluster([worlds.node(number) for number in range(20)], list(worlds.wide(20)))
    claims = [parse_claim(worlds.wide_claim())]
    outcomes = {name: allocate(name, claims, found) for name in found.nodes}
    started = time.process_time()
    made = sum(len(explain(name, claims, found, one)) for name, one in outcomes.items())
    return {"ms": (time.process_time() - started) * 1000 / len(outcomes), "reasons": made}


def fabric() -> dict[str, float]:
    """Allocate on 2,000 nodes that see 200 pools by a label, and measure what these cost."""
    nodes = [worlds.node(number) for number in range(2000)]
    found = cluster(nodes, [*worlds.fleet(2000), *worlds.fabric()])
    claims = [parse_claim(claim) for claim in worlds.pod(0)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    for name in found.nodes:
        assert isinstance(allocate(name, claims, found), Allocated)
    seconds = time.process_time() - started
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"us": seconds * 1e6 / len(nodes), "mib": more / 1024}


def memory() -> dict[str, float]:
    """Hold 5,000 nodes in a process of its own, after five pods were tried on all of them."""
    command = [sys.executable, "-m", "tests.bench.allocation", "--resident"]
    held = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # An installed package has its bytecode, a checkout only if Python may write it.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", IMPORT], check=True, capture_output=True, env=environment
            ).stdout
        )
        for _ in range(IMPORTS)
    ]
    return {"rss_mib": json.loads(held), "import_ms": min(times) * 1000}


def resident() -> float:
    """Return the memory of this process, in MiB, with a cluster in it."""
    found = cluster([worlds.node(number) for number in range(5000)], list(worlds.fleet(5000)))
    for number in range(5):
        claims = [parse_claim(claim) for claim in worlds.pod(number)]
        for name in found.nodes:
            allocate(name, claims, found)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@click.command()
@click.option("--pods", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--resident", "only_memory", is_flag=True, hidden=True)
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Record.PATH,
    show_default="docs/bench/allocation.json",
)
def main(*, pods: int, only_memory: bool, path: Path) -> None:
    """Measure dragoman's allocator beside the Go library's, on the same clusters in turn.

    What is measured alone is processor time: other work on the machine adds to any other.
    Bars are printed beside the ratios; a missed bar is no failure, a wrong result is.
    """
    if only_memory:
        print(json.dumps(resident()))
        return
    record = Record(load=round(os.getloadavg()[0], 2))
    go = oracle(KUBERNETES)
    for scenario, nodes, slices, count, make in (
        ("distinct", 200, list(worlds.fleet(200, distinct=True)), pods, worlds.pod),
        ("partitions", 1, worlds.partitions(), min(pods, 60), worlds.parts_pod),
        ("alike", 5000, list(worlds.fleet(5000)), pods, worlds.pod),
    ):
        world = World(go, [worlds.node(number) for number in range(nodes)], slices)
        for competitor, values in zip((OWN, GO), race(world, count, make), strict=True):
            show(record, scenario, competitor, values)
    go.stop()
    for scenario, alone in (
        ("fabric", fabric),
        ("backtracking", backtracking),
        ("update", update),
        ("reasons", reasons),
        ("memory", memory),
    ):
        show(record, scenario, OWN, alone())
    record.verdicts = documents(record)
    record.save(path)
    print(f"\n{table(record)}")


def show(record: Record, scenario: str, competitor: str, values: dict[str, float]) -> None:
    """Record and print the numbers of one competitor."""
    record.add(f"{scenario}/{competitor}", values)
    numbers = ", ".join(f"{name} {value:,.3f}" for name, value in values.items())
    print(f"{scenario}/{competitor}: {numbers}", flush=True)


if __name__ == "__main__":
    main()
