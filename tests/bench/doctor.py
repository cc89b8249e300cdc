"""Measure the examination of large clusters: `python -m tests.bench.doctor [CLAIMS] [POOLS]`.

One has many claims, the other 2,000 slices with plugin pods.
"""

import os
import sys
import time
from collections.abc import Iterator

from dragoman.allocation import profile
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.examination import examine
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import Snapshot
from tests.support import manifests as objects
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.doctor import World

CLAIMS, POOLS, SLICES = 2_000, 100, 2_000
BAR = 2.0
"""Seconds of a processor that an examination of each may take."""
DEVICES = 8


def manifests(claims: int, pools: int) -> Iterator[Json]:
    """Yield a cluster whose claims are in use, each by a pod; some are idle, some are lost."""
    devices = -(-claims // pools)
    yield builders.device_class()
    for number in range(pools):
        node = f"node-{number}"
        yield objects.node(node)
        yield builders.pool(node, devices)
    for number in range(claims):
        node, index = f"node-{number % pools}", number // pools
        pod = builders.pod(f"pod-{number}", claims={"gpu": f"claim-{number}"}, node=node)
        device = "gone" if number % 50 == 0 else f"device-{index}"
        users = [] if number % 40 == 0 else [pod]
        yield pod
        yield builders.held(builders.claim(f"claim-{number}"), (node, device), pods=users)


def published(slices: int) -> Iterator[Json]:
    """Yield nodes with a slice of eight devices and a plugin pod each."""
    world = World("w")
    for number in range(slices):
        yield world.node(number)
        yield world.slice([_device(number, index) for index in range(DEVICES)], index=number)
        yield world.plugin(number)


def _device(node: int, index: int) -> Json:
    attributes = {
        "model": {"string": "H100"},
        "index": {"int": index},
        "uuid": {"string": f"GPU-{node}-{index}"},
        "driverVersion": {"version": "1.2.3"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index:02x}"},
        "resource.kubernetes.io/pciBusID": {"string": f"0000:{index:02x}:00.0"},
    }
    capacity = {"memory": {"value": "80Gi"}}
    return {"name": f"d{index}", "attributes": attributes, "capacity": capacity}


def measure(snapshot: Snapshot) -> tuple[float, int]:
    """Return the seconds from objects to findings, and how many findings there are."""
    began = time.process_time()
    inventory = take(parse(snapshot), profile("1.36"))
    findings = examine(DoctorFacts(snapshot, inventory)).findings
    return time.process_time() - began, len(findings)


def main() -> int:
    """Print the best of five each; exit status 1 where one is above the bar."""
    claims, pools = (int(one) for one in (sys.argv[1:3] or (CLAIMS, POOLS)))
    clusters = {
        f"{claims} claims, {pools} pools": manifests(claims, pools),
        f"{SLICES} slices of {DEVICES} devices": published(SLICES),
    }
    worst = 0.0
    for title, objects_of in clusters.items():
        snapshot = builders.snapshot(*objects_of)
        best, findings = min(measure(snapshot) for _ in range(5))
        load = os.getloadavg()[0]
        print(f"{title}: {findings} findings in {best:.2f} s of a processor (load {load:.1f})")
        worst = max(worst, best)
    return int(worst > BAR)


if __name__ == "__main__":
    raise SystemExit(main())
