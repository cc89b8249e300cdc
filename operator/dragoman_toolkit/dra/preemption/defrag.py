"""`kubectl dra defrag`: the fewest moves that make room for a pod."""

import sys

import click

from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.options import answering, filename_option
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import show

_EXAMPLES = """\
\b
Examples:
  kubectl dra defrag ml/train-0
  kubectl dra defrag jobset/train -n ml         # all of its pods that wait
  kubectl dra defrag -f job.yaml                # as many pods as the Job runs at a time
  kubectl dra defrag -f pod.yaml --priority 100 # pods up to this priority move for it
  kubectl dra defrag ml/train-0 --snapshot cluster.jsonl -o json

\b
Exit status:
  0  moves make room, or none is needed
  1  no moves make room
  2  cannot tell: bad input, missing permissions, an old snapshot, a search that is too large
"""
MOST = 64
"""Pods of one workload."""


@click.command(epilog=_EXAMPLES)
@click.argument("words", metavar="[KIND] [NAME]", nargs=-1, shell_complete=completion.subjects)
@click.option(
    "--for",
    "pod",
    default="",
    metavar="[NAMESPACE/]POD",
    shell_complete=completion.pods,
    help="The pod that waits, also as an argument.",
)
@filename_option("Manifests with pods and workloads, and their templates, before they are applied.")
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
    words: tuple[str, ...],
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
    words = (pod,) if pod and not words else words
    if bool(words) == bool(filenames) or len(words) > 2 or (pod and words != (pod,)):
        raise click.UsageError("give either a pod or a workload, as `job/trainer`, or -f FILE")
    if words and (replicas or priority is not None):
        raise click.UsageError("--replicas and --priority belong to -f")
    from dragoman_toolkit.dra.preemption import defragging  # noqa: PLC0415 — heavy, not for --help

    wish = defragging.WantedRoom(words, filenames, replicas, MOST, priority)
    report = defragging.report(source, wish, timeout)
    show(report, output)
    sys.exit(report.status)
