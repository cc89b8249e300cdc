"""One pool of devices, as the nodes see it for which the same slices are relevant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.allocation.facts.amounts import Amount
from dragoman.allocation.facts.objects import Content, Device, DeviceID, PoolID, Slice
from dragoman.allocation.pools.usage import PoolUsage, Usage

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
