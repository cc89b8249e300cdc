"""Rows of `top`: the inventory by class, node, namespace and pod."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from dragoman.inventory.holders import Holding
from dragoman.inventory.inventory import DeviceState, Inventory, InventoryDevice
from dragoman.inventory.usage.rows import ClassRow, NodeRow, PodRow, Share
from dragoman.inventory.usage.waiting import Waiting, waiting
from dragoman.model.amounts import amount
from dragoman.model.deviceid import PoolID
from dragoman_base.words import natural


def classes(inventory: Inventory, only: str = "") -> tuple[ClassRow, ...]:
    """Return a row for each DeviceClass, or for one of them."""
    lost = _lost(inventory)
    pending: Counter[str] = Counter()
    for wait in waiting_pods(inventory):
        pending.update(set(wait.classes))
    return tuple(
        _class_row(inventory, name, lost[name], pending[name])
        for name in inventory.members
        if only in ("", name)
    )


def _class_row(inventory: Inventory, name: str, lost: int, pending: int) -> ClassRow:
    members = inventory.members[name]
    states = tally(inventory, members)
    return ClassRow(
        name=name,
        drivers=tuple(sorted({device.id.driver for device in members})),
        free=states[DeviceState.FREE],
        used=states[DeviceState.USED],
        tainted=states[DeviceState.TAINTED],
        held=states[DeviceState.HELD],
        blocked=states[DeviceState.BLOCKED],
        unusable=states[DeviceState.UNUSABLE],
        lost=lost,
        pending=pending,
        shares=_shares(members),
        failure=inventory.failures.get(name, ""),
    )


def tally(inventory: Inventory, devices: Iterable[InventoryDevice]) -> Counter[DeviceState]:
    """Count devices by state; free ones only as far as the shared counters of their pool suffice.

    Args:
        inventory: What is known.
        devices: Of one class, or of one driver.
    """
    members = tuple(devices)
    states = Counter(device.state for device in members)
    free = count_free(inventory, members)
    states[DeviceState.BLOCKED] += states[DeviceState.FREE] - free
    states[DeviceState.FREE] = free
    return states


def count_free(inventory: Inventory, devices: Iterable[InventoryDevice]) -> int:
    """Count the one-device claims that these devices still serve, in the allocator's order."""
    idle: defaultdict[PoolID, list[InventoryDevice]] = defaultdict(list)
    for device in devices:
        if device.state is DeviceState.FREE:
            idle[PoolID(device.id.driver, device.id.pool)].append(device)
    return sum(
        inventory.counters[pool].most(one.content for one in found if one.content is not None)
        for pool, found in idle.items()
    )


def _lost(inventory: Inventory) -> Counter[str]:
    """Count lost devices by the class that the claim requested."""
    found: Counter[str] = Counter()
    for device in inventory.devices.values():
        if device.state is DeviceState.LOST:
            found.update({class_of(one) for one in device.owned})
    return found


def class_of(holding: Holding) -> str:
    """Return the DeviceClass that a device was allocated for; empty where the spec has it not."""
    top, _, sub = holding.result.request.partition("/")
    for request in holding.claim.spec.requests:
        if request.name == top:
            names = (one.class_name for one in request.alternatives if not sub or one.name == sub)
            return next(names, "")
    return ""


def _shares(devices: Iterable[InventoryDevice]) -> tuple[Share, ...]:
    consumed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for device in devices:
        if device.content is None or not device.content.shareable:
            continue
        for name, capacity in device.content.capacity.items():
            total[name] += capacity.value.nanos
        held = inventory_shares(device)
        for name, nanos in held.items():
            consumed[name] += nanos
    return tuple(Share(name, consumed[name], total[name]) for name in sorted(total))


def inventory_shares(device: InventoryDevice) -> Counter[str]:
    """Return what the shares of a device take of each capacity, in units of 10^-9."""
    found: Counter[str] = Counter()
    for one in device.owned:
        for name, text in one.result.consumed or ():
            found[name] += amount(text).nanos
    return found


def nodes(inventory: Inventory, only: str = "") -> tuple[NodeRow, ...]:
    """Return a row for each node with devices, or for nodes with devices of one class.

    Args:
        inventory: What is known.
        only: A DeviceClass; empty for all devices.
    """
    chosen = inventory.members.get(only, ()) if only else tuple(inventory.devices.values())
    by_node: defaultdict[str, list[InventoryDevice]] = defaultdict(list)
    for device in chosen:
        if device.content is not None:
            by_node[device.node].append(device)
    broken: defaultdict[str, list[PoolID]] = defaultdict(list)
    for pool in inventory.pools.values():
        if not pool.usable:
            broken[pool.node].append(pool.id)
            by_node.setdefault(pool.node, [])
    return tuple(
        NodeRow(
            node=node,
            free=count_free(inventory, by_node[node]),
            devices=sum(one.state is not DeviceState.UNUSABLE for one in by_node[node]),
            users=_users(by_node[node]),
            tainted=tuple(one for one in by_node[node] if one.taints),
            pools=tuple(broken[node]),
        )
        for node in sorted(by_node, key=lambda name: (not name, natural(name)))
    )


def _users(devices: Iterable[InventoryDevice]) -> tuple[tuple[str, int], ...]:
    found: Counter[str] = Counter()
    for device in devices:
        for name in {name for one in device.owned for name in holder_names(one)}:
            found[name] += 1
    return tuple(sorted(found.items(), key=lambda item: (-item[1], natural(item[0]))))


def holder_names(holding: Holding) -> tuple[str, ...]:
    """Return the consumers of an allocation, or its claim where it has none."""
    names = tuple(
        [f"{user.key} ({user.waits})" if user.waits else user.key for user in holding.users]
    )
    return names or (f"claim {holding.claim.key}",)


def waiting_pods(inventory: Inventory) -> tuple[Waiting, ...]:
    """Return the pods that wait for devices, in the order of their names."""
    return tuple(waiting(inventory.world, extended=inventory.profile.extended_resources))


def pods(inventory: Inventory) -> tuple[PodRow, ...]:
    """Return a row for each pod that has devices or waits for them."""
    rows: defaultdict[str, list[tuple[InventoryDevice, Holding]]] = defaultdict(list)
    for device in inventory.devices.values():
        for holding in device.holdings:
            for user in holding.users:
                rows[user.key].append((device, holding))
    missing = {wait.pod.key: wait.claims for wait in waiting_pods(inventory)}
    return tuple(
        _pod_row(inventory, key, rows[key], missing.get(key, ()))
        for key in sorted({*rows, *missing}, key=natural)
    )


def _pod_row(
    inventory: Inventory,
    key: str,
    held: list[tuple[InventoryDevice, Holding]],
    missing: tuple[str, ...],
) -> PodRow:
    pod = inventory.world.pods.get(key)
    counted: Callable[[Holding], str] = class_of
    return PodRow(
        pod=key,
        node=pod.pod.node_name if pod else "",
        devices=dict(sorted(Counter(counted(holding) for _, holding in held).items())),
        waiting=missing,
        since=min((holding.claim.since for _, holding in held), default=""),
        ids=tuple(device.id for device, _ in held),
    )
