"""`kubectl dra defrag`: the fewest moves that make room for a pod."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman.cli.dra.cluster import completion
from dragoman.cli.dra.cluster.options import answering, filename_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.output import Progress, Unusable, show

if TYPE_CHECKING:
    from dragoman.inventory.facts.objects import PodFact, World

_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra defrag --for ml/train-0
  kubectl dra defrag -f job.yaml                # as many pods as the Job runs at a time
  kubectl dra defrag -f pod.yaml --priority 100 # pods up to this priority move for it
  kubectl dra defrag --for ml/train-0 --snapshot cluster.jsonl -o json

\b
Exit status:
  0  moves make room, or none is needed
  1  no moves make room
  2  cannot tell: bad input, missing permissions, an old snapshot, a search that is too large
"""
MOST: Final = 64
"""Pods of one workload."""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--for",
    "pod",
    default="",
    metavar="[NAMESPACE/]POD",
    shell_complete=completion.pods,
    help="The pod that waits.",
)
@filename_option("Manifests with one pod or workload, and its templates, before they are applied.")
@click.option(
    "--replicas",
    type=click.IntRange(1, MOST),
    default=None,
    metavar="N",
    help="With -f: how many pods; by default what the workload says, else 1.",
)
@click.option(
    "--priority",
    type=int,
    default=None,
    metavar="N",
    help="With -f: the pod's priority, which the API server reads from its PriorityClass.",
)
@answering
def defrag(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    pod: str,
    filenames: tuple[str, ...],
    replicas: int | None,
    priority: int | None,
    timeout: float,
    output: str,
) -> None:
    """Plan the fewest moves of running pods that make room for a pod; nothing is changed.

    A move ends a pod, whose controller creates it again where there is room now: it restarts. Pods
    of a higher priority, of DaemonSets and PodGroups, without a controller, with claims or volumes
    of their own stay, and PodDisruptionBudgets are respected.
    """
    if bool(pod) == bool(filenames):
        raise click.UsageError("give either --for POD or -f FILE")
    if pod and (replicas or priority is not None):
        raise click.UsageError("--replicas and --priority belong to -f")
    # Heavy, and not needed for --help.
    from dragoman.allocation import TimeBudget, TooExpensiveError  # noqa: PLC0415
    from dragoman.cli.dra.preemption import defrag_report  # noqa: PLC0415
    from dragoman.diagnosis.explain import cluster_of  # noqa: PLC0415
    from dragoman.diagnosis.subject import of_pod  # noqa: PLC0415
    from dragoman.inventory.inventory import take  # noqa: PLC0415
    from dragoman.preemption.defrag import plan  # noqa: PLC0415
    from dragoman.preemption.facts import Facts  # noqa: PLC0415

    world, found, copies = _target(source, pod, filenames, replicas, priority)
    inventory = take(world, source.profile(world))
    subject = of_pod(world, found, planned=bool(filenames))
    if found.pod.node_name:
        raise Unusable(f"pod {found.key} has node {found.pod.node_name} already")
    if subject.stopped:
        stops = "; ".join(one.message for one in subject.obstacles if one.stops)
        raise Unusable(f"pod {found.key} fits nowhere, whatever moves: {stops}")
    facts, cluster = Facts.of(world), cluster_of(inventory)
    try:
        with Progress() as progress, TimeBudget(timeout, clock=time.thread_time):
            made = plan(facts, [subject] * copies, cluster, progress=progress)
    except TooExpensiveError:
        raise Unusable(f"took more than {timeout:g} s; --timeout gives more") from None
    report = defrag_report.report(world, found, copies, made)
    show(report, output)
    sys.exit(report.status)


def _target(
    source: Source,
    pod: str,
    filenames: Sequence[str],
    replicas: int | None,
    priority: int | None,
) -> tuple[World, PodFact, int]:
    """Return the cluster, the pod that needs room, and how many copies of it."""
    from dragoman.cli.dra.cluster.files import documents, require_valid  # noqa: PLC0415 — heavy
    from dragoman.cli.dra.diagnosis.simulation import only_pod, replicas_of  # noqa: PLC0415
    from dragoman.cli.dra.preemption import reading  # noqa: PLC0415 — as above
    from dragoman.diagnosis.files import overlaid  # noqa: PLC0415 — as above
    from dragoman.inventory.facts.parser import parse  # noqa: PLC0415 — as above

    files = list(documents(filenames)) if filenames else []
    trees: list[Any] = [document.tree for _, document in files]
    snapshot = source.read(reading.NEEDED)
    if files:
        require_valid(files, snapshot.kubernetes)
    planned = overlaid(snapshot, trees, source.namespace)
    world = parse(planned.snapshot)
    reading.require(world)
    if not files:
        key = pod if "/" in pod else f"{source.namespace}/{pod}"
        if key not in world.pods:
            raise Unusable(f"pod {key} not found, or it has ended")
        return world, world.pods[key], 1
    key = only_pod(planned)
    if key not in world.pods:
        problem = next((one.problem for one in world.malformed if one.name == key), "no name")
        raise Unusable(f"pod {key} of the files is malformed: {problem}")
    found = world.pods[key]
    if priority is not None:
        spec = {**(found.document.get("spec") or {}), "priority": priority}
        found = replace(found, document={**found.document, "spec": spec})
    return world, found, min(replicas or replicas_of(trees), MOST)
