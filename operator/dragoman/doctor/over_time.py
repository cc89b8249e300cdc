"""Findings that need two readings of a cluster: slices that are written all the time, or are gone.

One reading shows that a slice is there, not how often it was written, nor what stood before.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from dragoman.doctor.doctorfacts import DoctorFacts, Reading
from dragoman.doctor.finding import Finding, Id
from dragoman.doctor.pools import Plugins, is_ready
from dragoman.model.fields import part
from dragoman.model.timestamps import seconds

WRITES_PER_MINUTE = 6.0
"""Changes of the slices of one pool from which on they are a storm."""
FEWEST_WRITES = 3
"""Changes between two readings below which a pool may just have been published."""


def reading(facts: DoctorFacts) -> Reading:
    """Note what a later reading is compared with."""
    plugins = Plugins.of(facts)
    of_nodes = [pool for pool in facts.inventory.pools.values() if pool.node]
    daemonsets: defaultdict[str, set[str]] = defaultdict(set)
    # One pool of a driver stands for all: which DaemonSet is the driver's takes long to find.
    for driver, pool in {pool.id.driver: pool for pool in of_nodes}.items():
        for pods in plugins.of_driver(facts, pool):
            owner = pods[0].pod.metadata.owner
            if owner is not None:
                daemonsets[driver].add(owner.uid)
    return Reading(
        taken=facts.snapshot.taken,
        generations=_generations(facts),
        pools=frozenset((pool.id.driver, pool.node) for pool in of_nodes),
        daemonsets={driver: frozenset(uids) for driver, uids in daemonsets.items()},
        ready={
            uid: frozenset(pod.pod.node_name for pod in pods if is_ready(pod))
            for uid, pods in plugins.pods.items()
        },
    )


def slice_write_storm(facts: DoctorFacts) -> Iterator[Finding]:
    """A driver changes the slices of a pool all the time: each write wakes every scheduler."""
    if facts.before is None:
        return
    elapsed = seconds(facts.snapshot.taken, facts.before.taken) or 0.0
    if elapsed <= 0:
        return
    now = _generations(facts)
    for pool in facts.inventory.pools.values():
        uids = [_uid(facts, one.name) for one in pool.slices]
        # A slice that is new since was made, and perhaps changed: each counts.
        writes = sum(now.get(uid, 0) - facts.before.generations.get(uid, 0) for uid in uids)
        if writes >= FEWEST_WRITES and writes / elapsed * 60 >= WRITES_PER_MINUTE:
            yield Finding(
                Id.SLICE_WRITE_STORM,
                facts.pool_subject(pool),
                f"{writes} writes of its slices in {elapsed:.0f} s, generation {pool.generation}: "
                "each one ends the scheduler's back-off of all pods that wait for devices",
                "see the driver's log for what changes; a driver writes only when devices change, "
                "in a stable order",
                facts.before.taken,
            )


def slices_missing(facts: DoctorFacts) -> Iterator[Finding]:
    """A driver runs on a node, and publishes nothing there: the scheduler sees no devices.

    Where a node has no devices a driver publishes an empty slice (package kubeletplugin). Many do
    not, so that nodes without slices count only where most nodes of the DaemonSet have some, or
    where this one had some before.
    """
    before = facts.before
    if before is None or not facts.read("pods"):
        return
    now = reading(facts)
    for driver in sorted({*now.daemonsets, *before.daemonsets}):
        every = now.daemonsets.get(driver, frozenset()) | before.daemonsets.get(driver, frozenset())
        for uid in sorted(every):
            lasting = now.ready.get(uid, frozenset()) & before.ready.get(uid, frozenset())
            bare = {node for node in lasting if (driver, node) not in now.pools}
            lost = {node for node in bare if (driver, node) in before.pools}
            if len(bare) > len(lasting - bare):
                bare = lost
            for node in sorted(bare):
                yield _missing(facts, driver, node, had=node in lost)


def _missing(facts: DoctorFacts, driver: str, node: str, *, had: bool) -> Finding:
    assert facts.before is not None
    text = "its slices are gone since" if had else "published nothing between two readings"
    return Finding(
        Id.SLICES_MISSING,
        facts.node_subject(node, f"{driver} on {node}"),
        f"the plugin pod is ready, {text}: the allocator finds no device on {node}",
        "see the log of the plugin pod, and restart it; where the node has no devices, the driver "
        "has to publish an empty slice",
        facts.before.taken,
    )


def _uid(facts: DoctorFacts, name: str) -> str:
    return str(part(facts.slices.get(name), "metadata").get("uid") or name)


def _generations(facts: DoctorFacts) -> Mapping[str, int]:
    found = {}
    for name, document in facts.slices.items():
        generation = part(document, "metadata").get("generation")
        if isinstance(generation, int):
            found[_uid(facts, name)] = generation
    return found
