"""Reads a cluster and a pod for `kubectl dra defrag`, and plans the moves."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from typing import Any

from dragoman.allocation import TimeBudget, TooExpensiveError
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.model.fields import part
from dragoman.preemption.preemptionfacts import PreemptionFacts
from dragoman_toolkit.defrag.defrag import plan
from dragoman_toolkit.diagnosis.files import PlannedWorkload, overlaid
from dragoman_toolkit.dra.cluster import subjects
from dragoman_toolkit.dra.cluster.ended import with_pod
from dragoman_toolkit.dra.cluster.files import documents, require_valid
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.diagnosis.simulation import pod_of_files
from dragoman_toolkit.dra.output import ProgressLine, Report, Unusable
from dragoman_toolkit.dra.preemption import defrag_report, reading


@dataclass(frozen=True, slots=True)
class WantedRoom:
    """The pods that need room."""

    words: tuple[str, ...]  # A pod or a workload whose pods wait; empty for those of files
    filenames: tuple[str, ...]  # Manifests
    replicas: int | None  # How many of the files' pod; None for what the workloads say
    most: int  # At most so many
    priority: int | None  # Of the files' pods; None for what they say


@dataclass(frozen=True, slots=True)
class Targets:
    """The pods that need room, in a cluster."""

    world: World  # The cluster
    pods: tuple[PodFact, ...]  # One for each place
    title: str  # What they are


def report(source: Source, wish: WantedRoom, timeout: float) -> Report:
    """Read the cluster, and plan the moves.

    Raises:
        Unusable: The pods need no room, have none whatever moves, or the search is too large.
    """
    targets = _targets(source, wish)
    world = targets.world
    inventory = take(world, source.profile(world))
    made_of = {pod.key: of_pod(world, pod, planned=bool(wish.filenames)) for pod in targets.pods}
    for key, one in made_of.items():
        if one.pod.pod.node_name:
            raise Unusable(f"pod {key} has node {one.pod.pod.node_name} already")
        if one.stopped:
            stops = "; ".join(found.message for found in one.obstacles if found.stops)
            raise Unusable(f"pod {key} fits nowhere, whatever moves: {stops}")
    facts, cluster = PreemptionFacts.of(world), cluster_of(inventory)
    try:
        with ProgressLine() as progress, TimeBudget(timeout, clock=time.thread_time):
            wanted = [made_of[pod.key] for pod in targets.pods]
            made = plan(facts, wanted, cluster, progress=progress)
    except TooExpensiveError:
        raise Unusable(f"took more than {timeout:g} s; --timeout gives more") from None
    return defrag_report.report(world, targets.pods[0], targets.title, len(targets.pods), made)


def _targets(source: Source, wish: WantedRoom) -> Targets:
    files = list(documents(wish.filenames)) if wish.filenames else []
    trees: list[Any] = [document.tree for _, document in files]
    snapshot = source.read(reading.NEEDED)
    if not files:
        return _named(source, snapshot, wish)
    require_valid(files, snapshot.kubernetes)
    planned = overlaid(snapshot, trees, source.namespace)
    world = parse(planned.snapshot)
    reading.require(world)
    if not planned.workloads:
        raise Unusable("-f: expected a pod or a workload, found none")
    copies = [found for one in planned.workloads for found in _copies(world, one, wish)]
    total = sum(many for _, many in copies)
    if not total:
        raise Unusable("the workloads run no pods: --replicas N makes room for N")
    every = chain.from_iterable(repeat(pod, many) for pod, many in copies)
    pods = tuple(islice(every, wish.most))
    if total == 1:
        title = pods[0].key
    elif len({pod.key for pod in pods}) == 1:
        title = f"{_number(total, wish.most)} pods like {pods[0].key}"
    else:
        titles = ", ".join(one.title for one in planned.workloads)
        title = f"{_number(total, wish.most)} pods of {titles}"
    return Targets(world, pods, title)


def _number(total: int, most: int) -> str:
    """Return how many pods are looked at."""
    return f"{most} of {total}" if total > most else str(total)


def _named(source: Source, snapshot: Snapshot, wish: WantedRoom) -> Targets:
    """Return the pods without a node of what was named."""
    keys = subjects.waiting(source, wish.words)
    for key in keys:
        snapshot = with_pod(source, snapshot, key)
    world = parse(snapshot)
    reading.require(world)
    pods = tuple(reading.pod_that_waits(world, key, "defrag") for key in keys[: wish.most])
    number = _number(len(keys), wish.most)
    title = pods[0].key if len(keys) == 1 else f"{number} pods from {pods[0].key}"
    return Targets(world, pods, title)


def _copies(
    world: World, workload: PlannedWorkload, wish: WantedRoom
) -> Iterator[tuple[PodFact, int]]:
    """Yield the pods of a workload with their numbers."""
    for one in workload.pods:
        found = pod_of_files(world, one.key)
        if wish.priority is not None:
            spec = {**part(found.document, "spec"), "priority": wish.priority}
            found = replace(found, document={**found.document, "spec": spec})
        alone = len(workload.pods) == 1
        many = (wish.replicas if alone else None) or (1 if one.copies is None else one.copies)
        yield found, many
