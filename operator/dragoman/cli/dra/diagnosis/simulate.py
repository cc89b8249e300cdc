"""`kubectl dra simulate`: where pods would fit if the cluster were different."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman.cli.dra.cluster import completion
from dragoman.cli.dra.cluster.options import answering, filename_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.formats import Output
from dragoman.cli.dra.output import Exit, Progress, Unusable, show

if TYPE_CHECKING:
    from dragoman.inventory.snapshots.snapshot import Snapshot

_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra simulate -f job.yaml --replicas 12
  kubectl dra simulate -f job.yaml --replicas 12 --add-node like=node-1,count=2
  kubectl dra simulate -f job.yaml --add-node new-node.yaml   # a Node and its ResourceSlices
  kubectl dra simulate -f job.yaml --without-pod web/render
  kubectl dra simulate -f job.yaml --without-node node-4 --fill
  kubectl dra simulate -f job.yaml --taint gpu.nvidia.com/node-4=broken:NoSchedule
  kubectl dra simulate -f job.yaml --class new-class.yaml --snapshot cluster.jsonl

\b
Exit status:
  0  all pods fit
  1  some do not
  2  cannot tell: bad input, missing permissions
"""
_NEEDS: Final = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules"),
)


@click.command(epilog=_EXAMPLES)
@filename_option(
    "Manifests with one pod or workload, and with claims, templates, nodes or slices.",
    required=True,
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 10_000),
    default=None,
    metavar="N",
    help="How many pods; by default what the workload says, else 1.",
)
@click.option("--fill", is_flag=True, help="Place pods until the first one fits nowhere.")
@click.option(
    "--add-node",
    "added",
    multiple=True,
    metavar="like=NODE[,count=N]|FILE",
    help="Add virtual nodes: with the labels, resources and devices of a node, or those of a file.",
)
@click.option(
    "--without-node",
    multiple=True,
    metavar="NODE",
    shell_complete=completion.nodes,
    help="Take a node away; its pods are not placed elsewhere.",
)
@click.option(
    "--without-pod",
    multiple=True,
    metavar="[NAMESPACE/]POD",
    shell_complete=completion.pods,
    help="End a pod; claims that only it uses come free.",
)
@click.option(
    "--taint",
    "taints",
    multiple=True,
    metavar="DRIVER[/POOL[/DEVICE]]=KEY[=VALUE]:EFFECT",
    help="Taint devices.",
)
@click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="FILE",
    shell_complete=completion.files,
    help="Add or replace DeviceClasses.",
)
@answering
def simulate(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    filenames: tuple[str, ...],
    replicas: int | None,
    fill: bool,  # noqa: FBT001 — click passes by name
    added: tuple[str, ...],
    without_node: tuple[str, ...],
    without_pod: tuple[str, ...],
    taints: tuple[str, ...],
    classes: tuple[str, ...],
    timeout: float,
    output: Output,
) -> None:
    """Say where pods of a manifest fit, now and with changes; nothing is created.

    Devices, cpu, memory, pods, node selectors, node affinity and node taints are looked at. The
    answer says where pods fit, not which node the scheduler's scores prefer.
    """
    # Heavy, and not needed for --help.
    from dragoman.allocation import TimeBudget, TooExpensiveError  # noqa: PLC0415
    from dragoman.cli.dra.cluster.files import documents, require_valid, trees  # noqa: PLC0415
    from dragoman.cli.dra.diagnosis import simulate_report, simulation  # noqa: PLC0415
    from dragoman.diagnosis.addednodes import added as nodes_of  # noqa: PLC0415
    from dragoman.diagnosis.changes import Changes, taint_rule  # noqa: PLC0415
    from dragoman.diagnosis.virtualnodes import ChangeError  # noqa: PLC0415

    files = list(documents(filenames))
    read = [*(document.tree for _, document in files), *_classes(classes)]
    nodes = [(name, list(trees([name]))) for name in added if not _is_copy(name)]
    snapshot: Snapshot = source.read(_NEEDS)
    require_valid(files, snapshot.kubernetes)
    try:
        changes = Changes(
            copies=tuple(_copies(text) for text in added if _is_copy(text)),
            added=tuple(
                one
                for name, found in nodes
                for one in nodes_of(found, snapshot.taken, f"--add-node {name}")
            ),
            without_nodes=without_node,
            without_pods=tuple(
                pod if "/" in pod else f"{source.namespace}/{pod}" for pod in without_pod
            ),
            rules=tuple(map(taint_rule, taints)),
        )
        question = simulation.Question(source, snapshot, read, changes, replicas, fill=fill)
        with Progress() as progress, TimeBudget(timeout, clock=time.thread_time):
            answer = simulation.run(question, progress)
    except ChangeError as error:
        raise Unusable(str(error)) from None
    except TooExpensiveError:
        raise Unusable(
            "too expensive to simulate: the pods' selectors, or the searches for their devices, "
            f"took more than {timeout:g} s; --timeout gives more, fewer --replicas need less"
        ) from None
    report = simulate_report.report(answer)
    show(report, output)
    sys.exit(Exit(report.status))


def _classes(names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the DeviceClasses of the files of --class."""
    from dragoman.cli.dra.cluster.files import trees  # noqa: PLC0415
    from dragoman.diagnosis.files import flat  # noqa: PLC0415

    for name in names:
        found = [one for one in flat(trees([name])) if one.get("kind") == "DeviceClass"]
        if not found:
            raise Unusable(f"--class {name}: the file has no DeviceClass")
        yield from found


def _is_copy(text: str) -> bool:
    """Whether --add-node names a node to copy, and not a file."""
    return text.startswith(("like=", "count="))


def _copies(text: str) -> tuple[str, int]:
    """Read `like=NODE[,count=N]`."""
    given = [part.partition("=")[::2] for part in text.split(",")]
    parts = dict(given)
    repeated = len(parts) != len(given)
    count = parts.pop("count", "1")
    like = parts.pop("like", "")
    if parts or repeated or not like or not count.isdecimal() or not 0 < int(count) <= 1000:
        raise Unusable(f"--add-node {text}: expected like=NODE[,count=N] with N from 1 to 1000")
    return like, int(count)
