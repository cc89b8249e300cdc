"""Table and document of `kubectl dra top queues`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dragoman.inventory.ages import UNKNOWN
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.queuekinds import MANAGERS, QUEUE_KINDS
from dragoman_base.words import counted
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.missing import missing, near_names
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table
from dragoman_toolkit.dra.reports import Nothing
from dragoman_toolkit.queues.amounts import quantity_text
from dragoman_toolkit.queues.facts import UNIT, Queues
from dragoman_toolkit.queues.managers import TITLES
from dragoman_toolkit.queues.rows import rows
from dragoman_toolkit.queues.usage import Row, Side
from dragoman_toolkit.queues.wording import WHY, text_of

if TYPE_CHECKING:
    from dragoman.inventory.inventory import Inventory
    from dragoman_toolkit.dra.cluster.source import Source

_NEEDS = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules"),
    *QUEUE_KINDS,
)
_QUEUES = ("clusterqueues.kueue.x-k8s.io", "queues.scheduling.volcano.sh")
NONE = "No queue manager found: Kueue, Volcano and KAI are known."
SHOWN = 4
"""Reasons of a row that a table without -o wide shows."""


def report(source: Source, queue: str, manager: str, *, wide: bool) -> Report:
    """Read queues and devices, and compare them.

    Args:
        source: The cluster, or a snapshot.
        queue: The only queue, with or without its manager in front; empty for all.
        manager: The only manager; empty for all.
        wide: Whether flavors and LocalQueues have lines of their own.

    Raises:
        Unusable: No queue has this name, or the cluster cannot be read.
    """
    snapshot = source.read(_NEEDS, ended=True)
    world = parse(snapshot)
    queues = Queues(snapshot, world)
    found = rows(queues, take(world, source.profile(world)))
    chosen = [row for row in found if manager in ("", row.manager)]
    namespace = source.namespace_option
    if namespace:
        chosen = [row for row in chosen if _in(row, namespace)]
    if queue:
        names = sorted({f"{row.manager}/{row.queue}" for row in chosen})
        chosen = [row for row in chosen if queue in (row.queue, f"{row.manager}/{row.queue}")]
        if not chosen:
            text = f"queue {queue} not found{near_names(queue, names, 'queues')}"
            raise missing(world, text.replace(": is a DRA driver installed?", ""), *_QUEUES)
    odd = [row for row in chosen if row.unexplained]
    return Report(
        "QueueUsage",
        {**notes.header(world), "queues": [*map(_document, chosen)]},
        (_table(chosen, wide=wide) if chosen else _nothing(queues),),
        _status(bool(odd), [one.plural for one in world.unseen]),
        (
            *(note for one in queues.managers.values() for note in one.notes()),
            *notes.common(world),
        ),
    )


def table_of(queues: Queues, inventory: Inventory) -> Table | None:
    """Return the table of all queues; None in a cluster without one."""
    found = rows(queues, inventory)
    return _table(found, wide=False) if found else None


def _status(odd: bool, unseen: Sequence[str]) -> Exit:  # noqa: FBT001 — read at one place
    if any(one.partition(".")[2] in MANAGERS for one in unseen):
        return Exit.UNKNOWN
    return Exit.OBSTACLE if odd else Exit.UNKNOWN if unseen else Exit.CLEAR


def _in(row: Row, namespace: str) -> bool:
    return any(one.startswith(f"{namespace}/") for one in row.local_queues)


def _nothing(queues: Queues) -> Nothing:
    known = [TITLES[name] for name in queues.managers]
    if not known:
        return Nothing(NONE)
    return Nothing(f"No queue of {' or '.join(known)} has a quota for devices, or pods with some.")


def _table(chosen: Sequence[Row], *, wide: bool) -> Table:
    headers = ("QUEUE", "RESOURCE", "QUOTA", "CHARGED", "HELD", "NOT COUNTED", "WAITING")
    more = ("COHORT", "LOCAL QUEUES") if wide else ()
    lines: list[tuple[str | Cell, ...]] = []
    for row in chosen:
        reasons = "; ".join(_reasons(row, wide=wide))
        lines.append(
            (
                f"{row.manager}/{row.queue}",
                row.resource.removeprefix("deviceclass/"),
                _quota(row, wide=wide),
                quantity_text(row.charged),
                quantity_text(row.held),
                quantity_text(row.not_counted) if row.computed else UNKNOWN,
                _waiting(row),
                *((row.cohort or UNKNOWN, ", ".join(row.local_queues) or UNKNOWN) if wide else ()),
                Cell(reasons, "red") if row.unexplained else reasons,
            )
        )
        if wide and len(row.flavors) > 1:
            for flavor, (nominal, charged) in row.flavors.items():
                line = ("", f"  flavor {flavor}", quantity_text(nominal), quantity_text(charged))
                lines.append((*line, *("",) * (len(headers) + len(more) - 3)))
    return Table((*headers, *more, "WHY CHARGED AND HELD DIFFER"), tuple(lines))


def _quota(row: Row, *, wide: bool) -> str:
    quota = row.quota
    text = UNKNOWN if quota.nominal is None else quantity_text(quota.nominal)
    text += f"+{quantity_text(quota.borrowable)}" if quota.borrowable else ""
    extra = (("deserved", quota.deserved), ("guarantee", quota.guarantee)) if wide else ()
    parts = [f"{name} {quantity_text(value)}" for name, value in extra if value is not None]
    return f"{text} ({', '.join(parts)})" if parts else text


def _waiting(row: Row) -> str:
    if not row.waiting:
        return UNKNOWN
    return f"{quantity_text(sum(row.waiting.values()))} ({len(row.waiting)})"


_ORDER = (Side.CHARGED, Side.HELD, Side.BESIDE, Side.NEITHER)


def _reasons(row: Row, *, wide: bool) -> Iterator[str]:
    shown = [one for one in row.differences if wide or one.side is not Side.NEITHER]
    shown.sort(key=lambda one: (_ORDER.index(one.side), -one.amount, one.subject))
    if row.unexplained:
        yield f"{quantity_text(abs(row.unexplained))} unexplained"
    for number, one in enumerate(shown):
        if number == SHOWN and not wide and len(shown) > SHOWN + 1:
            rest = sum(other.amount for other in shown[SHOWN:])
            yield f"{quantity_text(rest)} for {counted(len(shown) - SHOWN, 'other reason')}"
            break
        yield text_of(one)
    for subject, code in sorted(row.refused.items()):
        yield f"{subject} waits indefinitely: {WHY[code]}"


def _number(nanos: int) -> int | str:
    """Return a count as a number, and other amounts as quantities."""
    return nanos // UNIT if nanos % UNIT == 0 else quantity_text(nanos)


def _optional(nanos: int | None) -> int | str | None:
    return None if nanos is None else _number(nanos)


def _document(row: Row) -> dict[str, Any]:
    return {
        "manager": row.manager,
        "queue": row.queue,
        "resource": row.resource,
        "cohort": row.cohort,
        "localQueues": list(row.local_queues),
        "quota": {
            "nominal": _optional(row.quota.nominal),
            "borrowable": _number(row.quota.borrowable),
            "deserved": _optional(row.quota.deserved),
            "guarantee": _optional(row.quota.guarantee),
        },
        "flavors": [
            {"name": name, "nominal": _number(nominal), "charged": _number(charged)}
            for name, (nominal, charged) in row.flavors.items()
        ],
        "charged": _number(row.charged),
        "held": _number(row.held),
        "notCounted": _number(row.not_counted),
        "waiting": {
            "amount": _number(sum(row.waiting.values())),
            "workloads": [
                {
                    "subject": subject,
                    "amount": _number(amount),
                    "code": str(row.refused[subject]) if subject in row.refused else "",
                }
                for subject, amount in row.waiting.items()
            ],
        },
        "differences": [
            {
                "code": str(one.code),
                "amount": _number(one.amount),
                "subject": one.subject,
                "side": str(one.side),
                "text": text_of(one),
            }
            for one in row.differences
        ],
        "unexplained": _number(row.unexplained),
    }
