"""What the metrics of devices count, computed from an inventory."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dragoman.allocation import DeviceID
from dragoman.inventory.holders import User
from dragoman.inventory.inventory import DeviceState, Inventory, InventoryDevice
from dragoman.inventory.pools.pools import PoolState
from dragoman.inventory.snapshots.queuekinds import KAI_LABEL, MANAGERS
from dragoman.inventory.usage.summary import class_of, tally
from dragoman.inventory.usage.waiting import gated
from dragoman.model.fields import part, parts

_COUNTED = tuple(state for state in DeviceState if state is not DeviceState.LOST)
UUIDS = ("uuid", "UUID")
"""Attributes by which exporters such as DCGM's name a device."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device, a claim that has it, and a pod that uses the claim; one for each."""

    id: DeviceID  # The device
    node: str = ""  # Where it is; empty for a device of several nodes
    namespace: str = ""  # Of the claim; empty while the device is idle
    claim: str = ""  # Its name; empty while the device is idle
    device_class: str = ""  # That the claim asks for; empty while the device is idle
    request: str = ""  # Of the claim; with its alternative, as `a/b`
    pod: str = ""  # Its name; empty while no pod uses the claim
    uuid: str = ""  # The attribute of that name; empty where the driver publishes none
    shared: bool = False  # Whether several claims have the device

    @property
    def labels(self) -> tuple[str, ...]:
        """Values of `INFO_LABELS`."""
        owner = (self.namespace, self.claim, self.device_class, self.request, self.pod)
        device = (self.id.driver, self.id.pool, self.id.device)
        return (*device, self.node, *owner, self.uuid, "true" if self.shared else "false")


INFO_LABELS = (
    *("driver", "pool", "device", "node", "namespace", "claim", "class", "request", "pod"),
    *("uuid", "shared"),
)
GATES = {group: name for group, name in MANAGERS.items() if name != "kai"}
"""Queue managers by the domain of their scheduling gates."""


@dataclass(frozen=True, slots=True)
class DeviceCounts:
    """What metrics say about devices."""

    # By driver, class and state; the numbers of `kubectl dra top`
    devices: Mapping[tuple[str, str, str], int]
    pools: Mapping[tuple[str, str], int]  # By driver and state
    infos: tuple[DeviceInfo, ...] = ()  # Every device
    held: Mapping[str, int] = field(default_factory=dict)  # Pods that are held back, by whom


def count(inventory: Inventory) -> DeviceCounts:
    """Count the devices of an inventory."""
    devices = _lost(inventory)
    for name, members in inventory.members.items():
        for driver, own in _by_driver(members).items():
            states = tally(inventory, own)
            devices.update({(driver, name, str(state)): states[state] for state in _COUNTED})
    pools: Counter[tuple[str, str]] = Counter()
    for pool in inventory.pools.values():
        pools.update({(pool.id.driver, str(state)): pool.state is state for state in PoolState})
    infos = tuple(_infos(inventory))
    return DeviceCounts(dict(devices), dict(pools), infos, held_pods(inventory))


def held_pods(inventory: Inventory) -> dict[str, int]:
    """Count the pods with scheduling gates, by who holds them back."""
    found: Counter[str] = Counter()
    for pod in inventory.world.pods.values():
        if pod.pod.node_name or pod.pod.done or not gated(pod):
            continue
        gates = parts(pod.document, "spec", "schedulingGates")
        domains = {str(one.get("name")).partition("/")[0] for one in gates}
        by = {GATES[one] for one in domains if one in GATES}
        found.update(
            by or {"kai" if KAI_LABEL in part(pod.document, "metadata", "labels") else "gate"}
        )
    return dict(found)


def limited(infos: Sequence[DeviceInfo], limit: int) -> tuple[list[DeviceInfo], int]:
    """Leave out the devices of the namespaces with most series, so that few enough are left.

    Returns:
        What is left, and how many series were left out.
    """
    if len(infos) <= limit:
        return [*infos], 0
    sizes = Counter(one.namespace for one in infos)
    left, dropped = len(infos), set[str]()
    for namespace, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        if left <= limit:
            break
        dropped.add(namespace)
        left -= size
    kept = [one for one in infos if one.namespace not in dropped]
    return kept, len(infos) - len(kept)


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
        bare = DeviceInfo(device.id, device.node, uuid=_uuid(device))
        shared = len({one.claim.key for one in device.owned}) > 1
        found = [
            replace(
                bare,
                namespace=holding.claim.namespace,
                claim=holding.claim.name,
                device_class=class_of(holding),
                request=holding.result.request,
                pod=pod,
                shared=shared,
            )
            for holding in device.holdings
            if holding.users or not holding.result.admin
            for pod in sorted({_pod(user) for user in holding.users}) or [""]
        ]
        yield from sorted(found, key=lambda one: one.labels) or [bare]


def _pod(user: User) -> str:
    return user.name if user.resource == "pods" else ""


def _uuid(device: InventoryDevice) -> str:
    attributes = device.content.attributes if device.content else {}
    for name in UUIDS:
        found = attributes.get(name) or attributes.get(f"{device.id.driver}/{name}") or {}
        if found:
            return str(next(iter(found.values())))
    return ""
