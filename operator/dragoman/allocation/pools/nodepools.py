"""The pools that one node sees."""

from collections.abc import Sequence

from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.pools.poolslices import PoolSlices
from dragoman.model.nodes import Node


class SearchKey:
    """What decides a search; its hash is computed once, because a node may see many pools."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, parts: tuple[object, ...]) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SearchKey) and self._parts == other._parts


class NodePools:
    """The pools of a node, kept until one of them changes.

    Attributes:
        node: The node.
        pools: In the order of allocation, also those that cannot be used.
        local: The pools with slices of this node alone.
        error: Why pools cannot be gathered, empty if they can.
        key: Equal for nodes on which every search goes the same way; None where none does.
        uses: What `key` was made for, see `PoolIndex.uses`; None while there is no key.
    """

    __slots__ = ("_stamp", "_versions", "error", "key", "local", "node", "pools", "uses")

    def __init__(
        self,
        node: Node,
        pools: tuple[Pool, ...],
        local: Sequence[PoolSlices],
        stamp: int,
        error: str = "",
    ) -> None:
        self.node = node
        self.pools = pools
        self.local = tuple(local)
        self.error = error
        self.key: SearchKey | None = None
        self.uses: tuple[int, ...] | None = None
        self._stamp = stamp
        self._versions = [pool.version for pool in self.local]

    def fresh(self, stamp: int) -> bool:
        """Tell whether nothing changed.

        Args:
            stamp: Changes whenever a pool that other nodes see, too, does.
        """
        return stamp == self._stamp and self._versions == [pool.version for pool in self.local]
