"""Reads a cluster and a pod for `kubectl dra defrag`, and plans the moves."""

import time
from dataclasses import dataclass, replace
from typing import Any

from dragoman.allocation import TimeBudget, TooExpensiveError
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.inventory import take
from dragoman.preemption.preemptionfacts import PreemptionFacts
from dragoman_toolkit.defrag.defrag import plan
from dragoman_toolkit.diagnosis.files import overlaid
from dragoman_toolkit.dra.cluster.ended import with_pod
from dragoman_toolkit.dra.cluster.files import documents, require_valid
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.diagnosis.simulation import only_pod, replicas_of
from dragoman_toolkit.dra.output import ProgressLine, Report, Unusable
from dragoman_toolkit.dra.preemption import defrag_report, reading


@dataclass(frozen=True, slots=True)
class WantedRoom:
    """The pods that need room."""

    pod: str  # `name` or `namespace/name` of one that waits; empty for those of files
    filenames: tuple[str, ...]  # Manifests
    replicas: int | None  # How many of the files' pod; None for what the workload says
    most: int  # At most so many
    priority: int | None  # Of the files' pod; None for what it says


def report(source: Source, wish: WantedRoom, timeout: float) -> Report:
    """Read the cluster, and plan the moves.

    Raises:
        Unusable: The pod needs no room, has none whatever moves, or the search is too large.
    """
    world, found, copies = _target(source, wish)
    inventory = take(world, source.profile(world))
    subject = of_pod(world, found, planned=bool(wish.filenames))
    if found.pod.node_name:
        raise Unusable(f"pod {found.key} has node {found.pod.node_name} already")
    if subject.stopped:
        stops = "; ".join(one.message for one in subject.obstacles if one.stops)
        raise Unusable(f"pod {found.key} fits nowhere, whatever moves: {stops}")
    facts, cluster = PreemptionFacts.of(world), cluster_of(inventory)
    try:
        with ProgressLine() as progress, TimeBudget(timeout, clock=time.thread_time):
            made = plan(facts, [subject] * copies, cluster, progress=progress)
    except TooExpensiveError:
        raise Unusable(f"took more than {timeout:g} s; --timeout gives more") from None
    return defrag_report.report(world, found, copies, made)


def _target(source: Source, wish: WantedRoom) -> tuple[World, PodFact, int]:
    """Return the cluster, the pod that needs room, and how many copies of it."""
    files = list(documents(wish.filenames)) if wish.filenames else []
    trees: list[Any] = [document.tree for _, document in files]
    snapshot = source.read(reading.NEEDED)
    if files:
        require_valid(files, snapshot.kubernetes)
    elif wish.pod:
        snapshot = with_pod(source, snapshot, wish.pod)
    planned = overlaid(snapshot, trees, source.namespace)
    world = parse(planned.snapshot)
    reading.require(world)
    if not files:
        key = wish.pod if "/" in wish.pod else f"{source.namespace}/{wish.pod}"
        return world, reading.pod_that_waits(world, key, "defrag --for"), 1
    key = only_pod(planned)
    if key not in world.pods:
        problem = next((one.problem for one in world.malformed if one.name == key), "no name")
        raise Unusable(f"pod {key} of the files is malformed: {problem}")
    found = world.pods[key]
    if wish.priority is not None:
        spec = {**(found.document.get("spec") or {}), "priority": wish.priority}
        found = replace(found, document={**found.document, "spec": spec})
    return world, found, min(wish.replicas or replicas_of(trees), wish.most)
