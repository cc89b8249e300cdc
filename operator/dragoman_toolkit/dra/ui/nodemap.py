"""The map of the page: nodes with their devices, and what the panel shows about each."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.inventory.holders import Holding
from dragoman.inventory.inventory import DeviceState, Inventory, InventoryDevice
from dragoman.inventory.usage import summary
from dragoman.model.deviceid import PoolID
from dragoman_base.words import listed, natural
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.inventory import top_tables

ATTENTION = "attention"
USED = "used"
FREE = "free"
GROUPS: Mapping[str, str] = {
    ATTENTION: "Needs attention",
    USED: "In use",
    FREE: "All devices free",
}
"""Titles of the groups of nodes, in the order of the page."""
_ODD = frozenset({DeviceState.TAINTED, DeviceState.HELD, DeviceState.UNUSABLE, DeviceState.LOST})
SEVERAL = "(several nodes)"
LOST = "(lost) "
"""How the names of rows begin that hold lost devices of a pool, most often named like its node."""
UNPLACED = "(slices not seen)"
"""Where devices stand that claims name, while ResourceSlices cannot be read."""
HOLDERS_SHOWN = 20
"""Holders that one node lists."""
VALUE_LENGTH = 256
"""Letters of an attribute's value that the page shows."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One device on the map."""

    driver: str  # Its driver
    name: str  # Its name within the pool
    state: DeviceState  # Its state
    text: str  # State and holders in words
    marked: bool  # Whether it is tainted beside its state


@dataclass(frozen=True, slots=True)
class MapRow:
    """One node on the map."""

    name: str  # Of the node, SEVERAL, LOST or UNPLACED
    free: int  # Devices as `top nodes` counts them
    devices: int  # Devices as `top nodes` counts them
    dots: tuple[Dot, ...]  # Every device
    # Pairs of a holder and its number of devices, the largest first
    holders: tuple[tuple[str, int], ...]
    problems: tuple[str, ...]  # Pools that do not count, in words
    details: tuple[Mapping[str, Any], ...]  # For each dot, what the panel shows; JSON types only

    @property
    def group(self) -> str:
        """Which part of the map the node stands in."""
        if self.problems or any(dot.marked or dot.state in _ODD for dot in self.dots):
            return ATTENTION
        return FREE if all(dot.state is DeviceState.FREE for dot in self.dots) else USED


def rows(inventory: Inventory) -> tuple[MapRow, ...]:
    """Return the nodes by group and the order of people, and in each group lost devices last."""
    order = [*GROUPS]
    found = [*_rows(inventory)]
    return tuple(
        sorted(
            found,
            key=lambda row: (order.index(row.group), row.name.startswith(LOST), natural(row.name)),
        )
    )


def _rows(inventory: Inventory) -> Iterator[MapRow]:
    by_node: defaultdict[str, list[InventoryDevice]] = defaultdict(list)
    without: defaultdict[str, list[InventoryDevice]] = defaultdict(list)
    for device in inventory.devices.values():
        if device.content is not None:
            by_node[device.node].append(device)
        else:
            lost = device.state is DeviceState.LOST
            without[f"{LOST}{device.id.pool}" if lost else UNPLACED].append(device)
    member_of = _classes_of(inventory)
    for row in summary.nodes(inventory):
        yield _row(
            row.node or SEVERAL,
            by_node[row.node],
            member_of,
            counts=(row.free, row.devices),
            holders=row.users,
            problems=_problems(inventory, row.node, row.pools),
        )
    for name, devices in without.items():
        yield _row(name, devices, member_of, counts=(0, 0))


def _problems(inventory: Inventory, node: str, pools: Sequence[PoolID]) -> tuple[str, ...]:
    """Return what is wrong with pools of a node; one that is named like the node needs no name."""
    texts = [notes.pool_text(inventory.pools[key], inventory.world.now) for key in pools]
    if len(texts) == 1 and pools[0].pool == node:
        texts = [texts[0].replace(f"pool {pools[0]} is ", "pool ", 1)]
    return tuple(texts)


def _classes_of(inventory: Inventory) -> Mapping[Any, list[int]]:
    """Return the numbers of the classes that select a device, by device."""
    found: defaultdict[Any, list[int]] = defaultdict(list)
    for number, members in enumerate(inventory.members.values()):
        for device in members:
            found[device.id].append(number)
    return found


def _row(  # noqa: PLR0913 — what a row has
    name: str,
    devices: list[InventoryDevice],
    member_of: Mapping[Any, list[int]],
    *,
    counts: tuple[int, int],
    holders: tuple[tuple[str, int], ...] = (),
    problems: tuple[str, ...] = (),
) -> MapRow:
    return MapRow(
        name=name,
        free=counts[0],
        devices=counts[1],
        dots=tuple(map(_dot, devices)),
        holders=holders[:HOLDERS_SHOWN],
        problems=problems,
        details=tuple(_details(one, member_of.get(one.id, [])) for one in devices),
    )


def _dot(device: InventoryDevice) -> Dot:
    holders = [name for one in device.owned for name in summary.holder_names(one)]
    parts = [str(device.state)]
    if holders:
        parts = [f"{device.state} by {listed(holders, 3)}"]
    if device.taints:
        parts.append("tainted" if device.state is not DeviceState.TAINTED else _first_taint(device))
    text = ", ".join(filter(None, parts))
    marked = bool(device.taints) and device.state is not DeviceState.TAINTED
    return Dot(device.id.driver, device.id.device, device.state, text, marked)


def _first_taint(device: InventoryDevice) -> str:
    return next(top_tables.taints_of(device))


def _details(device: InventoryDevice, classes: list[int]) -> dict[str, Any]:
    """Return what the panel shows; keys without a value are left out, as there are many devices."""
    found: dict[str, Any] = {
        "id": str(device.id),
        "classes": classes,
        "taints": [*top_tables.taints_of(device)],
        "attributes": _attributes(device),
        "holders": [_holder(one) for one in device.holdings],
    }
    return {key: value for key, value in found.items() if value}


def _attributes(device: InventoryDevice) -> dict[str, str]:
    if device.content is None:
        return {}
    found = {name: _value(value) for name, value in device.content.attributes.items()}
    document = device.content.document.get("capacity") or {}
    for name in device.content.capacity:
        entry = document.get(name) or document.get(name.rpartition("/")[2]) or {}
        found[f"{name} (capacity)"] = str(entry.get("value", ""))[:VALUE_LENGTH]
    return found


def _value(attribute: Mapping[str, Any]) -> str:
    """Return the value of an attribute, which has its type as its key."""
    return ", ".join(str(value) for value in attribute.values())[:VALUE_LENGTH]


def _holder(holding: Holding) -> dict[str, Any]:
    found: dict[str, Any] = {
        "namespace": holding.claim.metadata.namespace,
        "claim": holding.claim.key,
        "since": holding.claim.since,
        "admin": holding.result.admin,
        "pods": [f"{one.key} {' '.join(one.containers)}".strip() for one in holding.users],
        "consumed": dict(holding.result.consumed or ()),
    }
    return {key: value for key, value in found.items() if value}
