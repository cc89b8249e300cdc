"""What `kubectl dra holds` reads, and its report."""

from typing import Any

from dragoman.inventory.ages import age
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import World
from dragoman.inventory.inventory import UNSEEN, Inventory, take
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.maintenance.holds import Hold, read
from dragoman_base.words import natural
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster.selection import ObjectSelection
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import Report, Table
from dragoman_toolkit.dra.reports import Nothing

_NEEDS = ("devicetaintrules", "resourceclaims", "resourceslices")


def answer(source: Source, selection: ObjectSelection, *, wide: bool) -> Report:
    """Read the cluster, and list what keeps devices out of service."""
    snapshot = source.read(_NEEDS)
    world = parse(snapshot)
    if any(one.taint.key == PREEMPTION for one in world.rules):
        # A reservation says of its pod the UID alone.
        snapshot = source.read((*_NEEDS, "pods"))
        world = parse(snapshot)
    found = [*read(snapshot.of("devicetaintrules"), snapshot.of("resourceclaims"))]
    if selection:
        plurals = ("devicetaintrules", "resourceclaims")
        selected = {name for one in plurals for name in source.selected(one, selection)}
        found = [
            one for one in found if "/".join(filter(None, (one.namespace, one.name))) in selected
        ]
    inventory = take(world, source.profile(world))
    ordered = sorted(found, key=lambda one: (natural(str(one.selector)), one.kind, one.name))
    nothing = "No device is out of service."
    if selection:
        nothing = "No rule or claim with these labels and fields keeps a device out of service."
    return _report(world, inventory, ordered, nothing, wide=wide)


def _report(
    world: World, inventory: Inventory, found: list[Hold], nothing: str, *, wide: bool
) -> Report:
    headers = ("DEVICES", "BY", "TAINT", "STATE", "AGE", "AUTHOR", "REASON")
    more = ("NAME", "NAMESPACE") if wide else ()
    rows = []
    documents = []
    for one in found:
        state = _state(inventory, one)
        row = (
            str(one.selector),
            str(one.kind),
            str(one.taint or "-"),
            state,
            age(world.now, one.created),
            one.author or (f"DeviceMaintenance {one.maintenance}" if one.maintenance else "-"),
            _reason(inventory, one) or "-",
        )
        names = (one.name, one.namespace or "-") if wide else ()
        rows.append((*row[:-1], *names, row[-1]))
        documents.append({**_document(one, state), "reason": _reason(inventory, one)})
    lines = (Table((*headers[:-1], *more, headers[-1]), tuple(rows)),) if rows else ()
    return Report(
        "Holds",
        {**notes.header(world), "holds": documents},
        lines or (Nothing(nothing),),
        notes.status(world),
        tuple(notes.common(world)),
    )


def _reason(inventory: Inventory, hold: Hold) -> str:
    if hold.taint is None or hold.taint.key != PREEMPTION:
        return hold.reason
    devices = (one for one in inventory.devices.values() if hold.selector.covers(one.id))
    reserved = next((one.reserved for one in devices if one.reserved), UNSEEN)
    return f"reserved for {reserved}"


def _state(inventory: Inventory, hold: Hold) -> str:
    """Say whether new claims are kept away, and how many devices are still in use."""
    devices = [one for one in inventory.devices.values() if hold.selector.covers(one.id)]
    used = sum(any(not h.claim.is_hold for h in device.owned) for device in devices)
    if not devices:
        return "matches no device"
    if not hold.keeps_away:
        return "no effect" if hold.taint else f"waits for {used} in use"
    return f"held, {used} of {len(devices)} in use" if used else "held"


def _document(hold: Hold, state: str) -> dict[str, Any]:
    return {
        "kind": str(hold.kind),
        "name": hold.name,
        "namespace": hold.namespace,
        "driver": hold.selector.driver,
        "pool": hold.selector.pool,
        "device": hold.selector.device,
        "taint": str(hold.taint) if hold.taint else "",
        "state": state,
        "created": hold.created,
        "author": hold.author,
        "reason": hold.reason,
        "maintenance": hold.maintenance,
        "managed": hold.managed,
    }
