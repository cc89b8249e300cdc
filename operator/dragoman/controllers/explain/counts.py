"""What the metrics of devices count, computed from an inventory."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dragoman.allocation import DeviceID
from dragoman.inventory.inventory import DeviceState, Inventory, InventoryDevice
from dragoman.inventory.pools.pools import PoolState
from dragoman.inventory.usage.summary import class_of, tally

_COUNTED = tuple(state for state in DeviceState if state is not DeviceState.LOST)
UUIDS = ("uuid", "UUID")
"""Attributes by which exporters such as DCGM's name a device."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device, and who uses it; one for each user."""

    id: DeviceID  # The device
    # Of the pod, or of the claim where no pod has reserved it; empty while idle
    namespace: str = ""
    pod: str = ""  # Its name; empty while no pod uses the device
    uuid: str = ""  # The attribute of that name; empty where the driver publishes none


@dataclass(frozen=True, slots=True)
class DeviceCounts:
    """What metrics say about devices."""

    # By driver, class and state; the numbers of `kubectl dra top`
    devices: Mapping[tuple[str, str, str], int]
    pools: Mapping[tuple[str, str], int]  # By driver and state
    infos: tuple[DeviceInfo, ...] = ()  # Every device


def count(inventory: Inventory) -> DeviceCounts:
    """Count the devices of an inventory."""
    devices = _lost(inventory)
    for name, members in inventory.members.items():
        for driver, part in _by_driver(members).items():
            states = tally(inventory, part)
            devices.update({(driver, name, str(state)): states[state] for state in _COUNTED})
    pools: Counter[tuple[str, str]] = Counter()
    for pool in inventory.pools.values():
        pools.update({(pool.id.driver, str(state)): pool.state is state for state in PoolState})
    return DeviceCounts(dict(devices), dict(pools), tuple(_infos(inventory)))


def _by_driver(devices: Iterable[InventoryDevice]) -> dict[str, list[InventoryDevice]]:
    found: defaultdict[str, list[InventoryDevice]] = defaultdict(list)
    for device in devices:
        found[device.id.driver].append(device)
    return found


def _lost(inventory: Inventory) -> Counter[tuple[str, str, str]]:
    """Count lost devices by the class that the claim asked for."""
    found: Counter[tuple[str, str, str]] = Counter()
    for device in inventory.devices.values():
        if device.state is DeviceState.LOST:
            names = {class_of(one) for one in device.owned}
            found.update((device.id.driver, name, str(DeviceState.LOST)) for name in names)
    return found


def _infos(inventory: Inventory) -> Iterator[DeviceInfo]:
    for device in inventory.devices.values():
        uuid = _uuid(device)
        users = {
            (user.namespace, user.name if user.resource == "pods" else "")
            for holding in device.holdings
            for user in holding.users
        }
        idle = {(one.claim.metadata.namespace, "") for one in device.owned if not one.users}
        for namespace, pod in sorted(users | idle) or [("", "")]:
            yield DeviceInfo(device.id, namespace, pod, uuid)


def _uuid(device: InventoryDevice) -> str:
    attributes = device.content.attributes if device.content else {}
    for name in UUIDS:
        found = attributes.get(name) or attributes.get(f"{device.id.driver}/{name}") or {}
        if found:
            return str(next(iter(found.values())))
    return ""
