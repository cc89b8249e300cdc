"""What `kubectl dra migrate plan` prints and writes."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from dragoman.inventory.snapshots.snapshot import API_VERSION
from dragoman.model.fields import part
from dragoman_base.files import UnreadableError, read
from dragoman_base.versions import beyond
from dragoman_base.words import counted, listed, natural
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.migration import answers
from dragoman_toolkit.dra.migration.answers import Question
from dragoman_toolkit.dra.missing import near_names, unseen_of
from dragoman_toolkit.dra.output import Cell, Exit, Report, Unusable
from dragoman_toolkit.dra.reports import Nothing
from dragoman_toolkit.migration import classes as made_classes
from dragoman_toolkit.migration.classes import MadeClass
from dragoman_toolkit.migration.counterparts import NVIDIA, SRIOV
from dragoman_toolkit.migration.losses import Rank
from dragoman_toolkit.migration.plan import NodePlan, Plan, Wanted, movable, plan
from dragoman_toolkit.migration.progress import NodeState
from dragoman_toolkit.migration.report import Answer, Migration, migration
from dragoman_toolkit.migration.sources import Resource
from dragoman_toolkit.migration.steps import SOURCE, Options, Step
from dragoman_toolkit.replacing import replace_file

_READ = (*answers.READ, "poddisruptionbudgets")
_CLOUDS = (
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
)
"""Labels of nodes of managed services."""
_AFFINITY = (
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/cpu-model.vendor_id",
    "nvidia.com/gpu.present",
)
"""Labels of which the chart of NVIDIA's plug-in requires one."""
_UNSAFE = Cell("  unsafe now: a device can be given to two pods", "red")
_NAMED = 3
"""Nodes, pods and reasons that are named where nodes are listed together."""


@dataclass(frozen=True, slots=True)
class Files:
    """Where files are written."""

    folder: Path | None = None  # None for nowhere
    force: bool = False  # Whether files with other content are replaced


def report(  # noqa: PLR0913 — all but the first three by name
    source: Source, question: Question, wanted: Wanted, *, done: bool, files: Files, wide: bool
) -> Report:
    """Answer `kubectl dra migrate plan`; raise Unusable for bad input.

    Args:
        source: The cluster.
        question: Which resources.
        wanted: Which nodes, and how.
        done: Whether nodes without steps are listed as well.
        files: Where files are written.
        wide: Whether the steps of all nodes are printed, not only of those that are named.
    """
    read = answers.read_all(source, question, _READ)
    known = {str(part(one, "metadata").get("name") or "") for one in read.sources.nodes}
    for name in sorted(wanted.only - known):
        raise Unusable(f"there is no node {name}{near_names(name, sorted(known), 'nodes')}")
    asked = {name for one in read.asking for name in one.resources}
    resources = read.sources.resources(asked, question.only)
    options = Options(answers.connection(source), answers.options(source, question))
    wanted = replace(wanted, options=options)
    found = plan(read.sources.inventory, read.sources.nodes, resources, wanted)
    lost = migration(read.sources, read.asking, read.gate, only=question.only, beside=read.beside)
    made = [
        one
        for one in made_classes.made(resources, read.sources, read.taken, asked)
        if isinstance(one, MadeClass)
    ]
    once = () if wanted.back else tuple(_once(found, lost, made, options))
    unseen = unseen_of(read.world)
    newer = filter(None, [beyond(read.snapshot.kubernetes)])
    lacking = (*answers.lacking(source, read), *answers.said(read))
    notes = (*lacking, *found.notes, *_notes(read, resources, found), *newer)
    status = Exit.OBSTACLE if found.stopped else Exit.CLEAR
    whole = tuple(_blocks(found, once))
    answer = Report(
        "MigrationPlan",
        {
            "kubernetes": read.snapshot.kubernetes,
            "direction": "back" if wanted.back else "forward",
            "cluster": [one.as_json(number) for number, one in enumerate(once, 1)],
            "nodes": [_node(one, back=wanted.back) for one in found.nodes if done or not one.done],
            "done": sorted((one.name for one in found.nodes if one.done), key=natural),
            "notes": list(notes),
            "unseen": unseen,
        },
        whole if wide or wanted.only else tuple(_short(found, once, _again(wanted))),
        Exit.UNKNOWN if unseen or read.beside.companions.rejected else status,
        notes,
    )
    if files.folder is not None:
        drivers = {one.driver for row in found.nodes for one in row.amounts}
        written = _files(replace(answer, blocks=whole), made, drivers)
        moving = [one for one in resources if one.counterpart.driver == SRIOV]
        settings = read.sources.settings
        if pools := [pool for one in moving if (pool := settings.pool(one.name))]:
            policies = made_classes.policies(pools)
            written["sriov-policies.yaml"] = yaml.safe_dump_all(policies, sort_keys=False)
        _write(files.folder, written, force=files.force)
    return answer


def _notes(read: answers.Read, resources: Iterable[Resource], found: Plan) -> Iterator[str]:
    stay = [one.name for one in resources if not movable(one) and one.nodes]
    if stay:
        why = "it, so it stays on its plug-in" if len(stay) == 1 else "them; plug-ins keep them"
        yield f"{listed(stay, 5)}: no device stands for {why}"
    if any(one.state is NodeState.STALE and one.leaves for one in found.nodes):
        names = [one.name for one in found.nodes if one.state is NodeState.STALE and one.leaves]
        yield (
            f"{listed(names, 5)}: the plug-in has ended and pods still use its devices: start no "
            "driver there before they have left"
        )
    for node in read.sources.nodes:
        labels = part(node, "metadata", "labels")
        if any(one in labels for one in _CLOUDS):
            yield (
                "nodes of a managed service: where the service runs the device plug-in itself, no "
                "label stops it; make a new node pool without it instead"
            )
            return


def _once(
    found: Plan, lost: Migration, made: Sequence[MadeClass], options: Options
) -> Iterator[Step]:
    """Yield what comes before the first node."""
    if not found.left:
        return
    if not lost.gate.on:
        yield Step(
            "gate",
            "turn DRAExtendedResource on in API server, scheduler, controller-manager and "
            "kubelets, or use claims: kubectl dra migrate convert",
        )
    if made:
        yield Step(
            "classes",
            f"make {len(made)} classes" if len(made) > 1 else "make one class",
            f"kubectl dra migrate classes{options.migrate} | kubectl apply -f -"
            f"{options.connection}",
        )
    yield Step(
        "values",
        f"let the label {SOURCE} drive both DaemonSets: the plug-in runs where it is neither none "
        "nor dra, the driver where it is dra",
        f"kubectl dra migrate plan --output-dir migration{options.migrate}",
    )
    blocked = [one for one in lost.workloads if one.answer in (Answer.BLOCKED, Answer.CHANGE)]
    breaks = {one.code for row in lost.workloads for one in row.losses if one.rank is Rank.BREAKS}
    if blocked or breaks:
        do = "does" if len(blocked) == 1 else "do"
        stay = f"{counted(len(blocked), 'workload')} that {do} not run unchanged"
        parts = [stay] if blocked else []
        parts += [f"what ends: {listed(sorted(breaks), 5)}"] if breaks else []
        command = f"kubectl dra migrate report -o wide{options.migrate}"
        yield Step("losses", "settle " + ", and ".join(parts), command)


def _node(one: NodePlan, *, back: bool) -> dict[str, Any]:
    return {
        "name": one.name,
        "state": one.state,
        "batch": one.batch,
        "resources": {
            row.resource: {
                "now": one.now[row.resource],
                "then": row.then(back=back),
                "devices": one.devices[row.resource],
            }
            for row in one.amounts
        },
        "held": one.held,
        "evicts": [pod.as_json() for pod in one.leaves],
        "waits": {"pods": one.waits, "until": one.name} if one.waits else None,
        "stops": list(one.stops),
        "steps": [step.as_json(number) for number, step in enumerate(one.steps, 1)],
    }


def _blocks(found: Plan, once: Sequence[Step]) -> Iterator[str | Cell]:
    """Yield every step of every node."""
    if not found.nodes:
        yield Nothing("Nothing to move: no node has an extended resource that devices stand for.")
        return
    yield from _before(once)
    for one in found.left:
        yield ""
        batch = f"Batch {one.batch}: " if one.batch else ""
        yield f"{batch}{one.name} ({_state(one, back=found.back)})"
        yield from _facts(one)
        for number, step in enumerate(one.steps, 1):
            yield from _step(number, step)
    yield ""
    yield _done(found)


def _again(wanted: Wanted) -> str:
    """Return the options of the same plan, each with a space before it."""
    given = {"--back": wanted.back, "--delete-unmanaged": wanted.unmanaged}
    return "".join(f" {name}" for name, on in given.items() if on) + wanted.options.migrate


def _short(found: Plan, once: Sequence[Step], again: str) -> Iterator[str | Cell]:
    """Yield nodes that are alike and follow each other together, without their commands."""
    if not found.left:
        yield from _blocks(found, once)
        return
    yield from _before(once)
    for _, members in groupby(found.left, key=lambda one: _kind(one, back=found.back)):
        yield ""
        yield from _alike([*members], back=found.back)
    yield ""
    yield _done(found)
    if first := next((one.name for one in found.left if one.steps), ""):
        yield f"Commands for {first}: kubectl dra migrate plan {first}{again}; for all: -o wide"


def _kind(one: NodePlan, *, back: bool) -> tuple[object, ...]:
    blocked = any(pod.budget == "blocked" for pod in one.leaves)
    does = tuple(dict.fromkeys(step.does for step in one.steps))
    return _state(one, back=back), does, blocked, bool(one.stops)


def _alike(nodes: Sequence[NodePlan], *, back: bool) -> Iterator[str | Cell]:
    first, last = nodes[0], nodes[-1]
    names = listed([one.name for one in nodes], _NAMED)
    many = f"{len(nodes)} nodes: " if len(nodes) > 1 else ""
    batch = f"Batch {first.batch}: " if first.batch else ""
    if first.batch != last.batch:
        batch = f"Batches {first.batch} to {last.batch}: "
    yield f"{batch}{many}{names} ({_state(first, back=back)})"
    if first.state is NodeState.BOTH:
        yield _UNSAFE
    stops = [stop for one in nodes for stop in one.stops]
    yield from (Cell(f"  {stop}", "red") for stop in stops[:_NAMED])
    if len(stops) > _NAMED:
        yield Cell(f"  and {len(stops) - _NAMED} more reasons to stop", "red")
    leaves = [pod for one in nodes for pod in one.leaves]
    if leaves:
        yield f"  {_leave(len(leaves))}"
    if kept := [pod.pod.key for pod in leaves if pod.budget == "blocked"]:
        yield Cell(f"  PodDisruptionBudgets keep {listed(kept, _NAMED)} for now", "yellow")
    if waits := sum({one.batch: one.waits for one in nodes}.values()):
        yield f"  {_wait(waits)}"
    if first.steps:
        yield f"  steps: {', '.join(dict.fromkeys(step.does for step in first.steps))}"


def _before(once: Sequence[Step]) -> Iterator[str]:
    for number, step in enumerate(once, 1):
        if number == 1:
            yield "Once"
        yield from _step(number, step)


def _done(found: Plan) -> str:
    done, every = len(found.nodes) - len(found.left), len(found.nodes)
    where = "at their plug-ins" if found.back else "done"
    return f"{done} of {counted(every, 'node')} {'is' if every == 1 else 'are'} {where}"


def _state(one: NodePlan, *, back: bool) -> str:
    amounts = ", ".join(
        f"{row.resource} {one.now[row.resource]} -> {row.then(back=back) or '?'}"
        for row in one.amounts
    )
    return f"{one.state}; {amounts}"


def _leave(count: int) -> str:
    return f"{counted(count, 'pod')} {'leaves' if count == 1 else 'leave'}"


def _wait(count: int) -> str:
    fit = "fits on no other node and waits" if count == 1 else "fit on no other node and wait"
    return f"{counted(count, 'pod')} {fit} until the batch is back"


def _facts(one: NodePlan) -> Iterator[str | Cell]:
    if one.state is NodeState.BOTH:
        yield _UNSAFE
    for stop in one.stops:
        yield Cell(f"  {stop}", "red")
    if one.leaves:
        names = listed([pod.pod.key for pod in one.leaves], 5)
        yield f"  {_leave(len(one.leaves))}: {names}"
    for pod in one.leaves:
        if pod.budget == "blocked":
            yield Cell(f"  a PodDisruptionBudget keeps {pod.pod.key} for now", "yellow")
        if pod.daemon:
            yield f"  {pod.pod.key} ends with the node's move, and its DaemonSet makes it again"
    if one.waits:
        yield f"  {_wait(one.waits)}"


def _step(number: int, step: Step) -> Iterator[str]:
    yield f"  {number}. {step.text}"
    if step.command:
        yield f"     $ {step.command}"
    if step.wait:
        until = " or ".join(one or "nothing" for one in step.wait.until) or "a count above 0"
        yield f"     $ {step.wait.command}"
        yield f"     until it prints {until}, at most {step.wait.limit} s: {step.wait.what}"
    if step.if_not:
        yield f"     if not: {step.if_not}"


# Files.


def _files(answer: Report, made: Sequence[MadeClass], drivers: set[str]) -> dict[str, str]:
    """Return the files of a plan; equal input gives equal bytes."""
    usable = [answers.class_text(one) for one in made]
    files = {"classes.yaml": "---\n".join(usable)} if any(one.usable for one in made) else {}
    title = "# Moving nodes between device plug-ins and DRA\n"
    text = "\n".join(one if isinstance(one, str) else one.text for one in answer.blocks)  # type: ignore[union-attr]  # no tables
    document = {"apiVersion": API_VERSION, "kind": answer.kind, **answer.document}
    return {
        **files,
        "kustomization.yaml": _yaml({"resources": sorted(files)}, kustomize=True),
        "plugin-values.yaml": _yaml(_plugin_values(nvidia=NVIDIA in drivers)),
        "driver-values.yaml": _yaml(_driver_values(nvidia=NVIDIA in drivers)),
        "plan.json": json.dumps(document, indent=2) + "\n",
        "STEPS.md": f"{title}\n```text\n{text.strip()}\n```\n",
    }


def _yaml(values: dict[str, Any], *, kustomize: bool = False) -> str:
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return yaml.safe_dump({**(head if kustomize else {}), **values}, sort_keys=False)


def _plugin_values(*, nvidia: bool) -> dict[str, Any]:
    ours = {"key": SOURCE, "operator": "NotIn", "values": ["none", "dra"]}
    terms = [{"matchExpressions": [dict(ours)]}]
    if nvidia:
        # A list in values replaces that of the chart, whose terms are kept therefore.
        values = ("true", "NVIDIA", "true")
        terms = [
            {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}, dict(ours)]}
            for key, value in zip(_AFFINITY, values, strict=True)
        ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def _driver_values(*, nvidia: bool) -> dict[str, Any]:
    own = {"gpuResourcesEnabledOverride": True, "resources": {"gpus": {"enabled": True}}}
    return {**(own if nvidia else {}), "kubeletPlugin": {"nodeSelector": {SOURCE: "dra"}}}


def _write(folder: Path, files: dict[str, str], *, force: bool) -> None:
    """Write files; raise Unusable, with nothing written, where one has other content."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = folder / name
            if not force and _differs(path, text.encode()):
                raise Unusable(f"{path} has other content: --force replaces it")
        for name, text in files.items():
            replace_file(folder / name, text.encode())
    except OSError as error:
        raise Unusable(f"{error.filename or folder}: {error.strerror or error}") from None


def _differs(path: Path, content: bytes) -> bool:
    """Whether a file is there and has other content."""
    try:
        return path.exists() and read(path, len(content)) != content
    except UnreadableError:  # larger than that
        return True
