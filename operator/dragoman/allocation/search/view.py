"""The devices of one node in the order of allocation, with what claims hold of them."""

from bisect import bisect_right

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.nodepools import NodePools
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.pools.relevance import NODE_OPERATIONS, device_on_node
from dragoman.allocation.pools.usage import Nanos, Usage
from dragoman.model.device import Content
from dragoman.model.deviceid import DeviceID


class NodeView:
    """The devices of a node by position, for one search.

    Attributes:
        node: The node.
        pools: Its pools in the order of allocation.
        contents: The content of every device.
        in_use: Whether a claim holds the device as a whole.
        consumed: Capacity in nanos that shares consume, by position.
        shared: Positions of devices of which shares are held.
        per_device: Whether some devices are bound to nodes one by one.
        skips: Whether some devices need a node that can do without operations of the driver.
        usage: What claims hold.
        broken: In 1.34 the first pool that is invalid, which ends an attempt that reaches it.
        end: Position after the last device that a search reaches.
    """

    def __init__(self, found: NodePools, usage: Usage, profile: Profile) -> None:
        self.node = found.node
        self.pools = found.pools
        self.usage = usage
        self.broken: Pool | None = None
        self.contents: list[Content] = []
        self.in_use: list[bool] = []
        self.consumed: dict[int, Nanos] = {}
        self.shared: set[int] = set()
        self._starts: list[int] = []
        self._profile = profile
        for pool in found.pools:
            self._append(pool)
            if pool.invalid and not profile.invalid_pools_passed and self.broken is None:
                self.broken, self.end = pool, len(self.contents)
        if self.broken is None:
            self.end = len(self.contents)
        self.per_device = any(pool.per_device for pool in found.pools)
        self.skips = profile.experimental and any(
            item.skip_node_operations for pool in found.pools for item in pool.slices
        )
        self._on_node: dict[int, bool] = {}

    def _append(self, pool: Pool) -> None:
        first = len(self.contents)
        self._starts.append(first)
        if not pool.contents:
            return
        held = pool.usage(self.usage)
        self.contents += pool.contents
        self.in_use += held.in_use
        for position, sums in held.consumed.items():
            self.consumed[first + position] = sums
        self.shared.update(first + position for position in held.shared)

    def pool(self, position: int) -> Pool:
        """Return the pool of a device."""
        return self.pools[bisect_right(self._starts, position) - 1]

    def place(self, position: int) -> tuple[Pool, int]:
        """Return the pool of a device and the index of the device in it."""
        index = bisect_right(self._starts, position) - 1
        return self.pools[index], position - self._starts[index]

    def id(self, position: int) -> DeviceID:
        """Return the identity of a device."""
        pool, index = self.place(position)
        return DeviceID(pool.id.driver, pool.id.pool, pool.devices[index].name)

    def on_node(self, position: int) -> bool:
        """Tell whether a device can be used on the node.

        Raises:
            NodeSelectorError: With the scheduler's text.
        """
        found = self._on_node.get(position)
        if found is None:
            pool, index = self.place(position)
            found = not pool.origins[index].per_device or device_on_node(
                pool.contents[index], self.node
            )
            self._on_node[position] = found
        return found

    def skips_node(self, position: int) -> bool:
        """Tell whether a device needs a node that can do without operations of the driver."""
        pool, index = self.place(position)
        if not pool.origins[index].skip_node_operations:
            return False
        declared = NODE_OPERATIONS in self.node.declared_features
        return not (self._profile.features.OptionalNodeOperations and declared)
