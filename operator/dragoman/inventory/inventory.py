"""The one computation under commands, metrics and reports: every device with its state."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.taints import tainted
from dragoman.allocation.requests.expressions import Expression, Failure, Views
from dragoman.inventory.facts.world import World
from dragoman.inventory.holders import Holding, holdings
from dragoman.inventory.pools.counters import PoolCounters
from dragoman.inventory.pools.pools import InventoryPool, pools
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.model.device import Content
from dragoman.model.deviceclass import DeviceClass
from dragoman.model.deviceid import DeviceID, PoolID
from dragoman.model.taints import Taint


@dataclass(slots=True)
class Classes:
    """Evaluates the selectors of DeviceClasses, each once for devices that look alike."""

    profile: Profile  # The CEL environment
    # Class name to the first selector failure that was met, as text
    failures: dict[str, str] = field(default_factory=dict)
    _views: Views = field(init=False)
    _compiled: dict[str, Expression] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._views = Views(self.profile)

    def selects(self, device_class: DeviceClass, device: DeviceID, content: Content) -> bool:
        """Tell whether a class selects a device; a selector that fails selects nothing."""
        for index, text in enumerate(device_class.selectors):
            if text is None:
                return False
            answer = self._expression(text).on(content)
            if isinstance(answer, Failure):
                where = "" if answer.compiling else f" on device {device}"
                message = f"selectors[{index}]{where}: {answer.message}"
                self.failures.setdefault(device_class.name, message)
                return False
            if not answer:
                return False
        return True

    def _expression(self, text: str) -> Expression:
        found = self._compiled.get(text)
        if found is None:
            found = self._compiled[text] = Expression(text, self.profile, self._views)
        return found


EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep claims away; all others only inform."""

UNSEEN = "a pod of higher priority"
"""What a pod is called that the reader may not list."""


class DeviceState(StrEnum):
    """What can be said of one device alone; the first that applies, in this order."""

    LOST = "lost"
    """Allocated, but in no current slice."""
    HELD = "held"
    """Kept out of service by a hold."""
    USED = "used"
    """Allocated to a claim, without admin access."""
    UNUSABLE = "unusable"
    """In a pool that is incomplete or invalid: the allocator does not see it."""
    TAINTED = "tainted"
    """Tainted NoSchedule or NoExecute."""
    BLOCKED = "blocked"
    """Shared counters of the pool do not suffice any more."""
    FREE = "free"
    """A claim without tolerations can have it."""


@dataclass(frozen=True, slots=True)
class InventoryDevice:
    """One device and what holds it."""

    id: DeviceID  # Driver, pool and name
    state: DeviceState  # See `DeviceState`
    # What its slice says; None for a lost device, and where slices could not be read
    content: Content | None = None
    node: str = ""  # Where it is; empty for a device of several nodes and for one without content
    taints: tuple[Taint, ...] = ()  # Those that keep claims away, of rules too
    holdings: tuple[Holding, ...] = ()  # Every allocation, with admin access too
    # For which pod it is reserved while others end for it, as `namespace/name`, or in words where
    # that pod is not seen; empty for every other device
    reserved: str = ""

    @property
    def owned(self) -> tuple[Holding, ...]:
        """The allocations that count: admin access takes nothing away."""
        return tuple(one for one in self.holdings if not one.result.admin)


@dataclass(frozen=True)
class Inventory:
    """Everything that is known about devices."""

    world: World  # The facts
    profile: Profile  # How the scheduler of the cluster behaves
    pools: Mapping[PoolID, InventoryPool]  # By driver and name
    # Current ones in the order of the allocator, then those without content
    devices: Mapping[DeviceID, InventoryDevice]
    # What partitions of each pool have left
    counters: Mapping[PoolID, PoolCounters] = field(default_factory=dict)

    @property
    def members(self) -> Mapping[str, tuple[InventoryDevice, ...]]:
        """Devices of each DeviceClass, in the order of the allocator; lost ones excluded."""
        return self._matched[0]

    @property
    def failures(self) -> Mapping[str, str]:
        """Class name to why a selector fails."""
        return self._matched[1]

    @cached_property
    def _matched(self) -> tuple[Mapping[str, tuple[InventoryDevice, ...]], Mapping[str, str]]:
        # Every selector of every class on every device: only for answers that count by class.
        classes = Classes(self.profile)
        return _members(self.world, self.devices, classes), classes.failures


def take(world: World, profile: Profile) -> Inventory:
    """Compute the inventory of a world.

    Args:
        world: Facts of a snapshot.
        profile: How the scheduler of the cluster behaves.
    """
    held = holdings(world)
    slices = [tainted(one, world.rules, profile) for one in world.slices]
    found = {pool.id: pool for pool in pools(slices, profile)}
    counters = {key: PoolCounters.of(pool, held) for key, pool in found.items()}
    devices: dict[DeviceID, InventoryDevice] = {}
    for device in _current(profile, found, counters, held):
        # Of devices with one name, which make the pool invalid, the first one stands for all.
        devices.setdefault(device.id, device)
    _name_reservations(world, devices)
    missing = {*(one.plural for one in world.unseen), *(one.plural for one in world.malformed)}
    seen = "resourceslices" not in missing
    for key in sorted(held.keys() - devices.keys()):
        state = DeviceState.LOST if seen else _state_by_claims(held[key])
        devices[key] = InventoryDevice(key, state, holdings=held[key])
    return Inventory(world, profile, found, devices, counters)


def _state_by_claims(holders: Iterable[Holding]) -> DeviceState:
    """Return the state of a device whose slice could not be read: it is not known to be lost."""
    held = any(one.claim.is_hold and not one.result.admin for one in holders)
    return DeviceState.HELD if held else DeviceState.USED


def _name_reservations(world: World, devices: dict[DeviceID, InventoryDevice]) -> None:
    """Say of each reserved device which pod it is reserved for."""
    if not any(one.taint.key == PREEMPTION for one in world.rules):
        return
    pods = {pod.pod.metadata.uid: key for key, pod in world.pods.items()}
    for key, device in devices.items():
        for taint in device.taints:
            if taint.key == PREEMPTION:
                devices[key] = replace(device, reserved=pods.get(taint.value, UNSEEN))


def _current(
    profile: Profile,
    found: Mapping[PoolID, InventoryPool],
    counters: Mapping[PoolID, PoolCounters],
    held: Mapping[DeviceID, tuple[Holding, ...]],
) -> Iterator[InventoryDevice]:
    for pool in found.values():
        for one in pool.slices:
            for name, content in one.devices:
                key = DeviceID(pool.id.driver, pool.id.pool, name)
                device = InventoryDevice(
                    id=key,
                    state=DeviceState.FREE,
                    content=content,
                    node=(content.node_name if one.per_device else one.node_name) or "",
                    taints=_taints(content, profile),
                    holdings=held.get(key, ()),
                )
                yield _with_state(device, pool, counters[pool.id])


def _taints(content: Content, profile: Profile) -> tuple[Taint, ...]:
    """Return the taints that keep a claim without tolerations away."""
    if not profile.features.DeviceTaints:
        return ()
    return tuple(one for one in content.taints if one.effect in EFFECTS)


def _with_state(
    device: InventoryDevice, pool: InventoryPool, counters: PoolCounters
) -> InventoryDevice:
    state = _state(device, pool, counters)
    if state is DeviceState.FREE:
        return device
    return InventoryDevice(
        device.id, state, device.content, device.node, device.taints, device.holdings
    )


def _state(device: InventoryDevice, pool: InventoryPool, counters: PoolCounters) -> DeviceState:
    owned = device.owned
    if any(one.claim.is_hold for one in owned):
        return DeviceState.HELD
    if owned:
        return DeviceState.USED
    if not pool.usable:
        return DeviceState.UNUSABLE
    if device.taints:
        return DeviceState.TAINTED
    assert device.content is not None  # only lost devices have none
    return DeviceState.FREE if counters.fit(device.content) else DeviceState.BLOCKED


def _members(
    world: World, devices: Mapping[DeviceID, InventoryDevice], classes: Classes
) -> dict[str, tuple[InventoryDevice, ...]]:
    found: defaultdict[str, list[InventoryDevice]] = defaultdict(list)
    for device in devices.values():
        if device.content is None:
            continue
        for name in sorted(world.classes):
            if classes.selects(world.classes[name], device.id, device.content):
                found[name].append(device)
    return {name: tuple(found[name]) for name in sorted(world.classes)}
