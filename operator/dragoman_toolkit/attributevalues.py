"""Devices by the value of an attribute: pairs of a GPU and a NIC of one PCIe root, and gangs.

A claim with `matchAttribute` gets devices of one value. How many claims of one device of each
driver a value still serves is the least of what each driver has free there.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.inventory.inventory import DeviceState, Inventory, InventoryDevice
from dragoman.inventory.usage.summary import count_free
from dragoman.model.device import Content
from dragoman_base.words import natural

LISTS = ("strings", "ints", "bools", "versions")
"""Fields of attributes with several values (DRAListTypeAttributes)."""


@dataclass(frozen=True, slots=True)
class Share:
    """Devices of one driver with one value on one node."""

    free: int  # Claims for one device that would still be allocated, one after the other
    all: int  # All of them that count


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One value on one node."""

    node: str  # Empty for devices of several nodes, and in the row of devices without the attribute
    value: str | None  # None for devices that lack the attribute
    drivers: Mapping[str, Share] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """How many claims of one device of each driver fit; 0 without the attribute."""
        if self.value is None:
            return 0
        return min((one.free for one in self.drivers.values()), default=0)


def values_of(content: Content, attribute: str) -> tuple[str, ...]:
    """Return the values of an attribute of a device; none where it lacks the attribute.

    Args:
        content: Of the device.
        attribute: With its domain; without one it is meant in the domain of any driver.
    """
    domain, slash, name = attribute.rpartition("/")
    entry = content.attributes.get(attribute)
    if entry is None and (not slash or domain == content.driver):
        entry = content.attributes.get(name)
    if entry is None and not slash:
        entry = content.attributes.get(f"{content.driver}/{name}")
    return () if entry is None else tuple(_texts(entry))


def _texts(entry: Mapping[str, Any]) -> Iterator[str]:
    for kind, value in entry.items():
        found = value if kind in LISTS and isinstance(value, list) else [value]
        for one in found:
            yield str(one).lower() if isinstance(one, bool) else str(one)


def rows(inventory: Inventory, attribute: str) -> tuple[tuple[str, ...], tuple[ValueRow, ...]]:
    """Return the drivers that publish an attribute, and a row for each node and value.

    The last row has the devices of these drivers that lack the attribute, where there are any.
    """
    groups: defaultdict[tuple[str, str], defaultdict[str, list[InventoryDevice]]] = defaultdict(
        lambda: defaultdict(list)
    )
    lacking: defaultdict[str, list[InventoryDevice]] = defaultdict(list)
    for device in inventory.devices.values():
        if device.content is None:
            continue
        found = values_of(device.content, attribute)
        for value in found:
            groups[device.node, value][device.id.driver].append(device)
        if not found:
            lacking[device.id.driver].append(device)
    drivers = tuple(sorted({driver for found in groups.values() for driver in found}))
    listed = [
        ValueRow(node, value, _shares(inventory, groups[node, value], drivers))
        for node, value in sorted(groups, key=lambda key: (not key[0], *map(natural, key)))
    ]
    without = _shares(inventory, lacking, drivers)
    if any(one.all for one in without.values()):
        listed.append(ValueRow("", None, without))
    return drivers, tuple(listed)


def _shares(
    inventory: Inventory,
    found: Mapping[str, list[InventoryDevice]],
    drivers: Iterable[str],
) -> dict[str, Share]:
    return {
        driver: Share(
            count_free(inventory, found.get(driver, ())),
            sum(one.state is not DeviceState.UNUSABLE for one in found.get(driver, ())),
        )
        for driver in drivers
    }


def attributes(inventory: Inventory) -> list[str]:
    """Return the names of all attributes that drivers publish, with their domains."""
    return sorted(
        {
            name if "/" in name else f"{one.content.driver}/{name}"
            for one in inventory.devices.values()
            if one.content is not None
            for name in one.content.attributes
        }
    )


@dataclass(frozen=True, slots=True)
class GangValues:
    """Which values of an attribute the pods of a workload would get."""

    attribute: str
    pods: Mapping[str, tuple[str, ...]]  # Names of the pods by value; the empty one for none

    @property
    def agree(self) -> bool:
        """Whether all devices of all pods have one value."""
        return len(self.pods) == 1 and "" not in self.pods


def gang_values(
    inventory: Inventory, attribute: str, devices: Mapping[str, Iterable[str]]
) -> GangValues:
    """Return the values that placed pods would get.

    Args:
        inventory: The cluster.
        attribute: Its name.
        devices: `driver/pool/device` of each pod.
    """
    known = {str(key): one for key, one in inventory.devices.items()}
    # Devices of drivers that do not publish the attribute, as a NIC beside memory, say nothing.
    publishing = {
        one.id.driver
        for one in known.values()
        if one.content is not None and values_of(one.content, attribute)
    }
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pod, names in devices.items():
        values: set[str] = set()
        for name in names:
            one = known.get(name)
            if one is not None and one.content is not None and one.id.driver in publishing:
                values |= {*values_of(one.content, attribute)} or {""}
        for value in sorted(values):
            found[value].append(pod)
    return GangValues(attribute, {value: tuple(found[value]) for value in sorted(found)})
