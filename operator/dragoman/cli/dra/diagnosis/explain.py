"""`kubectl dra explain`: why a pod has no devices, and what would change that."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

import click

from dragoman.cli.dra.cluster import completion, watching
from dragoman.cli.dra.cluster.options import answering, filename_option, selecting
from dragoman.cli.dra.cluster.selection import Selection
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.cluster.watching import watched
from dragoman.cli.dra.formats import Output
from dragoman.cli.dra.kinds import kind_of, required_kind, subject
from dragoman.cli.dra.output import Exit, Progress, Report, Unusable, show
from dragoman.words.spelling import closest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dragoman.cli.dra.diagnosis.report import View
    from dragoman.diagnosis.files import Planned
    from dragoman.model.metadata import Metadata

_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra explain trainer -n ml             # a pod; `pod trainer`, `po/trainer` as well
  kubectl dra explain pod trainer -n ml --node node-5 --devices
  kubectl dra explain pods -l app=trainer -n ml # each pod with a label
  kubectl dra explain -f pod.yaml               # before it is applied
  kubectl dra explain claim trainer-gpu -n ml
  kubectl dra explain template h200-pair -n ml  # would a claim from it fit?
  kubectl dra explain class gpu.nvidia.com      # what does it select?
  kubectl dra explain node node-4
  kubectl dra explain device gpu.nvidia.com/node-4/gpu-3

\b
Exit status:
  0  nothing stands in the way
  1  something does; the answer says what
  2  cannot tell: bad input, missing permissions, a search that is too large
"""
SELECTED: Final = {
    "pod": "pods",
    "claim": "resourceclaims",
    "template": "resourceclaimtemplates",
    "class": "deviceclasses",
    "node": "nodes",
}
"""Kinds of which -l and --field-selector choose objects."""
KINDS: Final = ("pod", "claim", "template", "class", "node", "device")
_NEEDS: Final = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules"),
    # For the plan of preemption that an explanation names; few users may list them.
    *("poddisruptionbudgets", "namespaces"),
)


def _complete(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    words = context.params.get("words") or ()
    kind = kind_of(words[0]) if words else ""
    if not words:
        pods = completion.in_namespace("pods")(context)
        return completion.items([*KINDS, *pods], begun)
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


@click.command(epilog=_EXAMPLES)
@click.argument(
    "words",
    metavar=f"[{'|'.join(KINDS)}] [NAME]",
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
@click.option("--devices", is_flag=True, help="Print one line for each device and request.")
@watched
@answering
def explain(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    words: tuple[str, ...],
    filenames: tuple[str, ...],
    node: str,
    selection: Selection,
    timeout: float,
    devices: bool,  # noqa: FBT001 — click passes by name
    every: float,
    output: Output,
) -> None:
    """Say why a pod has no devices, node by node, and what would change that.

    A name alone is a pod's. Kinds may be plural, short or full, as in kubectl: `pods X`, `po/X`,
    `resourceclaim X`, `deviceclass/X`.

    The answer comes from the same search as kube-scheduler's; a suggestion is printed only when a
    second search with that change succeeds.
    """
    kind, names = _asked(source, words, filenames, selection)
    if every:
        if filenames or selection:
            raise click.UsageError("--watch follows one object of the cluster, by its name")

        def answer(source: Source) -> Report:
            return _reports(source, kind, names, (), node, timeout, devices=devices)[0]

        watching.answer(source, answer, output, every)
    reports = _reports(source, kind, names, filenames, node, timeout, devices=devices)
    for index, report in enumerate(reports):
        if index and not output.document:
            click.echo()
        show(report, output)
    sys.exit(max((report.status for report in reports), default=Exit.CLEAR))


def _asked(
    source: Source, words: tuple[str, ...], filenames: tuple[str, ...], selection: Selection
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
    kind, name = subject(words, KINDS, "pod")
    return kind, (name,)


def _reports(  # noqa: PLR0913, PLR0917 — as above
    source: Source,
    kind: str,
    names: tuple[str, ...],
    filenames: tuple[str, ...],
    node: str,
    timeout: float,
    *,
    devices: bool,
) -> list[Report]:
    # Heavy, and not needed for --help.
    from dragoman.allocation import TimeBudget  # noqa: PLC0415
    from dragoman.cli.dra import notes  # noqa: PLC0415
    from dragoman.cli.dra.cluster.ended import with_pod  # noqa: PLC0415
    from dragoman.cli.dra.cluster.files import documents, require_valid  # noqa: PLC0415
    from dragoman.cli.dra.diagnosis.report import View  # noqa: PLC0415
    from dragoman.diagnosis.files import overlaid  # noqa: PLC0415
    from dragoman.inventory.facts.parser import parse  # noqa: PLC0415
    from dragoman.inventory.inventory import take  # noqa: PLC0415

    files = list(documents(filenames)) if filenames else []
    trees = (document.tree for _, document in files)
    snapshot = source.read(_NEEDS)
    for name in names if kind == "pod" else ():
        snapshot = with_pod(source, snapshot, name)
    if files:
        require_valid(files, snapshot.kubernetes)
    planned = overlaid(snapshot, trees, source.namespace)
    world = parse(planned.snapshot)
    inventory = take(world, source.profile(world))
    if node and node not in world.nodes and "nodes" in world.listed:
        near = closest(node, world.nodes.keys())
        raise Unusable(f"node {node} not found{f'; did you mean {near}?' if near else ''}")
    with Progress() as progress, TimeBudget(timeout, clock=time.thread_time):
        unsure = tuple(notes.unknown_labels(source, planned))
        view = View(inventory, node, devices=devices, notes=unsure, progress=progress)
        if filenames:
            return _of_files(view, planned)
        return [_of_object(source, view, kind, name) for name in names]


def _of_object(source: Source, view: View, kind: str, name: str) -> Report:
    from dragoman.cli.dra.diagnosis import objects, pods  # noqa: PLC0415 — as above

    if kind in {"class", "node", "device"}:
        answers = {"class": objects.device_class, "node": objects.node, "device": objects.device}
        return answers[kind](view.inventory, name)
    key = name if "/" in name else f"{_namespace(source, view, kind, name)}/{name}"
    if kind == "pod":
        # Snapshots have no pods that had ended.
        absent = ", or it had ended" if source.snapshot else ""
        return pods.pod(view, key, kubelet=lambda pod: _kubelet(source, pod), absent=absent)
    return pods.claim(view, key) if kind == "claim" else pods.template(view, key)


def _namespace(source: Source, view: View, kind: str, name: str) -> str:
    """Return the namespace of a name: with -A, the only one that has it."""
    if not source.all_namespaces:
        return source.namespace
    world = view.inventory.world
    known = {"pod": world.pods, "claim": world.claims, "template": world.templates}[kind]
    found = sorted(one.partition("/")[0] for one in known if one.partition("/")[2] == name)
    if len(found) > 1:
        raise Unusable(f"{kind} {name} is in namespaces {', '.join(found)}: choose one with -n")
    return found[0] if found else source.namespace


def _of_files(view: View, planned: Planned) -> list[Report]:
    from dragoman.cli.dra.diagnosis import pods  # noqa: PLC0415 — as above

    if planned.pods:
        return [pods.pod(view, key, planned=True) for key in planned.pods]
    alone = [pods.claim(view, key) for key in planned.claims]
    alone += [pods.template(view, key) for key in planned.templates]
    if not alone:
        raise Unusable("the files have no pod, workload, ResourceClaim or ResourceClaimTemplate")
    return alone


def _kubelet(source: Source, pod: Metadata) -> str:
    """Return the kubelet's last warning about a pod; empty without one, or for a snapshot."""
    from dragoman.cli.dra.diagnosis.kubelet import last_warning  # noqa: PLC0415 — heavy

    return "" if source.snapshot else source.call(lambda client: last_warning(client, pod))
