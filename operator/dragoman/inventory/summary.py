"""Rows of `top`: the inventory by class, node, namespace and pod."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from dragoman.allocation.facts.objects import DeviceID, PoolID
from dragoman.inventory.holders import Holding
from dragoman.inventory.inventory import Device, Inventory, State
from dragoman.inventory.waiting import waiting


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one capacity shares take.

    Attributes:
        capacity: Its name.
        consumed: By all shares, in units of 10^-9.
        total: Of all shareable devices, in units of 10^-9.
    """

    capacity: str
    consumed: int
    total: int


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Devices of one DeviceClass.

    Attributes:
        name: Of the class.
        drivers: Of its devices, sorted.
        free: Claims for one device that would still be allocated, one after the other.
        used: Allocated to claims, without admin access.
        tainted: Idle and tainted.
        held: Kept out of service.
        blocked: Idle partitions for which the shared counters do not suffice beside the free ones.
        unusable: Idle devices of incomplete and invalid pools; not part of `devices`.
        lost: Allocated, but in no current slice; not part of `devices`.
        pending: Pods that wait for a claim of the class.
        shares: Of devices that allow multiple allocations.
        failure: Why a selector of the class fails, empty where none does.
    """

    name: str
    drivers: tuple[str, ...]
    free: int
    used: int
    tainted: int
    held: int
    blocked: int
    unusable: int
    lost: int
    pending: int
    shares: tuple[Share, ...] = ()
    failure: str = ""

    @property
    def devices(self) -> int:
        """All devices that count."""
        return self.free + self.used + self.tainted + self.held + self.blocked


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Devices of one node.

    Attributes:
        node: Its name; empty for devices that several nodes can use.
        free: As in `ClassRow`.
        devices: As in `ClassRow`.
        users: Devices by holder: a pod, else a claim; the largest first.
        tainted: Tainted devices with their taints, used or not.
        pools: Pools of the node that do not count.
    """

    node: str
    free: int
    devices: int
    users: tuple[tuple[str, int], ...] = ()
    tainted: tuple[Device, ...] = ()
    pools: tuple[PoolID, ...] = ()


@dataclass(frozen=True, slots=True)
class PodRow:
    """Devices of one pod.

    Attributes:
        pod: `namespace/name`.
        node: Where it runs, empty while it waits.
        devices: Allocated to its claims, by class.
        waiting: Claims without devices.
        since: When the first of its claims was allocated, as an API timestamp.
    """

    pod: str
    node: str
    devices: Mapping[str, int]
    waiting: tuple[str, ...] = ()
    since: str = ""
    ids: tuple[DeviceID, ...] = field(default=(), compare=False)


def classes(inventory: Inventory, only: str = "") -> tuple[ClassRow, ...]:
    """Return a row for each DeviceClass, or for one of them."""
    lost = _lost(inventory)
    pending: Counter[str] = Counter()
    for wait in waiting(inventory.world):
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
        free=states[State.FREE],
        used=states[State.USED],
        tainted=states[State.TAINTED],
        held=states[State.HELD],
        blocked=states[State.BLOCKED],
        unusable=states[State.UNUSABLE],
        lost=lost,
        pending=pending,
        shares=_shares(members),
        failure=inventory.failures.get(name, ""),
    )


def tally(inventory: Inventory, devices: Iterable[Device]) -> Counter[State]:
    """Count devices by state; free ones only as far as the shared counters of their pool suffice.

    Args:
        inventory: What is known.
        devices: Of one class, or of one driver.
    """
    members = tuple(devices)
    states = Counter(device.state for device in members)
    free = count_free(inventory, members)
    states[State.BLOCKED] += states[State.FREE] - free
    states[State.FREE] = free
    return states


def count_free(inventory: Inventory, devices: Iterable[Device]) -> int:
    """Count the one-device claims that these devices still serve, in the allocator's order."""
    idle: defaultdict[PoolID, list[Device]] = defaultdict(list)
    for device in devices:
        if device.state is State.FREE:
            idle[PoolID(device.id.driver, device.id.pool)].append(device)
    return sum(
        inventory.counters[pool].most(one.content for one in found if one.content is not None)
        for pool, found in idle.items()
    )


def _lost(inventory: Inventory) -> Counter[str]:
    """Count lost devices by the class that the claim requested."""
    found: Counter[str] = Counter()
    for device in inventory.devices.values():
        if device.state is State.LOST:
            found.update({class_of(one) for one in device.owned})
    return found


def class_of(holding: Holding) -> str:
    """Return the DeviceClass that a device was allocated for; empty where the spec has it not."""
    top, _, sub = holding.result.request.partition("/")
    for request in holding.claim.devices.spec.requests:
        if request.name == top:
            names = (one.class_name for one in request.alternatives if not sub or one.name == sub)
            return next(names, "")
    return ""


def _shares(devices: Iterable[Device]) -> tuple[Share, ...]:
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


def inventory_shares(device: Device) -> Counter[str]:
    """Return what the shares of a device take of each capacity, in units of 10^-9."""
    found: Counter[str] = Counter()
    for one in device.owned:
        held = one.claim.devices.held
        for part in held.devices if held else ():
            if part.id == device.id and (part.share_id or "") == one.result.share:
                for name, amount in (part.consumed or {}).items():
                    found[name] += amount.nanos
    return found


def nodes(inventory: Inventory, only: str = "") -> tuple[NodeRow, ...]:
    """Return a row for each node with devices, or for nodes with devices of one class.

    Args:
        inventory: What is known.
        only: A DeviceClass; empty for all devices.
    """
    chosen = inventory.members.get(only, ()) if only else tuple(inventory.devices.values())
    by_node: defaultdict[str, list[Device]] = defaultdict(list)
    for device in chosen:
        if device.state is not State.LOST:
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
            devices=sum(one.state is not State.UNUSABLE for one in by_node[node]),
            users=_users(by_node[node]),
            tainted=tuple(one for one in by_node[node] if one.taints),
            pools=tuple(broken[node]),
        )
        for node in sorted(by_node, key=lambda name: (not name, name))
    )


def _users(devices: Iterable[Device]) -> tuple[tuple[str, int], ...]:
    found: Counter[str] = Counter()
    for device in devices:
        found.update({name for one in device.owned for name in holder_names(one)})
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def holder_names(holding: Holding) -> tuple[str, ...]:
    """Return the consumers of an allocation, or its claim where it has none."""
    return tuple(user.key for user in holding.users) or (f"claim {holding.claim.key}",)


def pods(inventory: Inventory) -> tuple[PodRow, ...]:
    """Return a row for each pod that has devices or waits for them."""
    rows: defaultdict[str, list[tuple[Device, Holding]]] = defaultdict(list)
    for device in inventory.devices.values():
        for holding in device.holdings:
            for user in holding.users:
                rows[user.key].append((device, holding))
    missing = {wait.pod.key: wait.claims for wait in waiting(inventory.world)}
    return tuple(
        _pod_row(inventory, key, rows[key], missing.get(key, ()))
        for key in sorted({*rows, *missing})
    )


def _pod_row(
    inventory: Inventory,
    key: str,
    held: list[tuple[Device, Holding]],
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
