"""What the page shows, computed from an inventory; the numbers are those of `top` and `who`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.inventory import DeviceState, Inventory
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.inventory.usage import summary
from dragoman.inventory.usage.rows import ClassRow
from dragoman.inventory.usage.waiting import Waiting, gated
from dragoman_base.words import natural
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.inventory import queues_table, top_tables
from dragoman_toolkit.dra.missing import cannot_tell, unseen_of
from dragoman_toolkit.dra.output import Cell, Table
from dragoman_toolkit.dra.ui.nodemap import MapRow, rows
from dragoman_toolkit.dra.ui.problems import PageProblem, problems
from dragoman_toolkit.queues.facts import Queues
from dragoman_toolkit.queues.reasons import HeldBack, is_held

WAITING_SHOWN = 200
"""Pods that the page lists; the tables count all of them."""
MEANING: Mapping[DeviceState, str] = {
    DeviceState.FREE: "a claim without tolerations can have it",
    DeviceState.USED: "allocated to a claim",
    DeviceState.TAINTED: "idle, but a taint keeps claims away",
    DeviceState.HELD: "kept out of service",
    DeviceState.BLOCKED: "idle, but the shared counters of its pool do not suffice",
    DeviceState.UNUSABLE: "idle, but its pool is incomplete or invalid",
    DeviceState.LOST: "allocated, but in no current ResourceSlice",
}
"""States in the order of the legend."""


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod that waits for devices."""

    key: str  # `namespace/name`
    namespace: str  # Of the pod
    classes: tuple[str, ...]  # DeviceClasses that its claims request
    numbers: tuple[int, ...]  # Places of these in `Page.class_names`.
    claims: tuple[str, ...]  # Claims without devices
    since: str  # When the scheduler refused it first, as an API timestamp; empty where unknown
    message: str  # What the scheduler says


class HeldPod(NamedTuple):
    """A pod that scheduling gates keep from the scheduler."""

    key: str  # `namespace/name`
    namespace: str  # Of the pod
    reasons: tuple[str, ...]  # Who holds it back, and why


class Advice(NamedTuple):
    """What to do."""

    text: str  # Why
    commands: tuple[str, ...]  # To run, in order


@dataclass(frozen=True, slots=True)
class Page:
    """Everything on the page."""

    taken: str  # When the objects were read, as an API timestamp
    kubernetes: str  # The server's version
    classes: Table | None  # Devices by class: every device of the map that a class selects
    namespaces: Table | None  # The table of `top namespaces`; without quotas what they hold alone
    states: Mapping[DeviceState, int]  # Number of devices in each state
    rows: tuple[MapRow, ...]  # Nodes in the order of `top nodes`, then lost devices
    waiting: tuple[WaitingPod, ...]  # Pods that wait, at most WAITING_SHOWN
    waiting_count: int  # All pods that wait
    # What could not be listed, selectors that fail, and objects that are left out
    notes: tuple[str, ...]
    class_names: tuple[str, ...]  # Choices of the filter
    namespace_names: tuple[str, ...]  # Choices of the filter
    problems: tuple[PageProblem, ...] = ()  # What is wrong, the worst first
    empty: Advice | None = None  # What to do where there are no devices; None where there are
    # Whether something could not be listed, so that what is not shown may be there
    blind: bool = False
    queues: Table | None = None  # The table of `top queues`; None without a queue manager
    held: tuple[HeldPod, ...] = ()  # Pods that are held back, at most WAITING_SHOWN
    held_count: int = 0  # All pods that are held back
    basis: int = 0  # Differs where explanations may differ although rows and pods are the same


def page(inventory: Inventory, snapshot: Snapshot) -> Page:
    """Compute the page of an inventory, and of the snapshot that it was taken from."""
    blind = cannot_tell(unseen_of(inventory.world))
    counts = Counter(device.state for device in inventory.devices.values())
    found = sorted(summary.waiting_pods(inventory), key=lambda one: natural(one.pod.key))
    queues = Queues(snapshot, inventory.world)
    pods = inventory.world.pods.values()
    held = sorted(
        (one for one in pods if gated(one) and is_held(one)), key=lambda one: natural(one.key)
    )
    return Page(
        taken=inventory.world.now,
        kubernetes=inventory.world.kubernetes,
        classes=_class_table(summary.classes(inventory)),
        namespaces=_namespace_table(inventory),
        states={state: counts[state] for state in MEANING},
        rows=rows(inventory),
        waiting=tuple(_waiting(inventory.world, one) for one in found[:WAITING_SHOWN]),
        waiting_count=len(found),
        # Pools stand among the problems, and at their nodes.
        notes=(*filter(None, [blind]), *notes.failures(inventory), *notes.common(inventory.world)),
        class_names=tuple(inventory.members),
        namespace_names=_namespaces(inventory, found),
        problems=problems(snapshot, inventory),
        empty=_empty(inventory),
        blind=bool(blind),
        queues=queues_table.table_of(queues, inventory),
        held=tuple(_held(HeldBack(queues, inventory), held[:WAITING_SHOWN])),
        held_count=len(held),
        basis=_basis(inventory.world),
    )


def _held(known: HeldBack, pods: Iterable[PodFact]) -> Iterator[HeldPod]:
    for pod in pods:
        yield HeldPod(
            pod.key, pod.pod.metadata.namespace, tuple(one.text for one in known.of_pod(pod))
        )


_HELD = 3
"""Columns that say what a namespace holds; the others compare it with its quotas."""
_COLUMNS = ("tainted", "held", "blocked", "unusable", "lost")
_COLORS: Mapping[str, str] = {"tainted": "yellow", "unusable": "yellow", "lost": "red"}


def _class_table(found: Iterable[ClassRow]) -> Table | None:
    """Return devices by class; a state that no device is in has no column."""
    rows = tuple(found)
    columns = [name for name in _COLUMNS if any(getattr(row, name) for row in rows)]
    lines: tuple[tuple[str | Cell, ...], ...] = tuple(
        (
            row.name,
            Cell(str(row.pending), "yellow" if row.pending else ""),
            Cell(str(row.free), "green" if row.free else ""),
            str(row.used),
            *(_counted(name, getattr(row, name)) for name in columns),
            str(row.devices + row.unusable + row.lost),
        )
        for row in rows
    )
    headers = ("Class", "Pods waiting", "Free", "Used", *map(str.capitalize, columns), "All")
    return Table(headers, lines) if lines else None


def _counted(name: str, count: int) -> Cell:
    return Cell(str(count), _COLORS.get(name, "") if count else "")


def _empty(inventory: Inventory) -> Advice | None:
    """Say what to do where the map has no device."""
    if inventory.devices or inventory.pools:
        return None
    if any(one.plural == "resourceslices" for one in inventory.world.unseen):
        return Advice(
            "ResourceSlices could not be listed, so that no device is known. "
            "This prints the permissions that are missing:",
            ("kubectl dra auth --for ui",),
        )
    return Advice(
        "There are no ResourceSlices. Is a DRA driver installed? Its pods run on the nodes with "
        "devices, and publish them as ResourceSlices:",
        ("kubectl get pods -A -o wide", "kubectl get resourceslices"),
    )


def _basis(world: World) -> int:
    """Return a number for what explanations read beside devices, claims and pods."""
    # The rest of a node changes with each heartbeat.
    nodes = [(one.node, one.document.get("spec")) for _, one in sorted(world.nodes.items())]
    return hash(repr((nodes, sorted(world.classes.items()), sorted(world.templates.items()))))


def _namespace_table(inventory: Inventory) -> Table | None:
    report = top_tables.namespaces(inventory, "")
    found = next((block for block in report.blocks if isinstance(block, Table)), None)
    classes = (one for row in report.document["namespaces"] for one in row["classes"])
    if found is None or any(one["quota"] is not None for one in classes):
        return found
    return Table(found.headers[:_HELD], tuple(row[:_HELD] for row in found.rows if row[0]))


def _namespaces(inventory: Inventory, found: Iterable[Waiting]) -> tuple[str, ...]:
    held = {
        holding.claim.metadata.namespace
        for device in inventory.devices.values()
        for holding in device.holdings
    }
    return tuple(sorted(held | {one.pod.pod.metadata.namespace for one in found}))


def _waiting(world: World, one: Waiting) -> WaitingPod:
    condition = one.pod.unschedulable
    numbers = {name: number for number, name in enumerate(sorted(world.classes))}
    names = tuple(dict.fromkeys(one.classes))
    return WaitingPod(
        key=one.pod.key,
        namespace=one.pod.pod.metadata.namespace,
        classes=names,
        numbers=tuple(numbers[name] for name in names if name in numbers),
        claims=one.claims,
        since=str(condition.get("lastTransitionTime") or ""),
        message=str(condition.get("message") or ""),
    )
