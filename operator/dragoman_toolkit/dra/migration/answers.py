"""What `kubectl dra migrate` reads and prints."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import click
import yaml

from dragoman.cli.terminal import plain, say
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import World
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import MIGRATION, Snapshot
from dragoman.kube.connectionoptions import FLAGS
from dragoman.model.fields import part
from dragoman_base.versions import Release, beyond
from dragoman_base.words import counted, listed
from dragoman_toolkit.dra.cluster.files import trees
from dragoman_toolkit.dra.cluster.selection import ObjectSelection
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.migration.reading import companions
from dragoman_toolkit.dra.missing import cannot_tell, near_names, unseen_of
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table, Unusable
from dragoman_toolkit.dra.reports import Nothing
from dragoman_toolkit.migration import asks, queues
from dragoman_toolkit.migration import classes as made_classes
from dragoman_toolkit.migration.asks import Asking
from dragoman_toolkit.migration.classes import MadeClass, NoClass
from dragoman_toolkit.migration.losses import Loss, Rank
from dragoman_toolkit.migration.queues import Queues
from dragoman_toolkit.migration.report import (
    Answer,
    Beside,
    Gate,
    Migration,
    ResourceReport,
    WorkloadReport,
    gate_of,
    migration,
)
from dragoman_toolkit.migration.settings import CONFIG_LABEL, Settings
from dragoman_toolkit.migration.sources import NodeSource, Resource, Sources
from dragoman_toolkit.workloads import workload

READ = ("nodes", "pods", "deviceclasses", "resourceslices", "resourceclaims")
_STYLES = {Answer.BLOCKED: "red", Answer.CHANGE: "yellow", Answer.UNKNOWN: "yellow"}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as options and arguments give it."""

    filenames: tuple[str, ...] = ()  # Manifests of workloads; those of the cluster without
    schedulers: tuple[str, ...] = ()  # That are kube-scheduler
    mapped: tuple[str, ...] = ()  # `RESOURCE=CLASS`
    only: tuple[str, ...] = ()  # Resources
    configs: tuple[str, ...] = ()  # Of plug-ins: `FILE[@LABEL=VALUE]`
    selection: ObjectSelection = field(default=ObjectSelection())  # Of pods

    @property
    def options(self) -> str:
        """The options that give the same answer again, each with a space before it."""
        given = {
            "--resource": self.only,
            "--map": self.mapped,
            "--plugin-config": self.configs,
        }
        words = [f"{name} {shlex.quote(one)}" for name, found in given.items() for one in found]
        return "".join(f" {one}" for one in words)


def report(source: Source, question: Question, *, wide: bool) -> Report:
    """Answer `kubectl dra migrate report`; raise Unusable for bad input."""
    read = read_all(source, question)
    snapshot = read.snapshot
    found = migration(
        read.sources,
        read.asking,
        read.gate,
        only=question.only,
        beside=read.beside,
    )
    unseen = unseen_of(read.world)
    notes = tuple(lacking(source, read))
    status = Exit.UNKNOWN if unseen or notes else Exit.CLEAR if found.clean else Exit.OBSTACLE
    return Report(
        "MigrationReport",
        _document(found, snapshot.kubernetes, unseen),
        tuple(_blocks(found, snapshot.kubernetes, wide=wide)),
        status,
        (*notes, *said(read), *filter(None, [beyond(snapshot.kubernetes)])),
    )


def said(read: "Read") -> Iterator[str]:
    """Yield what configs of plug-ins and nodes say differently, the first node of each."""
    settings, told = read.sources.settings, set()
    for node in read.sources.nodes:
        name, labels = part(node, "metadata").get("name"), part(node, "metadata", "labels")
        texts = [settings.disagreement(one, labels) for one in part(node, "status", "allocatable")]
        if absent := settings.unconfigured(labels):
            texts.append(f"its label {CONFIG_LABEL} names no key of {absent}")
        for text in filter(None, texts):
            if text not in told:
                told.add(text)
                yield f"{name}: {text}"


def lacking(source: Source, read: "Read") -> Iterator[str]:
    """Yield why the answer is open."""
    snapshot, gate = read.snapshot, read.gate
    if rejected := read.beside.companions.rejected:
        yield (
            f"{listed(rejected, 5)} could not be read: sharing of devices is judged by labels of "
            "nodes, and what counts devices is not known (kubectl dra auth --for migrate)"
        )
    if source.snapshot and MIGRATION not in snapshot.extras:
        yield (
            "labels of nodes are not in this snapshot: devices that pods share are counted as "
            "whole ones; make it with `kubectl dra snapshot --with migration`"
        )
    elif source.snapshot and MIGRATION not in snapshot.objects:
        yield (
            "configs of device plug-ins are not in this snapshot, as in none without names: "
            "sharing is judged by labels of nodes, and what counts devices is not known"
        )
    if gate.on and not Release(gate.version).init_devices_shared:
        yield (
            "what pods ask for is counted by the rules of 1.35 and newer: in 1.34 init containers "
            "share no devices with others"
        )


def classes(source: Source, question: Question) -> Exit:
    """Print what `kubectl dra migrate classes` answers; raise Unusable for bad input."""
    read = read_all(source, question)
    asked = {name for one in read.asking for name in one.resources}
    resources = read.sources.resources(asked, question.only)
    found = list(made_classes.made(resources, read.sources, read.taken, asked))
    notes = [*lacking(source, read)]
    for text in (*notes, *said(read), *filter(None, [beyond(read.snapshot.kubernetes)])):
        say(f"! {text}")
    documents = [one for one in found if isinstance(one, MadeClass)]
    for number, one in enumerate(documents):
        click.echo(("---\n" if number else "") + class_text(one), nl=False)
        if one.note:
            say(f"! {one.note}")
    missing = [one for one in found if isinstance(one, NoClass)]
    for gap in missing:
        say(f"! {plain(gap.resource)}: no class can serve it ({gap.code})")
    if not documents and not missing:
        say("Nothing to make: every extended resource has a class that serves it, or there is none")
    if blind := cannot_tell(unseen_of(read.world)):
        say(f"! {blind}")
        return Exit.UNKNOWN
    unserved = {one.resource for one in documents if not one.usable} & asked
    return Exit.OBSTACLE if unserved or any(one.asked for one in missing) else Exit.CLEAR


def class_text(one: MadeClass) -> str:
    """Return a class as YAML; one that selects nothing is commented out."""
    text = yaml.safe_dump(one.manifest, sort_keys=False, width=4096)
    if one.usable:
        return f"# {one.comment}\n{text}"
    return f"# {one.comment}\n" + "".join(f"# {line}\n" for line in text.splitlines())


@dataclass(frozen=True, slots=True)
class Read:
    """What all commands compute from."""

    snapshot: Snapshot
    world: World
    sources: Sources
    asking: list[Asking]
    gate: Gate
    beside: Beside

    @property
    def taken(self) -> set[str]:
        """Names of the classes that exist."""
        found = self.snapshot.of("deviceclasses")
        return {str(part(one, "metadata").get("name") or "") for one in found}


def options(source: Source, question: Question) -> str:
    """Return the options that give the same answer again, each with a space before it."""
    profile = source.profile_option
    name, value = ("--gates", profile[1:]) if profile.startswith(",") else ("--profile", profile)
    return (f" {name} {shlex.quote(value)}" if value else "") + question.options


def connection(source: Source) -> str:
    """Return the options of a connection for other commands, each with a space before it."""
    words = []
    for name, flag in FLAGS.items():
        value = getattr(source.connection, name)
        # Tokens are no text for a terminal, and a time-out changes no answer.
        if value and name not in ("token", "request_timeout"):
            several = value if isinstance(value, tuple) else (value,)
            words += [f" {flag.names[-1]} {shlex.quote(str(one))}" for one in several]
    return "".join(words)


def read_all(source: Source, question: Question, plurals: Iterable[str] = READ) -> Read:
    """Read a cluster; raise Unusable for bad input."""
    snapshot = source.read((*plurals, *queues.KINDS))
    world = parse(snapshot)
    profile = source.profile(world)
    beside = Beside(
        companions(source, snapshot, question.configs), Queues.of(snapshot), question.schedulers
    )
    sources = Sources(
        take(world, profile),
        snapshot.of("nodes"),
        _mapped(question.mapped, world),
        Settings.of(beside.companions),
    )
    if question.filenames:
        made = (workload(one) for one in trees(question.filenames) if isinstance(one, dict))
        asking = [*asks.of_manifests((one for one in made if one), source.namespace)]
        if not asking:
            raise Unusable(
                "no workload in these files asks for an extended resource, such as "
                "limits: {nvidia.com/gpu: 1}"
            )
    else:
        pods = [*world.pods.values()]
        if question.selection:
            meant = source.selected("pods", question.selection)
            pods = [one for one in pods if one.key in meant]
        found = asks.of_pods(pods)
        asking = [one for one in found if source.only_namespace in ("", one.namespace)]
    return Read(snapshot, world, sources, asking, gate_of(profile), beside)


def _mapped(pairs: Iterable[str], world: World) -> dict[str, str]:
    found = {}
    for one in pairs:
        resource, equals, name = one.partition("=")
        if not (equals and "/" in resource and name):
            raise Unusable(f"--map: expected RESOURCE=CLASS such as example.com/fpga=fpga: {one!r}")
        if name not in world.classes and not unseen_of(world, ["deviceclasses"]):
            near = near_names(name, sorted(world.classes), "DeviceClasses")
            raise Unusable(f"--map {one}: there is no DeviceClass {name}{near}")
        found[resource] = name
    return found


def _blocks(found: Migration, kubernetes: str, *, wide: bool) -> Iterator[Table | str | Cell]:
    if not found.resources:
        yield Nothing(
            "Nothing to migrate: no node publishes an extended resource, and no pod asks for one."
        )
        return
    served = "serve" if found.gate.on else "do not serve"
    state = "on" if found.gate.on else "off"
    yield (
        f"Kubernetes {kubernetes or 'of unknown version'}: DeviceClasses {served} extended "
        f"resources (DRAExtendedResource is {found.gate.stage} and {state})"
    )
    yield ""
    yield Table(
        ("RESOURCE", "NODES", "NOW", "THEN", "WORKLOADS", "SERVED BY"),
        tuple(map(_resource_row, found.resources)),
    )
    if found.workloads:
        yield ""
        headers = ("WORKLOAD", "PODS", "ASKS", "ANSWER", "WHY")
        rows = tuple(_workload_row(one, wide=wide) for one in found.workloads)
        yield Table(headers, rows, stack_below=80)
    yield ""
    yield from _summary(found)
    for loss in found.losses:
        if loss.rank is not Rank.NOTE:
            yield Cell(f"{loss.code}: {loss.text}", "red")
    if wide:
        yield ""
        yield Table(
            ("LOST", "OF", "WHY", "REMEDY"),
            tuple(
                (one.code, row.resource.name, one.text, one.code.remedy)
                for row in found.resources
                for one in row.losses
            ),
            stack_below=120,
        )


def _resource_row(row: ResourceReport) -> tuple[str | Cell, ...]:
    one = row.resource
    words = (
        (NodeSource.PLUGIN, "plug-in"),
        (NodeSource.DRA, "DRA"),
        (NodeSource.BOTH, "both"),
        (NodeSource.STALE, "stale"),
    )
    nodes = [f"{count} {word}" for kind, word in words if (count := len(one.of(kind)))]
    if one.serving:
        served = one.serving.name
    elif one.selecting:
        served = "none yet: kubectl dra migrate classes"
    else:
        served = "none"
    return (one.name, ", ".join(nodes), str(one.now), str(one.then), str(row.workloads), served)


def _workload_row(row: WorkloadReport, *, wide: bool) -> tuple[str | Cell, ...]:
    one = row.asking
    name = f"{one.namespace}/{one.kind.lower()}/{one.name}"
    wanted = "\n".join(f"{resource}: {one.each(resource)}" for resource in one.resources)
    answer = Cell(row.answer, _STYLES.get(row.answer, ""))
    return (name, str(one.count), wanted, answer, _why(row.losses, wide=wide))


def _why(losses: Iterable[Loss], *, wide: bool) -> str:
    """Return the blocks with their sentences, and of the rest the codes."""
    blocks = [one for one in losses if one.rank is Rank.BLOCKS]
    others = [one for one in losses if one.rank is not Rank.BLOCKS]
    if wide:
        return "\n".join(f"{one.code}: {one.text}" for one in (*blocks, *others))
    if blocks:
        first = blocks[0]
        more = listed(dict.fromkeys(one.code for one in blocks[1:] if one.code != first.code), 3)
        return f"{first.code}: {first.text}" + (f"; {more}" if more else "")
    return ", ".join(dict.fromkeys(one.code for one in others))


def _summary(found: Migration) -> Iterator[str]:
    counts = {kind: sum(one.answer is kind for one in found.workloads) for kind in Answer}
    parts = [
        f"{counted(len(found.workloads), 'workload')}: {counts[Answer.BLOCKED]} blocked",
        f"{counts[Answer.CHANGE]} with a change",
        f"{counts[Answer.UNCHANGED]} unchanged",
    ]
    if counts[Answer.DONE]:
        parts.append(f"{counts[Answer.DONE]} done")
    if counts[Answer.UNKNOWN]:
        parts.append(f"{counts[Answer.UNKNOWN]} left on their plug-ins")
    losses = [one for row in found.resources for one in row.losses]
    losses += [one for row in found.workloads for one in row.losses]
    lost = {one.code for one in losses if one.rank is Rank.BREAKS}
    more = f"; {counted(len(lost), 'behavior')} lost (-o wide)" if lost else ""
    yield ", ".join(parts) + more


def _document(found: Migration, kubernetes: str, unseen: list[dict[str, Any]]) -> dict[str, Any]:
    gate = {"name": "DRAExtendedResource", "stage": found.gate.stage, "on": found.gate.on}
    return {
        "kubernetes": kubernetes,
        "gate": gate,
        "resources": [_resource(one) for one in found.resources],
        "workloads": [_workload(one) for one in found.workloads],
        "losses": [one.as_json() for one in found.losses],
        "unseen": unseen,
    }


def _resource(row: ResourceReport) -> dict[str, Any]:
    one: Resource = row.resource
    return {
        "name": one.name,
        "now": one.now,
        "then": one.then,
        "served": {
            "class": one.serving.name if one.serving else None,
            "exists": one.serving is not None,
            "exact": one.exact,
        },
        "nodes": {kind: list(one.of(kind)) for kind in NodeSource},
        "plugin": {
            "vendor": one.name.partition("/")[0],
            "sharing": {"strategy": one.strategy or None, "replicas": one.replicas},
            "mig": one.mig or None,
        },
        "losses": [loss.as_json() for loss in row.losses],
    }


def _workload(row: WorkloadReport) -> dict[str, Any]:
    one = row.asking
    return {
        "namespace": one.namespace,
        "kind": one.kind,
        "name": one.name,
        "pods": one.count,
        "asks": {name: one.each(name) for name in one.resources},
        "answer": row.answer,
        "losses": [loss.as_json() for loss in row.losses],
    }
