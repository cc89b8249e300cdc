"""Published devices by pool, and the taints that count for them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dragoman.evictions.rules import NO_EXECUTE, DeviceKey
from dragoman.inventory.facts.stored import UNTAINTED, StoredSlice
from dragoman.model.deviceid import PoolID
from dragoman.model.taints import DeviceTaintRule, Taint

Taints = Mapping[str, tuple[Taint, ...]]


@dataclass(slots=True)
class _Pool:
    """Slices of one pool by name, and the taints that count."""

    slices: dict[str, StoredSlice] = field(default_factory=dict)  # Of all generations
    taints: Taints = field(default_factory=lambda: UNTAINTED)  # Taints that count, by device
    complete: int = -1  # The newest generation that was seen complete, -1 before the first one
    kept: Taints = field(default_factory=lambda: UNTAINTED)  # The taints of that generation

    def current(self) -> list[StoredSlice]:
        """Return the slices of the highest generation."""
        newest = max(one.generation for one in self.slices.values())
        return [one for one in self.slices.values() if one.generation == newest]

    def update(self) -> set[str]:
        """Compute the taints again; return the devices whose taints changed."""
        before = self.taints
        self.taints = self._compute() if self.slices else UNTAINTED
        changed = before.keys() | self.taints.keys()
        return {name for name in changed if before.get(name) != self.taints.get(name)}

    def _compute(self) -> Taints:
        current = self.current()
        generation = current[0].generation
        found = _union(current)
        if len(current) == current[0].slice_count:
            self.complete, self.kept = generation, found
            return found
        if self.complete < 0:
            # After a restart: an older generation may still be there as a whole.
            self._restore(generation)
        if generation <= self.complete:
            return found
        # A driver publishes a new generation slice by slice: what it did not publish yet keeps
        # its taints, or evictions would be cancelled and planned again within a second.
        published = {name for one in current for name in one.devices}
        kept = {name: taints for name, taints in self.kept.items() if name not in published}
        return {**kept, **found}

    def _restore(self, below: int) -> None:
        by_generation: dict[int, list[StoredSlice]] = {}
        for one in self.slices.values():
            by_generation.setdefault(one.generation, []).append(one)
        for generation, slices in sorted(by_generation.items(), reverse=True):
            if generation < below and len(slices) == slices[0].slice_count:
                self.complete, self.kept = generation, _union(slices)
                return


class Pools:
    """Published devices of all pools.

    Args:
        slices: All ResourceSlices.
    """

    def __init__(self, slices: Iterable[StoredSlice] = ()) -> None:
        self._pools: dict[PoolID, _Pool] = {}
        for one in slices:
            self.change(None, one)

    def change(self, old: StoredSlice | None, new: StoredSlice | None) -> set[DeviceKey]:
        """Replace a slice by its next state; return the devices whose taints changed.

        Args:
            old: The slice before; None for a new one.
            new: The slice now; None for a deleted one.
        """
        if old is not None and new is not None and _alike(old, new):
            if pool := self._pools.get(new.pool_id):
                pool.slices[new.metadata.name] = new
            return set()
        changed: set[DeviceKey] = set()
        if old is not None and (new is None or old.pool_id != new.pool_id):
            changed |= self._update(old.pool_id, old.metadata.name, None)
        if new is not None:
            changed |= self._update(new.pool_id, new.metadata.name, new)
        return changed

    def _update(self, pool_id: PoolID, name: str, item: StoredSlice | None) -> set[DeviceKey]:
        pool = self._pools.setdefault(pool_id, _Pool())
        if item is None:
            pool.slices.pop(name, None)
        else:
            pool.slices[name] = item
        changed = pool.update()
        if not pool.slices:
            del self._pools[pool_id]
        return {(pool_id.driver, pool_id.pool, device) for device in changed}

    def taints(self, device: DeviceKey) -> tuple[Taint, ...]:
        """Return the taints that evict from a device, and others; empty for one that is gone."""
        pool = self._pools.get(PoolID(device[0], device[1]))
        return () if pool is None else pool.taints.get(device[2], ())

    def count(self, rule: DeviceTaintRule) -> int:
        """Count the published devices that a rule selects, in the highest generations."""
        return sum(
            rule.selects((*pool_id, device))
            for pool_id, pool in self._pools.items()
            if rule.concerns(*pool_id)
            for one in pool.current()
            for device in one.devices
        )


def _union(slices: Iterable[StoredSlice]) -> Taints:
    found = {
        device: taints
        for one in slices
        for device, taints in one.taints.items()
        if any(taint.effect == NO_EXECUTE for taint in taints)
    }
    return found or UNTAINTED


def _alike(old: StoredSlice, new: StoredSlice) -> bool:
    """Whether two states of a slice have the same devices, taints and place in their pool."""
    return (
        old.pool_id == new.pool_id
        and old.generation == new.generation
        and old.slice_count == new.slice_count
        and old.devices == new.devices
        and old.taints == new.taints
    )
