"""One pool of devices, as the nodes see it for which the same slices are relevant, and its use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dragoman.allocation.pools.usage import Holder, Nanos, Usage
from dragoman.model.amounts import Amount
from dragoman.model.device import Content, Device
from dragoman.model.deviceid import DeviceID, PoolID
from dragoman.model.slice import Slice

Counters = Mapping[tuple[str, str], Amount]
"""Counters of a pool by counter set and name."""


class Shape:
    """What decides a search beside usage: pools that differ in names only share one object."""

    __slots__ = ("__weakref__",)


INCOMPLETE, INVALID = Shape(), Shape()


class Pool:
    """One pool, as seen from a node; frozen but for what is remembered of its usage.

    Attributes:
        id: Driver and name.
        generation: The one that counts.
        want: `resourceSliceCount`.
        have: Slices that were found of it.
        incomplete: Whether slices are missing or superfluous; no devices then, but in 1.34.
        invalid: Why the pool cannot be used, empty if it can.
        slices: Slices with devices for the node, in the order of allocation.
        others: Slices with devices for other nodes, whose counters count.
        counters: What the counter sets hold.
        devices: All devices of `slices`.
        contents: Their contents.
        origins: The slice of each device.
        per_device: Whether devices are bound to nodes one by one.
        last: Whether the pool comes last because of binding conditions.
        alike: Whether another pool with the same devices serves requests in the same way.
        shape: The same object for pools that differ in names only.
    """

    __slots__ = (
        "_ids", "_usage", "_version", "alike", "contents", "counters", "devices", "generation",
        "have", "id", "incomplete",
        "invalid", "last", "origins", "others", "per_device", "shape", "slices", "want",
    )  # fmt: skip

    def __init__(self, pool_id: PoolID, generation: int, have: int, want: int) -> None:
        self.id = pool_id
        self.generation = generation
        self.have = have
        self.want = want
        self.incomplete = False
        self.invalid = ""
        self.slices: tuple[Slice, ...] = ()
        self.others: tuple[Slice, ...] = ()
        self.counters: Counters = {}
        self.devices: tuple[Device, ...] = ()
        self.contents: tuple[Content, ...] = ()
        self.origins: tuple[Slice, ...] = ()
        self.per_device = False
        self.alike = False
        self.last = False
        self.shape = Shape()
        self._usage: PoolUsage | None = None
        self._ids: tuple[DeviceID, ...] | None = None
        self._version = 0

    @property
    def usable(self) -> bool:
        """Whether devices can be allocated from the pool."""
        return not self.incomplete and not self.invalid

    @property
    def sort_key(self) -> tuple[bool, PoolID]:
        """Where the pool stands among all pools of a node."""
        return self.last, self.id

    @property
    def ids(self) -> tuple[DeviceID, ...]:
        """The identities of `devices`; made on first use, because a search needs none."""
        if self._ids is None:
            driver, pool = self.id
            self._ids = tuple(DeviceID(driver, pool, device.name) for device in self.devices)
        return self._ids

    def fill(self, slices: Sequence[Slice], others: Sequence[Slice], counters: Counters) -> None:
        """Set the content of a pool that devices are allocated from."""
        self.slices, self.others, self.counters = tuple(slices), tuple(others), counters
        self.devices = tuple(device for item in slices for device in item.devices)
        self.contents = tuple(device.content for device in self.devices)
        self.origins = tuple(item for item in slices for _ in item.devices)
        self.per_device = any(item.per_device for item in slices)
        self.alike = not (self.incomplete or self.per_device or any(map(_special, slices)))

    def usage(self, usage: Usage) -> PoolUsage:
        """Return what claims hold of the pool; computed again after one of them changed."""
        version = usage.version(self.id)
        if self._usage is None or self._version != version:
            self._usage = PoolUsage(self, usage)
            self._version = version
        return self._usage


def _special(item: Slice) -> bool:
    selector = item.node_selector
    return bool(item.skip_node_operations) or (selector is not None and len(selector.terms) > 1)


class PoolUsage:
    """What claims hold of one pool, by the position of a device in it.

    Attributes:
        in_use: Whether the device is held as a whole.
        shared: Whether shares of the device are held.
        consumed: Capacity that shares consume in nanos; only where a share names any.
        key: Equal where nothing that decides an allocation differs.
    """

    __slots__ = ("_available", "_pool", "_usage", "consumed", "in_use", "key", "shared")

    def __init__(self, pool: Pool, usage: Usage) -> None:
        self._pool = pool
        self._usage = usage
        self._available: dict[tuple[str, str], int] | None = None
        held = usage.of_pool(pool.id)
        self.consumed: dict[int, Nanos] = {}
        self.shared: frozenset[int] = frozenset()
        if not held:
            self.in_use = [False] * len(pool.devices)
        else:
            self.in_use = [_alone(held.get(device.name)) for device in pool.devices]
            self._add_shares(held)
        self.key = self._key()

    def _add_shares(self, held: Mapping[str, list[Holder]]) -> None:
        shared = set()
        for position, device in enumerate(self._pool.devices):
            for holder in held.get(device.name, ()):
                if holder.share_id is None:
                    continue
                shared.add(position)
                if holder.consumed is not None:
                    _add(self.consumed.setdefault(position, {}), holder.consumed)
        self.shared = frozenset(shared)

    def _key(self) -> tuple[Any, ...]:
        mask = 0
        for position, used in enumerate(self.in_use):
            if used:
                mask |= 1 << position
        counters = tuple(self.available.items()) if self._pool.counters else ()
        if not self.shared:
            return (mask, counters)
        consumed = tuple((at, tuple(sorted(sums.items()))) for at, sums in self.consumed.items())
        return (mask, counters, self.shared, consumed)

    @property
    def available(self) -> dict[tuple[str, str], int]:
        """What is left of each counter in nanos, after all held devices of the pool on any node.

        A negative number means that a slice changed below its devices.
        """
        if self._available is None:
            self._available = {name: value.nanos for name, value in self._pool.counters.items()}
            for content in self.held_contents():
                for consumption in content.consumes:
                    for name, value in consumption.counters.items():
                        key = (consumption.counter_set, name)
                        if key in self._available:
                            self._available[key] -= value.nanos
        return self._available

    def held_contents(self) -> Iterator[Content]:
        """Yield the devices of the pool, on any node, that are held or shared."""
        held = self._usage.of_pool(self._pool.id)
        if held:
            for item in (*self._pool.slices, *self._pool.others):
                yield from _held_of(item, held)


def _held_of(item: Slice, held: Mapping[str, list[Holder]]) -> Iterator[Content]:
    for device in item.devices:
        if device.name in held:
            yield device.content


def _alone(holders: list[Holder] | None) -> bool:
    return holders is not None and any(holder.share_id is None for holder in holders)


def _add(sums: Nanos, consumed: Mapping[str, Amount]) -> None:
    for name, value in consumed.items():
        sums[name] = sums.get(name, 0) + value.nanos
