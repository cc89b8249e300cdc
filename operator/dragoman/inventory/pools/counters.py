"""Shared counters of a pool: what its partitions have left (KEP-4815)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dragoman.inventory.holders import Holding
from dragoman.inventory.pools.pools import InventoryPool
from dragoman.model.device import Content
from dragoman.model.deviceid import DeviceID

Key = tuple[str, str]
"""Counter set and counter."""


@dataclass(slots=True)
class PoolCounters:
    """Amounts left, in units of 10^-9; deducting changes the object."""

    # By counter set and counter; negative where more is taken than there is
    left: dict[Key, int] = field(default_factory=dict)

    @classmethod
    def of(cls, pool: InventoryPool, held: Mapping[DeviceID, tuple[Holding, ...]]) -> PoolCounters:
        """Return what the allocated devices of a pool leave; each device counts once."""
        counters = cls(
            {
                (one.name, name): amount.nanos
                for part in pool.slices
                for one in part.shared_counters
                for name, amount in one.counters.items()
            }
        )
        if counters.left:
            for part in pool.slices:
                for name, content in part.devices:
                    key = DeviceID(pool.id.driver, pool.id.pool, name)
                    if any(not one.result.admin for one in held.get(key, ())):
                        counters.deduct(content)
        return counters

    def copy(self) -> PoolCounters:
        """Return a copy to deduct from."""
        return PoolCounters(dict(self.left))

    def fit(self, content: Content) -> bool:
        """Tell whether a device's consumption is left; all devices fit that consume nothing."""
        return all(
            self.left.get((one.counter_set, name), 0) >= amount.nanos
            for one in content.consumes
            for name, amount in one.counters.items()
        )

    def deduct(self, content: Content) -> None:
        """Take a device's consumption away."""
        for one in content.consumes:
            for name, amount in one.counters.items():
                key = (one.counter_set, name)
                self.left[key] = self.left.get(key, 0) - amount.nanos

    def most(self, contents: Iterable[Content]) -> int:
        """Count how many devices, in this order, can be allocated one after the other."""
        counters, count = self.copy(), 0
        for content in contents:
            if counters.fit(content):
                counters.deduct(content)
                count += 1
        return count
