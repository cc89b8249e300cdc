"""What `simulate` places, now and with the changes."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dragoman.allocation import TimeBudget, TooExpensiveError
from dragoman.diagnosis.explain import unreadable
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Inventory, take
from dragoman_toolkit.diagnosis.changes import Changes, changed, taint_rule
from dragoman_toolkit.diagnosis.files import PlannedCluster, flat, overlaid
from dragoman_toolkit.diagnosis.simulate import MOST, Placement, largest, place
from dragoman_toolkit.diagnosis.virtualnodes import ChangeError, Virtual
from dragoman_toolkit.diagnosis.virtualnodes import added as nodes_of
from dragoman_toolkit.dra import notes, output
from dragoman_toolkit.dra.cluster.files import documents, require_valid, trees
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.workloads import workload

if TYPE_CHECKING:
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
    fill: bool  # Whether to place until the first refusal


@dataclass(frozen=True, slots=True)
class Simulation:
    """Where the pods of a question fit."""

    world: World  # The cluster without the pod of the files
    inventory: Inventory  # The devices with the changes, before a pod is placed
    pod: PodFact  # What is placed
    then: Placement  # Where its replicas fit with the changes
    now: Placement | None  # Where they fit today; None without changes
    virtual: Sequence[Virtual]  # The nodes that the changes add
    # Of which node how many more would place the rest; None where few do not help
    more_nodes: tuple[str, int] | None
    fill: bool  # Whether pods were placed until the first refusal
    largest: int  # Devices of the largest claim of this kind that fits on one node; 0 without fill
    unsure: tuple[str, ...]  # Labels that the snapshot lacks, as sentences


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """What is different, as it was typed."""

    nodes: tuple[str, ...]  # `like=NODE[,count=N]` or files
    without_nodes: tuple[str, ...]  # Names
    without_pods: tuple[str, ...]  # `name` or `namespace/name`
    taints: tuple[str, ...]  # `DRIVER[/POOL[/DEVICE]]=KEY[=VALUE]:EFFECT`
    classes: tuple[str, ...]  # Files


def answer(  # noqa: PLR0913 — one parameter for each option
    source: Source,
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
    nodes = [(name, list(trees([name]))) for name in changed_by.nodes if not _is_copy(name)]
    snapshot = source.read(_NEEDS)
    require_valid(files, snapshot.kubernetes)
    try:
        changes = Changes(
            copies=tuple(_copies(text) for text in changed_by.nodes if _is_copy(text)),
            added=tuple(
                one
                for name, found in nodes
                for one in nodes_of(found, snapshot.taken, f"--add-node {name}")
            ),
            without_nodes=changed_by.without_nodes,
            without_pods=tuple(
                pod if "/" in pod else f"{source.namespace}/{pod}"
                for pod in changed_by.without_pods
            ),
            rules=tuple(map(taint_rule, changed_by.taints)),
        )
        question = Question(source, snapshot, read, changes, replicas, fill=fill)
        with output.ProgressLine() as progress, TimeBudget(timeout, clock=time.thread_time):
            return run(question, progress)
    except ChangeError as error:
        raise Unusable(str(error)) from None
    except TooExpensiveError:
        raise Unusable(
            "too expensive to simulate: the pods' selectors, or the searches for their devices, "
            f"took more than {timeout:g} s; --timeout gives more, fewer --replicas need less"
        ) from None


def run(question: Question, progress: Progress) -> Simulation:
    """Place the pods now and with the changes.

    Raises:
        Unusable: The files have no pod, or more than one.
        ChangeError: A change names something that does not exist.
    """
    planned = overlaid(question.snapshot, question.trees, question.source.namespace)
    world, pod = _without_pod(planned)
    replicas = MOST if question.fill else question.replicas or replicas_of(question.trees)

    def placed(inventory: Inventory) -> Placement:
        return place(inventory, pod, replicas, fill=question.fill, progress=progress)

    after, virtual = changed(world, question.changes)
    inventory = _inventory(question, after)
    then = placed(inventory)
    return Simulation(
        world=world,
        inventory=inventory,
        pod=pod,
        then=then,
        now=placed(_inventory(question, world)) if question.changes else None,
        virtual=virtual,
        more_nodes=_more_nodes(question, world, pod, then, replicas),
        fill=question.fill,
        largest=largest(inventory, pod) if question.fill else 0,
        unsure=tuple(notes.unknown_labels(question.source, planned)),
    )


def _without_pod(planned: PlannedCluster) -> tuple[World, PodFact]:
    """Return the cluster without the pod of the files, which must not take room, and the pod."""
    world = parse(planned.snapshot)
    if missing := unreadable(world):
        raise Unusable(
            f"cannot tell: you cannot list {', '.join(missing)}; "
            "`kubectl dra auth` prints what is missing"
        )
    key = only_pod(planned)
    if key not in world.pods:
        problem = next((one.problem for one in world.malformed if one.name == key), "no name")
        raise Unusable(f"pod {key} of the files is malformed: {problem}")
    others = {name: pod for name, pod in world.pods.items() if name != key}
    return replace(world, pods=others), world.pods[key]


def _inventory(question: Question, world: World) -> Inventory:
    profile = question.source.profile(world)
    if question.changes.rules:
        profile = replace(
            profile, taint_rules=True, features=replace(profile.features, DeviceTaints=True)
        )
    return take(world, profile)


def only_pod(planned: PlannedCluster) -> str:
    """Return `namespace/name` of the only pod of files; raise Unusable where there is another."""
    if len(planned.pods) != 1:
        listed = ", ".join(planned.pods) or "none"
        raise Unusable(f"-f: expected one pod or workload, found {listed}")
    return planned.pods[0]


def replicas_of(trees: Sequence[Any]) -> int:
    """Return how many pods the workload of the files runs at a time, 1 without a number."""
    for tree in flat(trees):
        found = workload(tree)
        for pods in found.pods if found else ():
            if pods.copies:
                return min(pods.copies, MOST)
    return 1


def _more_nodes(
    question: Question, world: World, pod: PodFact, then: Placement, replicas: int
) -> tuple[str, int] | None:
    """Return of which node how many more would place the rest; None where few do not help."""
    if not then.refused or question.fill:
        return None
    given = [like for like, _ in question.changes.copies]
    likes = given or sorted(then.nodes, key=lambda name: -len(then.nodes[name]))
    like = next((name for name in likes[:1] if name in world.nodes), None)
    if like is None:
        return None

    def suffice(many: int) -> bool:
        copies = (*question.changes.copies, (like, many))
        more, _ = changed(world, replace(question.changes, copies=copies))
        return not place(_inventory(question, more), pod, replicas).refused

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
    if parts or repeated or not like or not count.isdecimal() or not 0 < int(count) <= 1000:
        raise Unusable(f"--add-node {text}: expected like=NODE[,count=N] with N from 1 to 1000")
    return like, int(count)
