"""Measure the examination of a large cluster: `python -m tests.bench.doctor [CLAIMS] [POOLS]`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

from dragoman.allocation import profile
from dragoman.doctor.examination import examine
from dragoman.doctor.facts import Facts
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import Snapshot
from tests.support import manifests as objects
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders

CLAIMS, POOLS = 2_000, 100
BAR = 2.0
"""Seconds that an examination of 2,000 claims and 100 pools may take."""


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


def measure(snapshot: Snapshot) -> tuple[float, int]:
    """Return the seconds from objects to findings, and how many findings there are."""
    began = time.perf_counter()
    inventory = take(parse(snapshot), profile("1.36"))
    findings = examine(Facts(snapshot, inventory)).findings
    return time.perf_counter() - began, len(findings)


def main() -> int:
    """Print the best of five; exit status 1 where it is above the bar."""
    claims, pools = (int(one) for one in (sys.argv[1:3] or (CLAIMS, POOLS)))
    snapshot = builders.snapshot(*manifests(claims, pools))
    best, findings = min(measure(snapshot) for _ in range(5))
    load = os.getloadavg()[0]
    print(f"{claims} claims, {pools} pools: {findings} findings in {best:.2f} s (load {load:.1f})")
    return int(best > BAR)


if __name__ == "__main__":
    raise SystemExit(main())
