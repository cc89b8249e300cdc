"""What `explain` says about DeviceClasses, nodes and devices."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dragoman.diagnosis.wording import value_text
from dragoman.inventory.inventory import DeviceState, Inventory, InventoryDevice
from dragoman.inventory.usage.summary import count_free, holder_names
from dragoman.model.deviceclass import DeviceClass
from dragoman.model.deviceid import PoolID
from dragoman_base.words import counted, listed
from dragoman_base.words.nearnames import did_you_mean
from dragoman_base.words.spelling import closest
from dragoman_cel import selectors
from dragoman_cel.errors import CompileError
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.inventory import hardwareids, who_table
from dragoman_toolkit.dra.inventory.top_tables import taints_of
from dragoman_toolkit.dra.missing import missing, near_names
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table, Unusable


def device_class(inventory: Inventory, name: str) -> Report:
    """Say what a class selects: devices by driver, and which attributes its selectors read."""
    found = inventory.world.classes.get(name)
    if found is None:
        hint = near_names(name, [*inventory.world.classes], "DeviceClasses")
        raise missing(inventory.world, f"deviceclass {name} not found{hint}", "deviceclasses")
    members = inventory.members[name]
    reads = list(_reads(inventory, found))
    failure = inventory.failures.get(name, "")
    document = {
        "class": name,
        "devices": len(members),
        "of": sum(one.content is not None for one in inventory.devices.values()),
        "drivers": [
            {"driver": driver, "devices": count, "free": free}
            for driver, (count, free) in sorted(_by_driver(inventory, members).items())
        ],
        "attributes": [one for _, one in reads],
        "failure": failure or None,
    }
    blocks = _class_blocks(document, found.selectors, [text for text, _ in reads])
    status = Exit.CLEAR if members and not failure else Exit.OBSTACLE
    return _report(inventory, "ClassExplanation", document, tuple(blocks), status)


def _class_blocks(
    document: Mapping[str, Any], selectors: Iterable[str | None], reads: list[str]
) -> Iterator[Table | str | Cell]:
    """Yield what `explain class` prints."""
    yield (
        f"DeviceClass {document['class']} selects {document['devices']} of {document['of']} "
        "devices."
    )
    yield from (f"  selectors[{index}]: {text}" for index, text in enumerate(selectors))
    if document["drivers"]:
        rows = tuple(
            (one["driver"], str(one["devices"]), str(one["free"])) for one in document["drivers"]
        )
        yield from ("", Table(("DRIVER", "DEVICES", "FREE"), rows))
    if reads:
        yield from ("", *reads)
    if document["failure"]:
        yield ""
        yield Cell(f"A selector fails, which stops every pod that meets it: {document['failure']}")


def _by_driver(
    inventory: Inventory, members: tuple[InventoryDevice, ...]
) -> dict[str, tuple[int, int]]:
    """Return how many devices each driver has, and how many are free as `top` counts them."""
    found: defaultdict[str, list[InventoryDevice]] = defaultdict(list)
    for one in members:
        found[one.id.driver].append(one)
    return {driver: (len(part), count_free(inventory, part)) for driver, part in found.items()}


def _reads(inventory: Inventory, found: DeviceClass) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield on how many devices each attribute that a selector reads is set."""
    for text in found.selectors:
        for kind, domain, name in _paths(text or ""):
            devices = [one for one in inventory.devices.values() if one.content is not None]
            of_driver = [one for one in devices if one.id.driver == domain] or devices
            names = Counter(other for one in of_driver for other in _names(one, kind, domain))
            have = names[name]
            near = "" if have else closest(name, names.keys()) or ""
            hint = f"; did you mean {near}?" if near else ""
            singular = "attribute" if kind == "attributes" else "capacity"
            said = f"{singular} {domain}/{name} is set on {have} of {len(of_driver)} devices{hint}"
            yield (
                said,
                {
                    "kind": singular,
                    "name": f"{domain}/{name}",
                    "have": have,
                    "of": len(of_driver),
                    "didYouMean": near or None,
                },
            )


def _paths(text: str) -> list[tuple[str, str, str]]:
    try:
        found = selectors.compile(text).reads
    except CompileError:
        return []
    return sorted((one[0], one[1], one[2]) for one in found or () if len(one) == 3)


def _names(device: InventoryDevice, kind: str, domain: str) -> Iterator[str]:
    """Yield names of a domain that a device has; a name without one belongs to the driver."""
    assert device.content is not None  # lost devices were left out
    for full in device.content.document.get(kind) or {}:
        own, slash, local = full.partition("/")
        if not slash and device.id.driver == domain:
            yield own
        elif slash and own == domain:
            yield local


def node(inventory: Inventory, name: str) -> Report:
    """Say which devices a node has, who uses them, and what is wrong with its pools."""
    if name not in inventory.world.nodes:
        hint = did_you_mean(name, inventory.world.nodes)
        raise missing(inventory.world, f"node {name} not found{hint}", "nodes")
    devices = [one for one in inventory.devices.values() if one.node == name]
    pools = [one for one in inventory.pools.values() if one.node == name]
    free = count_free(inventory, devices)
    have = f"{counted(len(devices), 'device')} in {counted(len(pools), 'pool')}"
    blocks: list[Table | str | Cell] = [f"Node {name}: {have}, {free} free."]
    if devices:
        blocks += ["", _node_devices(devices)]
    broken = [one for one in pools if not one.usable]
    document = {
        "node": name,
        "devices": [
            {"device": str(one.id), "state": str(one.state), "users": _users(one)}
            for one in devices
        ],
        "pools": [notes.pool_document(one) for one in pools],
    }
    texts = tuple(
        f"{notes.pool_text(one, inventory.world.now)}: its idle devices cannot be allocated"
        for one in broken
    )
    status = Exit.OBSTACLE if broken else Exit.CLEAR
    return _report(inventory, "NodeExplanation", document, tuple(blocks), status, texts)


def _node_devices(devices: Iterable[InventoryDevice]) -> Table:
    rows = tuple(
        (
            str(one.id),
            Cell(str(one.state), "green" if one.state is DeviceState.FREE else ""),
            ", ".join(user for held in one.owned for user in holder_names(held)) or "-",
            " ".join(taints_of(one)) or "-",
        )
        for one in devices
    )
    return Table(("DEVICE", "STATE", "USED BY", "TAINTS"), rows)


def _users(device: InventoryDevice) -> list[str]:
    return [user for held in device.owned for user in holder_names(held)]


def device(inventory: Inventory, name: str) -> Report:
    """Say what a device is, which classes select it, who has it and what keeps claims away."""
    found = next((one for one in inventory.devices.values() if str(one.id) == name), None)
    if found is None:
        meant = hardwareids.devices_with(inventory, name)
        if len(meant) > 1:
            names = listed([str(one.id) for one in meant], 5)
            raise Unusable(f"device {name} is one of {names}: name one of them")
        found = meant[0] if meant else None
        name = str(found.id) if found else name
    if found is None:
        hint = who_table.near_device(inventory, name)
        text = f"device {name} not found: names are driver/pool/device, as in `top`{hint}"
        raise missing(inventory.world, text, "resourceslices")
    classes = [key for key, members in inventory.members.items() if found in members]
    who = who_table.answer(inventory, f"device/{name}", "", wide=True)
    blocks: list[Table | str | Cell] = [f"Device {name} is {found.state}: {_why(inventory, found)}"]
    blocks += ["", *who.blocks, ""]
    known = found.content is not None
    if known:
        blocks += [f"DeviceClasses: {', '.join(classes) or 'none selects it'}"]
    attributes = {
        key: next(iter(value.values()), None)
        for key, value in (found.content.attributes if found.content else {}).items()
    }
    pairs = ", ".join(f"{key}={value_text(value)}" for key, value in sorted(attributes.items()))
    if known:
        blocks += [f"Attributes: {pairs or 'none'}"]
    document = {
        "device": name,
        "state": str(found.state),
        "classes": classes,
        "users": _users(found),
        "attributes": attributes,
    }
    usable = found.state is DeviceState.FREE
    status = Exit.CLEAR if usable else Exit.OBSTACLE
    return _report(inventory, "DeviceExplanation", document, tuple(blocks), status, who.notes)


def _why(inventory: Inventory, found: InventoryDevice) -> str:
    pool = inventory.pools.get(PoolID(found.id.driver, found.id.pool))
    return {
        DeviceState.FREE: "a claim without tolerations can have it.",
        DeviceState.USED: f"{', '.join(_users(found))} has it.",
        DeviceState.HELD: "a hold keeps it out of service.",
        DeviceState.TAINTED: f"it is reserved for {found.reserved}, for which other pods end."
        if found.reserved
        else f"a claim must tolerate {' '.join(taints_of(found))}.",
        DeviceState.BLOCKED: "the shared counters of its pool are used up by other partitions.",
        DeviceState.UNUSABLE: f"its pool is {pool}.",
        DeviceState.LOST: "it is allocated, but no ResourceSlice has it any more.",
    }[found.state]


def _report(  # noqa: PLR0913, PLR0917 — the parts of a report
    inventory: Inventory,
    kind: str,
    document: dict[str, Any],
    blocks: tuple[Table | str | Cell, ...],
    status: Exit,
    more: tuple[str, ...] = (),
) -> Report:
    world = inventory.world
    unsure = "resourceslices" not in world.listed or (world.unseen and status is Exit.CLEAR)
    return Report(
        kind,
        {**notes.header(world), **document},
        blocks,
        Exit.UNKNOWN if unsure else status,
        tuple(dict.fromkeys((*more, *notes.common(world)))),
    )
