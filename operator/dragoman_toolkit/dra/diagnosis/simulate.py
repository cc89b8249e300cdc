"""`kubectl dra simulate`: where pods would fit if the cluster were different."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.options import answering, filename_option
from dragoman_toolkit.dra.diagnosis.shapes import FOLDER
from dragoman_toolkit.dra.formats import CAPI
from dragoman_toolkit.dra.output import Exit, show

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman_toolkit.dra.cluster.source import Source
    from dragoman_toolkit.dra.formats import Output


_EXAMPLES = """\
\b
Examples:
  kubectl dra simulate -f job.yaml --replicas 12
  helm template chart/ | kubectl dra simulate -f -            # each workload of it
  kubectl dra simulate deploy/server -n ml --replicas 3       # three more pods of it
  kubectl dra simulate -f job.yaml --replicas 12 --add-node like=node-1,count=2
  kubectl dra simulate -f job.yaml --add-node type=p5.48xlarge,count=2
  kubectl dra simulate -f job.yaml --add-node type=p5.48xlarge -o shape-capi
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


@click.command(epilog=_EXAMPLES)
@click.argument("words", metavar="[KIND] [NAME]", nargs=-1, shell_complete=completion.subjects)
@filename_option("Manifests with pods and workloads, and with claims, templates, nodes or slices.")
@click.option(
    "--replicas",
    type=click.IntRange(1, 10_000),
    default=None,
    metavar="N",
    help="How many pods, or sets of pods of a gang; by default what the workload says, else 1.",
)
@click.option("--fill", is_flag=True, help="Place pods until the first one fits nowhere.")
@click.option(
    "--add-node",
    "added",
    multiple=True,
    metavar="like=NODE[,count=N]|type=TYPE[,count=N…]|FILE",
    help="Add virtual nodes: with the labels, resources and devices of a node, of a recorded "
    "machine (kubectl dra shapes), or of a file. With type=: label=K=V, taint=K=V:EFFECT, "
    "allocatable.cpu=N, drivers=A,B and source=dra|plugin.",
)
@FOLDER
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
@click.option(
    "--by",
    "attributes",
    multiple=True,
    metavar="ATTRIBUTE",
    help="Also say which values of this attribute the pods would get; those that their claims "
    "constrain are always said.",
)
@answering
def simulate(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    words: tuple[str, ...],
    filenames: tuple[str, ...],
    replicas: int | None,
    fill: bool,  # noqa: FBT001 — click passes by name
    added: tuple[str, ...],
    folder: Path | None,
    without_node: tuple[str, ...],
    without_pod: tuple[str, ...],
    taints: tuple[str, ...],
    classes: tuple[str, ...],
    attributes: tuple[str, ...],
    timeout: float,
    output: Output,
) -> None:
    """Say where pods fit, now and with changes; nothing is created.

    The pods are those of manifests, of a file of several workloads or of Helm's and kustomize's
    output too, or of a pod or workload of the cluster: its pods that wait, or N more of them with
    --replicas. JobSets, LeaderWorkerSets, clusters of Ray, jobs of Kubeflow and pods of one
    PodGroup are placed whole or not at all; of a PodGroup in the files, its minCount counts.

    Devices, cpu, memory, pods, node selectors, node affinity and node taints are looked at. The
    answer says where pods fit, not which node the scheduler's scores prefer.
    """
    from dragoman_toolkit.dra.diagnosis import simulate_report, simulation  # noqa: PLC0415 — heavy, not for --help

    if bool(filenames) == bool(words) or len(words) > 2:
        raise click.UsageError("give either a pod or a workload, as `job/trainer`, or -f FILE")
    different = simulation.SimulationOptions(
        added, without_node, without_pod, taints, classes, folder
    )
    answer = simulation.answer(source, words, filenames, different, replicas, timeout, fill=fill)
    report = simulate_report.report(answer, attributes)
    if output == CAPI:
        sys.exit(simulate_report.capi_annotations(answer))
    show(report, output)
    sys.exit(Exit(report.status))
