"""`kubectl dra explain`: why a pod has no devices, and what would change that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dragoman_toolkit.dra.cluster import completion, watching
from dragoman_toolkit.dra.cluster.options import answering, filename_option, selecting
from dragoman_toolkit.dra.cluster.watching import watched
from dragoman_toolkit.dra.kinds import AUTOSCALER, WORKLOADS, kind_of, required_kind, subject
from dragoman_toolkit.dra.output import Exit, Report, Unusable, apart, show

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dragoman_toolkit.dra.cluster.selection import ObjectSelection
    from dragoman_toolkit.dra.cluster.source import Source
    from dragoman_toolkit.dra.formats import Output


_EXAMPLES = """\
\b
Examples:
  kubectl dra explain trainer -n ml             # a pod; `pod trainer`, `po/trainer` as well
  kubectl dra explain pod trainer -n ml --node node-5 --devices
  kubectl dra explain job/trainer -n ml         # its pods that wait; also deploy/, sts/, jobset/…
  kubectl dra explain pods -l app=trainer -n ml # each pod with a label
  kubectl dra explain -f pod.yaml               # before it is applied
  kubectl dra explain claim trainer-gpu -n ml
  kubectl dra explain template h200-pair -n ml  # would a claim from it fit?
  kubectl dra explain class gpu.nvidia.com      # what does it select?
  kubectl dra explain node node-4
  kubectl dra explain device gpu.nvidia.com/node-4/gpu-3   # or its UUID or PCI address
  kubectl dra explain autoscaler                # why Cluster Autoscaler or Karpenter adds no node
  kubectl dra explain --reason DeviceInUse      # what a code in answers and Events means

\b
Exit status:
  0  nothing stands in the way
  1  something does; the answer says what
  2  cannot tell: bad input, missing permissions, a search that is too large
"""
SELECTED = {
    "pod": "pods",
    "claim": "resourceclaims",
    "template": "resourceclaimtemplates",
    "class": "deviceclasses",
    "node": "nodes",
}
"""Kinds of which -l and --field-selector choose objects."""
KINDS = ("pod", "claim", "template", "class", "node", "device", *WORKLOADS)


def _complete(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    words = context.params.get("words") or ()
    kind = kind_of(words[0]) if words else ""
    if not words:
        pods = completion.in_namespace("pods")(context)
        return completion.items([*KINDS, AUTOSCALER, *pods], begun)
    lists = {
        "pod": completion.in_namespace("pods"),
        "claim": completion.in_namespace("resourceclaims"),
        "template": completion.in_namespace("resourceclaimtemplates"),
        "device": completion.devices,
    }
    if kind == "class":
        return completion.device_classes(context, _, begun)
    if kind == "node":
        return completion.nodes(context, _, begun)
    return completion.items(lists[kind](context) if kind in lists else (), begun)


def _told(context: click.Context, _: click.Parameter, code: str | None) -> None:
    """Print what a code means, and end."""
    if code is None or context.resilient_parsing:
        return
    from dragoman_toolkit.dra.diagnosis.reasoncodes import meaning  # noqa: PLC0415 — not for --help

    click.echo(meaning(code))
    context.exit()


def _complete_code(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    from dragoman_toolkit.dra.diagnosis.reasoncodes import meanings  # noqa: PLC0415 — not for --help

    return completion.items(meanings(), begun)


@click.command(epilog=_EXAMPLES)
@click.argument(
    "words",
    metavar=f"[{'|'.join((*SELECTED, 'device', 'WORKLOAD'))}] [NAME]",
    nargs=-1,
    shell_complete=_complete,
)
@filename_option(
    "Explain the pods of manifests as if they were applied; claims alone without a pod."
)
@click.option(
    "--node",
    default="",
    metavar="NODE",
    shell_complete=completion.nodes,
    help="Look at this node only.",
)
@selecting
@click.option(
    "--reason",
    metavar="CODE",
    is_eager=True,
    expose_value=False,
    callback=_told,
    shell_complete=_complete_code,
    help="Say what a code in answers, Events and logs means, without a cluster, and end.",
)
@click.option("--devices", is_flag=True, help="Print one line for each device and request.")
@watched
@answering
def explain(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    words: tuple[str, ...],
    filenames: tuple[str, ...],
    node: str,
    selection: ObjectSelection,
    timeout: float,
    devices: bool,  # noqa: FBT001 — click passes by name
    every: float,
    output: Output,
) -> None:
    """Say why a pod has no devices, node by node, and what would change that.

    A name alone is a pod's. Kinds may be plural, short or full, as in kubectl: `pods X`, `po/X`,
    `resourceclaim X`, `deviceclass/X`. A workload stands for its pods that do not run: Deployment,
    StatefulSet, DaemonSet, Job, CronJob, JobSet, LeaderWorkerSet, RayCluster, RayJob, jobs of
    Kubeflow, InferenceService, VirtualMachine, Workload of Kueue and others.

    The answer comes from the same search as kube-scheduler's; a suggestion is printed only when a
    second search with that change succeeds.
    """
    from dragoman_toolkit.dra.diagnosis import explanation  # noqa: PLC0415 — heavy, not for --help

    kind, names = _asked(source, words, filenames, selection)
    if every:
        if filenames or selection:
            raise click.UsageError("--watch follows one object of the cluster, by its name")

        def answer(source: Source) -> Report:
            return explanation.reports(source, kind, names, (), node, timeout, devices=devices)[0]

        watching.answer(source, answer, output, every)
    reports = explanation.reports(source, kind, names, filenames, node, timeout, devices=devices)
    for index, report in enumerate(reports):
        if index:
            apart(output)
        show(report, output)
    sys.exit(max((report.status for report in reports), default=Exit.CLEAR))


def _asked(
    source: Source, words: tuple[str, ...], filenames: tuple[str, ...], selection: ObjectSelection
) -> tuple[str, tuple[str, ...]]:
    """Return the kind and the names of the objects of the cluster that are meant."""
    if selection:
        kind = required_kind(words[0], SELECTED) if words else "pod"
        if filenames or len(words) > 1:
            raise click.UsageError("-l chooses the objects: give a kind alone, as `pods -l app=x`")
        names = sorted(source.selected(SELECTED[kind], selection))
        if not names:
            raise Unusable(f"no {SELECTED[kind]} with these labels and fields")
        return kind, tuple(names)
    if bool(filenames) == bool(words) or len(words) > 2:
        raise click.UsageError("give either a kind and a name, as `pod trainer`, or -f FILE")
    if filenames:
        return "", ()
    if words == (AUTOSCALER,):
        return AUTOSCALER, ()
    kind, name = subject(words, KINDS, "pod")
    return kind, (name,)
