"""Pools in their current generation, and what of them is in use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dragoman.inventory.facts.stored import StoredSlice
from dragoman.model.allocated import AllocatedDevice
from dragoman.model.device import Content
from dragoman.model.deviceid import PoolID
from dragoman.model.taints import DeviceTaintRule


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What the status of pools is computed from.

    Attributes:
        slices: ResourceSlices with content, of all pools that are wanted.
        devices: Allocated devices of all claims.
        rules: DeviceTaintRules.
    """

    slices: Iterable[StoredSlice]
    devices: Iterable[AllocatedDevice] = ()
    rules: Iterable[DeviceTaintRule] = ()


@dataclass(frozen=True, slots=True)
class CurrentPool:
    """A pool in its highest generation.

    Attributes:
        id: Driver and pool.
        slices: Those of that generation, by name.
        used: Allocated devices by name, without admin access.
    """

    id: PoolID
    slices: tuple[StoredSlice, ...]
    used: Mapping[str, tuple[AllocatedDevice, ...]] = field(default_factory=dict)

    @property
    def contents(self) -> list[tuple[str, str, Content]]:
        """Name, own partition attribute and content of each device."""
        return [
            (device.name, one.partition_attribute, device.content)
            for one in self.slices
            if one.content is not None
            for device in one.content.devices
        ]

    @property
    def node(self) -> str:
        """The node that all slices belong to; empty where they have none or differ."""
        nodes = {one.content.node_name or "" for one in self.slices if one.content is not None}
        return nodes.pop() if len(nodes) == 1 else ""

    @property
    def missing(self) -> bool:
        """Whether slices are missing."""
        return len(self.slices) < self.slices[0].slice_count

    @property
    def where(self) -> str:
        """`driver/pool`, for messages."""
        return f"{self.id.driver}/{self.id.pool}"


def current_pools(facts: PoolFacts) -> list[CurrentPool]:
    """Return the wanted pools, by driver and pool."""
    grouped: defaultdict[PoolID, list[StoredSlice]] = defaultdict(list)
    for one in facts.slices:
        grouped[one.pool_id].append(one)
    used: dict[PoolID, defaultdict[str, list[AllocatedDevice]]] = {
        key: defaultdict(list) for key in grouped
    }
    for device in facts.devices:
        held = used.get(device.id.pool_id)
        if held is not None and not device.admin:
            held[device.id.device].append(device)
    found = []
    for key in sorted(grouped):
        newest = max(one.generation for one in grouped[key])
        current = [one for one in grouped[key] if one.generation == newest]
        current.sort(key=lambda one: one.metadata.name)
        held = used[key]
        found.append(CurrentPool(key, tuple(current), {name: tuple(held[name]) for name in held}))
    return found
