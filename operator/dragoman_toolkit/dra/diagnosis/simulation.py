"""What `simulate` places, now and with the changes."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dragoman.allocation import TimeBudget, TooExpensiveError
from dragoman.diagnosis.explain import unreadable
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Inventory, take
from dragoman_toolkit.defrag.layout import unbound
from dragoman_toolkit.diagnosis.changes import Changes, changed, taint_rule
from dragoman_toolkit.diagnosis.files import PlannedCluster, PlannedWorkload, flat, overlaid
from dragoman_toolkit.diagnosis.simulate import (
    MOST,
    Copies,
    PlacedWorkload,
    Placement,
    largest,
    place,
)
from dragoman_toolkit.diagnosis.virtualnodes import ChangeError, Virtual, is_count
from dragoman_toolkit.diagnosis.virtualnodes import added as nodes_of
from dragoman_toolkit.dra import notes, output
from dragoman_toolkit.dra.cluster import subjects
from dragoman_toolkit.dra.cluster.ended import with_pod
from dragoman_toolkit.dra.cluster.files import documents, require_valid, trees
from dragoman_toolkit.dra.diagnosis import typednodes
from dragoman_toolkit.dra.kinds import subject
from dragoman_toolkit.dra.missing import elsewhere
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.workloadpods import alike, members, states

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.inventory.facts.world import PodFact, World
    from dragoman.inventory.snapshots.snapshot import Snapshot
    from dragoman_toolkit.dra.cluster.source import Source

_NEEDS = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules"),
)
MORE_NODES = 16
"""Virtual nodes that are tried to place the rest."""

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Question:
    """What is simulated."""

    source: Source  # Where the objects come from
    snapshot: Snapshot  # The cluster
    trees: Sequence[Any]  # Documents of the files, and DeviceClasses that are added or replaced
    changes: Changes  # What is different
    replicas: int | None  # Pods to place; None for what the workload says
    # `namespace/name` of pods of the cluster to place, in place of those of the files
    pods: tuple[str, ...]
    title: str  # Of what they belong to
    fill: bool  # Whether to place until the first refusal


@dataclass(frozen=True, slots=True)
class Simulation:
    """Where the pods of a question fit."""

    world: World  # The cluster without the pods that are placed
    inventory: Inventory  # The devices with the changes, before a pod is placed
    workloads: Sequence[PlacedWorkload]  # What is placed
    then: Sequence[Placement]  # Where the pods of each fit with the changes
    now: Sequence[Placement] | None  # Where they fit today; None without changes
    virtual: Sequence[Virtual]  # The nodes that the changes add
    # Of which node how many more would place the rest; None where few do not help
    more_nodes: tuple[str, int] | None
    fill: bool  # Whether pods were placed until the first refusal
    largest: int  # Devices of the largest claim of this kind that fits on one node; 0 without fill
    unsure: tuple[str, ...]  # Labels that the snapshot lacks, as sentences
    left_out: tuple[str, ...] = ()  # Workloads of the files that are only for tests
    shapes: tuple[str, ...] = ()  # What is to be known of the shapes of virtual nodes, as sentences
    typed: tuple[typednodes.TypedNodes, ...] = ()  # Virtual nodes of shapes

    @property
    def pod(self) -> PodFact:
        """The pod that is placed first."""
        return self.workloads[0].sets[0][0].pod


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """What is different, as it was typed."""

    nodes: tuple[str, ...]  # `like=NODE[,count=N]` or files
    without_nodes: tuple[str, ...]  # Names
    without_pods: tuple[str, ...]  # `name` or `namespace/name`
    taints: tuple[str, ...]  # `DRIVER[/POOL[/DEVICE]]=KEY[=VALUE]:EFFECT`
    classes: tuple[str, ...]  # Files
    shapes: Path | None = None  # Folder of own shapes


def answer(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    words: tuple[str, ...],
    filenames: tuple[str, ...],
    changed_by: SimulationOptions,
    replicas: int | None,
    timeout: float,
    *,
    fill: bool,
) -> Simulation:
    """Read cluster and files, and simulate.

    Raises:
        Unusable: Either cannot be read, or the search is too large.
    """
    files = list(documents(filenames))
    read = [*(document.tree for _, document in files), *_classes(changed_by.classes)]
    typed = [
        typednodes.parse(text, changed_by.shapes)
        for text in changed_by.nodes
        if typednodes.is_typed(text)
    ]
    nodes = [
        (name, list(trees([name])))
        for name in changed_by.nodes
        if not _is_copy(name) and not typednodes.is_typed(name)
    ]
    snapshot = source.read(_NEEDS)
    require_valid(files, snapshot.kubernetes)
    title = ""
    pods: tuple[str, ...] = ()
    if words:
        title, pods, tree, snapshot = _named(source, snapshot, words)
        read += [tree] if tree else []
    try:
        changes = Changes(
            copies=tuple(_copies(text) for text in changed_by.nodes if _is_copy(text)),
            added=(
                *(
                    one
                    for name, found in nodes
                    for one in nodes_of(found, snapshot.taken, f"--add-node {name}")
                ),
                *(node for one in typed for node in typednodes.virtual(one, snapshot.taken)),
            ),
            without_nodes=changed_by.without_nodes,
            without_pods=tuple(
                pod if "/" in pod else f"{source.namespace}/{pod}"
                for pod in changed_by.without_pods
            ),
            rules=tuple(map(taint_rule, changed_by.taints)),
        )
        question = Question(source, snapshot, read, changes, replicas, pods, title, fill=fill)
        with output.ProgressLine() as progress, TimeBudget(timeout, clock=time.thread_time):
            found = run(question, progress)
        untold = typednodes.untold(typed, found.inventory, found.workloads, found.then)
        said = [note for one in typed for note in typednodes.notes(one)]
        return replace(
            found,
            unsure=(*found.unsure, *dict.fromkeys(untold)),
            shapes=tuple(said),
            typed=tuple(typed),
        )
    except ChangeError as error:
        raise Unusable(str(error)) from None
    except TooExpensiveError:
        raise Unusable(
            "too expensive to simulate: the pods' selectors, or the searches for their devices, "
            f"took more than {timeout:g} s; --timeout gives more, fewer --replicas need less"
        ) from None


def _named(
    source: Source, snapshot: Snapshot, words: tuple[str, ...]
) -> tuple[str, tuple[str, ...], Any, Snapshot]:
    """Return the title and pods of what was named, or its object where it has no pods yet."""
    kind, name = subject(words, subjects.KNOWN, "pod")
    if kind == "pod":
        key = name if "/" in name else f"{source.namespace}/{name}"
        return f"Pod {key}", (key,), None, with_pod(source, snapshot, key)
    meant, snapshot = subjects.named(source, snapshot, kind, name)
    if meant.kind is None:
        return f"Pod {meant.key}", (meant.key,), None, snapshot
    found = tuple(one.key for one in members(parse(snapshot), meant.kind, meant.key))
    if not found and meant.tree is None:
        raise Unusable(f"no pod of {kind} {meant.key} found")
    return meant.title, found, meant.tree, snapshot


def run(question: Question, progress: Progress) -> Simulation:
    """Place the pods now and with the changes.

    Raises:
        Unusable: There is no pod to place.
        ChangeError: A change names something that does not exist.
    """
    planned = overlaid(question.snapshot, question.trees, question.source.namespace)
    world, workloads = _without_pods(question, planned)
    count = sum(len(copies.names) for one in workloads for parts in one.sets for copies in parts)
    if question.fill and len(workloads) != 1:
        raise Unusable("--fill places pods of one workload; give files with one")

    def placed(inventory: Inventory) -> list[Placement]:
        return place(inventory, workloads, fill=question.fill, progress=progress)

    after, virtual = changed(world, question.changes)
    inventory = _inventory(question, after)
    then = placed(inventory)
    refused = any(one.refused for one in then)
    first = workloads[0].sets[0][0].pod
    return Simulation(
        world=world,
        inventory=inventory,
        workloads=workloads,
        then=then,
        now=placed(_inventory(question, world)) if question.changes else None,
        virtual=virtual,
        more_nodes=_more_nodes(question, world, workloads, then)
        if refused and count < MOST
        else None,
        fill=question.fill,
        largest=largest(inventory, first) if question.fill else 0,
        unsure=tuple(notes.unknown_labels(question.source, planned)),
        left_out=planned.left_out,
    )


def _without_pods(
    question: Question, planned: PlannedCluster
) -> tuple[World, list[PlacedWorkload]]:
    """Return the cluster without the pods that are placed, and these."""
    world = parse(planned.snapshot)
    if missing := unreadable(world):
        raise Unusable(
            f"cannot tell: you cannot list {', '.join(missing)}; "
            "`kubectl dra auth` prints what is missing"
        )
    if question.pods:
        workloads = [_waiting(question, world)]
        gone = {key for key in question.pods if not world.pods[key].pod.node_name}
    else:
        if not planned.workloads:
            raise Unusable("-f: expected a pod or a workload, found none")
        workloads = [
            placed_workload(world, one, question.replicas, fill=question.fill)
            for one in planned.workloads
        ]
        gone = set(planned.pods)
        if len(workloads) == 1:
            workloads = [
                replace(workloads[0], title="" if not workloads[0].whole else workloads[0].title)
            ]
    workloads = [one for one in workloads if one.sets]
    if not workloads:
        raise Unusable("the workloads run no pods: --replicas N places N")
    others = {name: pod for name, pod in world.pods.items() if name not in gone}
    return replace(world, pods=others), workloads


def _waiting(question: Question, world: World) -> PlacedWorkload:
    """Return pods of the cluster that wait, or copies of one of them as --replicas says."""
    for key in question.pods:
        if key not in world.pods:
            hint = elsewhere(key, world.pods, f"kubectl dra simulate {key.partition('/')[2]}")
            raise Unusable(f"pod {key} not found{hint}")
    found = [world.pods[key] for key in question.pods]
    wait = [one for one in found if not one.pod.node_name and not one.pod.done]
    if question.fill or question.replicas or not wait:
        if not (question.fill or question.replicas):
            raise Unusable(
                f"{question.title}: no pod of it waits for a node ({states(found)}); "
                "--replicas N places N more of them"
            )
        copied = unbound((wait or found)[0])
        many = MOST if question.fill else question.replicas or 1
        return _alone(question.title, copied, many, fill=question.fill)
    groups = [
        Copies(group[0], tuple(one.pod.metadata.name for one in group))
        for group in alike(world, wait)
    ]
    return PlacedWorkload(question.title, (tuple(groups),))


def _alone(title: str, pod: PodFact, many: int, *, fill: bool) -> PlacedWorkload:
    """Return copies of a pod, each placed for itself."""
    names = tuple(f"{pod.pod.metadata.name}-{number}" for number in range(many))
    if fill:
        return PlacedWorkload(title, tuple((Copies(pod, (name,)),) for name in names))
    return PlacedWorkload(title, ((Copies(pod, names),),) if names else ())


def placed_workload(
    world: World, workload: PlannedWorkload, replicas: int | None = None, *, fill: bool = False
) -> PlacedWorkload:
    """Return the pods of a workload of files, gangs in sets.

    Args:
        world: The cluster with the files' pods in it.
        workload: What is placed.
        replicas: How many pods, or sets of a gang; None for what it says.
        fill: Whether there are as many as may fit.
    """
    pods = [(pod_of_files(world, one.key), one.copies) for one in workload.pods]
    if len(pods) == 1 and not workload.gangs and pods[0][1] is not None:
        many = MOST if fill else replicas or pods[0][1]
        return _alone(workload.title, pods[0][0], min(many, MOST), fill=fill)
    size = max(workload.gangs, 1)
    daemons = all(copies is None for _, copies in pods)
    sets = 1 if daemons else MOST if fill else replicas or size
    found: list[tuple[Copies, ...]] = []
    left = MOST
    for number in range(sets):
        parts = tuple(_part(pod, copies, size, number) for pod, copies in pods)
        left -= sum(len(one.names) for one in parts)
        if left < 0:
            break
        found.append(tuple(one for one in parts if one.names or one.each_node))
    found = [parts for parts in found if parts]
    whole = bool(workload.gangs)
    return PlacedWorkload(workload.title, tuple(found), whole, workload.least)


def _part(pod: PodFact, copies: int | None, size: int, number: int) -> Copies:
    """Return the pods of one spec in one of the equal sets of a workload."""
    if copies is None:
        return Copies(pod, each_node=True)
    many = copies // size
    ends = range(number * many, (number + 1) * many)
    return Copies(pod, tuple(f"{pod.pod.metadata.name}-{end}" for end in ends))


def pod_of_files(world: World, key: str) -> PodFact:
    """Return a pod of the files; raise Unusable where it is malformed."""
    if key not in world.pods:
        problem = next((one.problem for one in world.malformed if one.name == key), "no name")
        raise Unusable(f"pod {key} of the files is malformed: {problem}")
    return world.pods[key]


def _inventory(question: Question, world: World) -> Inventory:
    profile = question.source.profile(world)
    if question.changes.rules:
        profile = replace(
            profile, taint_rules=True, features=replace(profile.features, DeviceTaints=True)
        )
    return take(world, profile)


def _more_nodes(
    question: Question,
    world: World,
    workloads: Sequence[PlacedWorkload],
    then: Sequence[Placement],
) -> tuple[str, int] | None:
    """Return of which node how many more would place the rest; None where few do not help."""
    if question.fill:
        return None
    given = [like for like, _ in question.changes.copies]
    filled = Counter(node for one in then for node, names in one.nodes.items() for _ in names)
    likes = given or [name for name, _ in filled.most_common()]
    like = next((name for name in likes[:1] if name in world.nodes), None)
    if like is None:
        return None

    def suffice(many: int) -> bool:
        copies = (*question.changes.copies, (like, many))
        more, _ = changed(world, replace(question.changes, copies=copies))
        return not any(one.refused for one in place(_inventory(question, more), workloads))

    counts = range(1, MORE_NODES + 1)
    # With more nodes at least as many pods fit.
    found = bisect_left(counts, True, key=suffice)  # noqa: FBT003 — what is looked for
    return (like, counts[found]) if found < len(counts) else None


def _classes(names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the DeviceClasses of the files of --class."""
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
    if parts or repeated or not like or not is_count(count, 1000):
        raise Unusable(f"--add-node {text}: expected like=NODE[,count=N] with N from 1 to 1000")
    return like, int(count)
