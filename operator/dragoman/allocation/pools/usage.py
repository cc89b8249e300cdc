"""What allocated claims hold: devices, shares, capacity, counters.

The scheduler's rule: results with admin access do not count; with consumable capacity, a result
with a share ID is a share, and its consumed capacity adds up; all others hold the device alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.allocation.facts.amounts import Amount
from dragoman.allocation.facts.claims import Claim, HeldDevice
from dragoman.allocation.facts.objects import Content, DeviceID, PoolID, Slice

if TYPE_CHECKING:
    from dragoman.allocation.pools.pool import Pool

Nanos = dict[str, int]


class Holder(NamedTuple):
    """A claim that holds a device.

    Attributes:
        claim: `namespace/name`.
        share_id: Set for a share.
        consumed: Capacity of the share by name, None when unset.
    """

    claim: str
    share_id: str | None = None
    consumed: Mapping[str, Amount] | None = None


class Usage:
    """Who holds what in a cluster, updated claim by claim.

    Args:
        shares: Feature gate DRAConsumableCapacity; without it a share holds the whole device.
    """

    def __init__(self, *, shares: bool) -> None:
        self._shares = shares
        self._pools: dict[PoolID, dict[str, list[Holder]]] = {}
        self._claims: dict[str, tuple[HeldDevice, ...]] = {}
        self._versions: dict[PoolID, int] = {}
        self._changes = 0

    def version(self, pool: PoolID) -> int:
        """Return a number that is never the same again after a claim on the pool changed.

        It is 0 while no claim holds anything of the pool.
        """
        return self._versions.get(pool, 0)

    def put(self, claim: Claim) -> set[PoolID]:
        """Take over what a claim holds now; return the pools whose usage changed."""
        changed = self.remove(claim.key)
        if claim.held is None:
            return changed
        self._claims[claim.key] = claim.held.devices
        for held, holder in self._holders(claim.key):
            pool = PoolID(held.driver, held.pool)
            self._pools.setdefault(pool, {}).setdefault(held.device, []).append(holder)
            changed.add(pool)
        self._note(changed)
        return changed

    def remove(self, key: str) -> set[PoolID]:
        """Forget a claim; return the pools whose usage changed."""
        changed = set()
        for held, _ in self._holders(key):
            pool = PoolID(held.driver, held.pool)
            devices = self._pools[pool]
            holders = [one for one in devices.get(held.device, ()) if one.claim != key]
            if holders:
                devices[held.device] = holders
            else:
                devices.pop(held.device, None)
            changed.add(pool)
        for pool in changed:
            if not self._pools[pool]:
                del self._pools[pool]
        self._claims.pop(key, None)
        self._note(changed)
        return changed

    def _note(self, changed: Iterable[PoolID]) -> None:
        for pool in changed:
            self._changes += 1
            if pool in self._pools:
                self._versions[pool] = self._changes
            else:
                self._versions.pop(pool, None)

    def of_pool(self, pool: PoolID) -> Mapping[str, list[Holder]]:
        """Return the holders of each device of a pool."""
        return self._pools.get(pool, {})

    def holders(self, device: DeviceID) -> tuple[Holder, ...]:
        """Return the claims that hold a device or shares of it."""
        return tuple(self.of_pool(PoolID(device.driver, device.pool)).get(device.device, ()))

    def _holders(self, key: str) -> Iterator[tuple[DeviceID, Holder]]:
        for held in self._claims.get(key, ()):
            if held.admin_access:
                continue
            if self._shares and held.share_id is not None:
                yield held.id, Holder(key, held.share_id, held.consumed)
            else:
                yield held.id, Holder(key)


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
