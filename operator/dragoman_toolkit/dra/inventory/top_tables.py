"""Tables and documents of `top`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.inventory.ages import UNKNOWN, age
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Inventory, InventoryDevice, take
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.inventory.usage import summary
from dragoman_base.words import counted
from dragoman_toolkit import quotas
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.missing import missing
from dragoman_toolkit.dra.output import Cell, Report, Table
from dragoman_toolkit.dra.reports import Nothing
from dragoman_toolkit.queues.amounts import quantity_text
from dragoman_toolkit.quotas import Charge, NamespaceRow

if TYPE_CHECKING:
    from dragoman.inventory.usage.rows import ClassRow, NodeRow, PodRow, Share
    from dragoman_toolkit.dra.cluster.selection import ObjectSelection
    from dragoman_toolkit.dra.cluster.source import Source

Selected = Collection[str] | None
"""Names, or `namespace/name`, that labels select; None for all."""
SELECTED = "with these labels and fields"
_NEEDS = {
    "classes": (
        *("resourceslices", "deviceclasses", "resourceclaims", "devicetaintrules"),
        *("pods", "resourceclaimtemplates"),
    ),
    "nodes": ("resourceslices", "deviceclasses", "resourceclaims", "devicetaintrules", "pods"),
    "namespaces": ("resourceclaims", "resourcequotas"),
    "pods": ("resourceclaims", "pods", "deviceclasses"),
}
"""What each answer is computed from."""
_SELECTED = {
    "classes": "deviceclasses",
    "nodes": "nodes",
    "namespaces": "namespaces",
    "pods": "pods",
}
"""The objects that -l and --field-selector select."""


def classes(inventory: Inventory, only: str, selected: Selected = None, *, wide: bool) -> Report:
    """Return the answer by class."""
    rows = [
        row for row in summary.classes(inventory, only) if selected is None or row.name in selected
    ]
    table = class_table(rows, wide=wide)
    return Report(
        "TopClasses",
        {**notes.header(inventory.world), "classes": [*map(_class, rows)], **_pools(inventory)},
        _or_empty(
            table,
            "No DeviceClass found" if selected is None else f"No DeviceClass found {SELECTED}",
            inventory,
        ),
        notes.status(inventory.world),
        tuple(_notes(inventory)),
    )


def class_table(rows: Sequence[ClassRow], *, wide: bool) -> Table:
    """Return the devices of classes in numbers."""
    blocked = wide or any(row.blocked for row in rows)
    headers = (
        *("CLASS", "DRIVER", "DEVICES", "FREE", "USED", "PENDING", "TAINTED", "HELD"),
        *(("BLOCKED",) if blocked else ()),
        "LOST",
        *(("SHARES",) if wide else ()),
    )
    lines = tuple(
        (
            *(row.name, ",".join(row.drivers) or UNKNOWN, str(row.devices)),
            Cell(str(row.free), "green" if row.free else ""),
            *(str(row.used), str(row.pending)),
            _bad(row.tainted),
            str(row.held),
            *((str(row.blocked),) if blocked else ()),
            _bad(row.lost),
            *((_shares(row.shares),) if wide else ()),
        )
        for row in rows
    )
    return Table(headers, lines, tuple(_spare(rows)), last=("DRIVER", "DEVICES"))


def nodes(inventory: Inventory, only: str, selected: Selected = None, *, wide: bool) -> Report:
    """Return the answer by node."""
    rows = [
        row for row in summary.nodes(inventory, only) if selected is None or row.node in selected
    ]
    lines = tuple(
        (row.node or "(several)", f"{row.free}/{row.devices}", _node_text(row, wide=wide))
        for row in rows
    )
    return Report(
        "TopNodes",
        {**notes.header(inventory.world), "nodes": [*map(_node, rows)], **_pools(inventory)},
        _or_empty(
            Table(("NODE", "FREE/ALL", "USED BY"), lines),
            "No devices found" if selected is None else f"No devices found on nodes {SELECTED}",
            inventory,
        ),
        notes.status(inventory.world),
        tuple(_notes(inventory)),
    )


def namespaces(inventory: Inventory, only: str, selected: Selected = None) -> Report:
    """Return the answer by namespace."""
    rows = [
        row
        for row in quotas.namespaces(inventory)
        if only in ("", row.namespace) and (selected is None or row.namespace in selected)
    ]
    headers = ("NAMESPACE", "HELD", "IDLE>1h", "CLASS", "QUOTA", "CHARGED", "WHY THEY DIFFER")
    lines = tuple(line for row in rows for line in _namespace_lines(row))
    documents = [_namespace_document(row) for row in rows]
    return Report(
        "TopNamespaces",
        {**notes.header(inventory.world), "namespaces": documents},
        (Table(headers, lines),) if lines else (Nothing(_no_claims(only, selected)),),
        notes.status(inventory.world),
        tuple(notes.common(inventory.world)),
    )


def _no_claims(only: str, selected: Selected) -> str:
    """Say where there are none: there may be others."""
    if only:
        return f"No claims found in namespace {only}."
    return f"No claims found{'' if selected is None else f' in namespaces {SELECTED}'}."


def _or_empty(table: Table, nothing: str, inventory: Inventory) -> tuple[Table | Cell, ...]:
    """Return a table, or why it has no rows."""
    if table.rows:
        return (table,)
    driver = not inventory.devices and SELECTED not in nothing
    return (Nothing(f"{nothing}{': is a DRA driver installed?' if driver else '.'}"),)


def _spare(rows: Sequence[ClassRow]) -> Iterator[str]:
    """Yield columns by class that say nothing: drivers named as their classes, states of none."""
    if all(tuple(row.drivers) in ((), (row.name,)) for row in rows):
        yield "DRIVER"
    for name in ("held", "blocked", "lost", "tainted"):
        if not any(getattr(row, name) for row in rows):
            yield name.upper()


def _namespace_lines(row: NamespaceRow) -> Iterator[tuple[str | Cell, ...]]:
    """Yield one line for each class; only the first names the namespace."""
    first: tuple[str | Cell, ...] = (row.namespace, str(row.held), _bad(row.idle))
    for name, charge in row.classes.items() or (("", Charge(0, 0)),):
        yield (*first, *_charge(name, charge))
        first = ("", "", "")


def _namespace_document(row: NamespaceRow) -> dict[str, Any]:
    classes = [
        {
            "name": name,
            "held": charge.held,
            "quota": charge.hard,
            "charged": charge.charged,
            "differences": list(charge.differences),
        }
        for name, charge in row.classes.items()
    ]
    return {"namespace": row.namespace, "held": row.held, "idle": row.idle, "classes": classes}


def _charge(name: str, charge: Charge) -> tuple[str | Cell, ...]:
    limit = UNKNOWN if charge.hard is None else str(charge.hard)
    full = charge.hard is not None and charge.charged >= charge.hard
    charged = Cell(str(charge.charged), "red" if full else "")
    return (name, limit, charged, "; ".join(charge.differences))


def pods(inventory: Inventory, namespace: str, selected: Selected = None, *, wide: bool) -> Report:
    """Return the answer by pod."""
    every = [*summary.pods(inventory)]
    rows = [
        row
        for row in every
        if (namespace == "" or row.pod.startswith(f"{namespace}/"))
        and (selected is None or row.pod in selected)
    ]
    now = inventory.world.now
    headers = ("POD", "NODE", "DEVICES", "SINCE", "WAITS FOR", *(("NAMES",) if wide else ()))
    lines = tuple(
        (
            # As kubectl has it, a namespace that was named is not repeated.
            row.pod.removeprefix(f"{namespace}/") if namespace else row.pod,
            row.node or UNKNOWN,
            ", ".join(f"{count} {name}" for name, count in row.devices.items()) or UNKNOWN,
            age(now, row.since),
            Cell(", ".join(row.waiting) or UNKNOWN, "yellow" if row.waiting else ""),
            *((" ".join(map(str, row.ids)),) if wide else ()),
        )
        for row in rows
    )
    return Report(
        "TopPods",
        {**notes.header(inventory.world), "pods": [*map(_pod, rows)]},
        (Table(headers, lines),) if lines else (_no_pods(every, namespace, selected),),
        notes.status(inventory.world),
        tuple(notes.common(inventory.world)),
    )


def _no_pods(every: Sequence[PodRow], namespace: str, selected: Selected) -> Nothing:
    """Say which pods have no devices, and that others have some."""
    which = f" {SELECTED}" if selected is not None else ""
    where = f" in namespace {namespace}" if namespace else ""
    text = f"No pod{which}{where} has devices or waits for them"
    others = sum(not row.pod.startswith(f"{namespace}/") for row in every) if namespace else 0
    if others and not which:
        them = "does: -A shows it" if others == 1 else "do: -A shows them"
        text += f"; {counted(others, 'pod')} of other namespaces {them}"
    return Nothing(f"{text}.")


def _pod(row: PodRow) -> dict[str, Any]:
    namespace, _, name = row.pod.rpartition("/")
    return {
        "namespace": namespace,
        "name": name,
        "node": row.node,
        "devices": [str(one) for one in row.ids],
        "classes": dict(row.devices),
        "waitsFor": list(row.waiting),
        "since": row.since,
    }


def _class(row: ClassRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "drivers": list(row.drivers),
        "devices": row.devices,
        "free": row.free,
        "used": row.used,
        "tainted": row.tainted,
        "held": row.held,
        "blocked": row.blocked,
        "unusable": row.unusable,
        "lost": row.lost,
        "pending": row.pending,
        "shares": [
            {
                "capacity": one.capacity,
                "consumed": quantity_text(one.consumed),
                "total": quantity_text(one.total),
            }
            for one in row.shares
        ],
        "failure": row.failure,
    }


def _node(row: NodeRow) -> dict[str, Any]:
    return {
        "name": row.node,
        "free": row.free,
        "devices": row.devices,
        "usedBy": [{"holder": name, "devices": count} for name, count in row.users],
        "tainted": [
            {
                "device": str(one.id),
                "taints": [
                    {"key": taint.key, "value": taint.value, "effect": taint.effect}
                    for taint in one.taints
                ],
            }
            for one in row.tainted
        ],
        "unusablePools": [str(pool) for pool in row.pools],
    }


def _node_text(row: NodeRow, *, wide: bool) -> str:
    parts = [", ".join(f"{name} ({count})" for name, count in row.users) or UNKNOWN]
    if row.tainted:
        shown = row.tainted if wide else row.tainted[:2]
        listed = ", ".join(map(_tainted, shown)) + (", …" if len(shown) < len(row.tainted) else "")
        parts.append(f"tainted: {listed}")
    return "   ".join(parts)


def _tainted(device: InventoryDevice) -> str:
    return f"{device.id.device} {' '.join(taints_of(device))}"


def taints_of(device: InventoryDevice) -> Iterator[str]:
    """Yield the taints of a device; that of a reservation as the pod that it is for."""
    for taint in device.taints:
        reserved = device.reserved and taint.key == PREEMPTION
        yield f"reserved for {device.reserved}" if reserved else taint_text(taint)


def taint_text(taint: Any) -> str:
    """Write a taint as kubectl does: `key=value:effect`."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _shares(shares: tuple[Share, ...]) -> str:
    return (
        ", ".join(
            f"{quantity_text(one.consumed)}/{quantity_text(one.total)} "
            + one.capacity.rpartition("/")[2]
            for one in shares
        )
        or UNKNOWN
    )


def _pools(inventory: Inventory) -> Mapping[str, Any]:
    broken = (pool for pool in inventory.pools.values() if not pool.usable or pool.obsolete)
    return {"pools": [notes.pool_document(pool) for pool in broken]}


def _notes(inventory: Inventory) -> Iterator[str]:
    yield from notes.broken_pools(inventory)
    yield from notes.failures(inventory)
    yield from notes.common(inventory.world)


def _bad(count: int) -> Cell:
    return Cell(str(count), "red" if count else "")


def report(
    source: Source, what: str, device_class: str, selection: ObjectSelection, *, wide: bool
) -> Report:
    """Read the cluster and count.

    Raises:
        Unusable: The DeviceClass does not exist, or the cluster cannot be read.
    """
    selected = source.selected(_SELECTED[what], selection) if selection else None
    inventory = _inventory(source, what)
    known = inventory.world.classes
    if device_class and what in ("classes", "nodes") and device_class not in known:
        there = ", ".join(known) or "none"
        text = f"DeviceClass {device_class} not found; there are {there}"
        raise missing(inventory.world, text, "deviceclasses")
    if what == "classes":
        return classes(inventory, device_class, selected, wide=wide)
    if what == "nodes":
        return nodes(inventory, device_class, selected, wide=wide)
    if what == "namespaces":
        only = source.namespace_option
        return namespaces(inventory, only, selected)
    return pods(inventory, source.only_namespace, selected, wide=wide)


def _inventory(source: Source, what: str) -> Inventory:
    world = parse(source.read(_NEEDS[what]))
    return take(world, source.profile(world))
