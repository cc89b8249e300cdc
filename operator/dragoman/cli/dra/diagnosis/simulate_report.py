"""Table and document of `simulate`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dragoman.cli.dra import notes
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.output import Cell, Exit, Report, Table, Unusable
from dragoman.diagnosis import groups, wording
from dragoman.diagnosis.answers import Explanation
from dragoman.diagnosis.changes import Changes, changed
from dragoman.diagnosis.explain import unreadable
from dragoman.diagnosis.files import WORKLOADS, Planned, flat, overlaid
from dragoman.diagnosis.filters import LEFT_OUT
from dragoman.diagnosis.simulate import MOST, Placement, largest, place
from dragoman.diagnosis.subject import of_pod
from dragoman.diagnosis.virtualnodes import manifests
from dragoman.inventory.facts.objects import PodFact, World
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Inventory, take
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.inventory.usage.summary import count_free
from dragoman.inventory.usage.waiting import classes_of

MORE_NODES: Final = 16
"""Virtual nodes that are tried to place the rest."""

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Question:
    """What is simulated.

    Attributes:
        source: Where the objects come from.
        snapshot: The cluster.
        trees: Documents of the files.
        changes: What is different.
        replicas: Pods to place; None for what the workload says.
        fill: Whether to place until the first refusal.
    """

    source: Source
    snapshot: Snapshot
    trees: list[Any]
    changes: Changes
    replicas: int | None
    fill: bool


def answer(question: Question, progress: Progress) -> Report:
    """Place the pods now and with the changes.

    Raises:
        Unusable: The files have no pod, or more than one.
        ChangeError: A change names something that does not exist.
    """
    planned = overlaid(question.snapshot, question.trees, question.source.namespace)
    world = parse(planned.snapshot)
    if missing := unreadable(world):
        raise Unusable(f"you may not list {', '.join(missing)}: `kubectl dra auth` says more")
    key = _only_pod(planned)
    if key not in world.pods:
        raise Unusable(f"pod {key} of the files is malformed: {_problem(world, key)}")
    replicas = MOST if question.fill else question.replicas or _replicas(question.trees)
    # The pod of the file is what is placed: it must not take room itself.
    world, pod = (
        replace(world, pods={k: v for k, v in world.pods.items() if k != key}),
        (world.pods[key]),
    )
    after, virtual = changed(world, question.changes)
    inventory = _inventory(question, after)
    then = place(inventory, pod, replicas, fill=question.fill, progress=progress)
    now = None
    if question.changes:
        before = _inventory(question, world)
        now = place(before, pod, replicas, fill=question.fill, progress=progress)
    names = {one.node.node.name for one in virtual}
    blocks: list[Table | str | Cell] = [_table(then, now, names)]
    blocks += [f"not placed: {len(then.refused)}{_short(then.why)}."] if then.refused else []
    if question.fill:
        count = largest(inventory, pod)
        blocks.append(
            f"{then.placed} more pods fit. Before them {_free(inventory, pod)} devices are free; "
            f"the largest claim of this kind that fits on one node has {count}."
        )
    needed = _more_nodes(question, world, pod, then, replicas)
    if needed:
        like, many = needed
        nodes = "One more node" if many == 1 else f"{many} more nodes"
        blocks.append(f"{nodes} like {like} would do.")
    if then.why is not None:
        blocks += ["The next one fits nowhere."] if question.fill else []
        blocks += _reasons(inventory, then.why)
    document = {
        **notes.header(world),
        "replicas": then.placed + len(then.refused),
        "placed": then.placed,
        "placedNow": None if now is None else now.placed,
        "nodes": _nodes(then, now, names),
        "notPlaced": list(then.refused),
        "moreNodes": {"like": needed[0], "count": needed[1]} if needed else None,
        "virtual": manifests(virtual),
        "notLookedAt": list(LEFT_OUT),
    }
    unsure = tuple(notes.unknown_labels(question.source, planned))
    status = notes.status(world) if then.placed and not then.refused else Exit.OBSTACLE
    said = (*unsure, f"not looked at: {', '.join(LEFT_OUT)}", *notes.common(world))
    return Report("Simulation", document, tuple(blocks), Exit.UNKNOWN if unsure else status, said)


def _reasons(inventory: Inventory, why: Explanation) -> Iterator[Table | str]:
    """Yield why the first pod that was not placed fits nowhere."""
    yield from why.fatals
    yield from (one.text for one in why.subject.obstacles)
    lines = groups.groups(inventory, why.nodes)
    if lines:
        yield ""
        rows = tuple((wording.shortened(one.nodes), one.why) for one in lines)
        yield Table(("NODES", "WHY"), rows)


def _inventory(question: Question, world: World) -> Inventory:
    profile = question.source.profile(world)
    if question.changes.rules:
        profile = replace(
            profile, taint_rules=True, features=replace(profile.features, DeviceTaints=True)
        )
    return take(world, profile)


def _only_pod(planned: Planned) -> str:
    if len(planned.pods) != 1:
        listed = ", ".join(planned.pods) or "none"
        raise Unusable(f"-f: expected one pod or workload, found {listed}")
    return planned.pods[0]


def _problem(world: World, key: str) -> str:
    return next((one.problem for one in world.malformed if one.name == key), "no name")


def device_classes(trees: list[Any]) -> list[Any]:
    """Return the DeviceClasses among the documents of a file."""
    return [one for one in flat(trees) if one.get("kind") == "DeviceClass"]


def _replicas(trees: list[Any]) -> int:
    """Return what the workload of the files says, 1 without a number."""
    for tree in flat(trees):
        spec = tree.get("spec") if tree.get("kind") in WORKLOADS else None
        for name in ("replicas", "parallelism", "completions"):
            found = spec.get(name) if isinstance(spec, Mapping) else None
            if type(found) is int and 0 < found <= MOST:
                return found
    return 1


def _table(then: Placement, now: Placement | None, virtual: set[str]) -> Table:
    rows = tuple(
        (
            f"{name} (virtual)" if name in virtual else name,
            "-" if now is None or name in virtual else str(len(now.nodes.get(name, ()))),
            str(len(then.nodes.get(name, ()))),
            _pods(then.nodes.get(name, [])),
        )
        for name in sorted({*then.nodes, *(now.nodes if now else ())})
    )
    return Table(("NODE", "NOW", "THEN", "PODS"), rows)


def _pods(names: list[str]) -> str:
    if len(names) <= 2:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]}"


def _nodes(then: Placement, now: Placement | None, virtual: set[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "virtual": name in virtual,
            "now": None if now is None or name in virtual else len(now.nodes.get(name, ())),
            "then": len(then.nodes.get(name, ())),
            "pods": [
                {"name": pod, "devices": then.devices.get(pod, [])}
                for pod in then.nodes.get(name, ())
            ],
        }
        for name in sorted({*then.nodes, *(now.nodes if now else ())})
    ]


def _short(why: Explanation | None) -> str:
    near = [one for one in why.nodes if one.short and not one.filtered] if why else []
    if not near:
        return ""
    nearest = min(near, key=lambda one: (one.short, one.node))
    many = "one device" if nearest.short == 1 else f"{nearest.short} devices"
    return f", {many} short on {nearest.node}"


def _free(inventory: Inventory, pod: PodFact) -> int:
    """Count the free devices of the DeviceClasses that a pod requests."""
    subject = of_pod(inventory.world, pod, planned=True)
    names = {name for claim in subject.claims for name in classes_of(claim)}
    members = {one.id: one for name in names for one in inventory.members.get(name, ())}
    return count_free(inventory, members.values())


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
