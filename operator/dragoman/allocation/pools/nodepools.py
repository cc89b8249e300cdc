"""The pools that one node sees, and what decides a search on it."""

from collections.abc import Sequence

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.pools.usage import Usage
from dragoman.model.nodes import Node
from dragoman.model.slice import Slice


class PoolSlices:
    """All slices of one pool by name, with what was made of them.

    Attributes:
        slices: The slices.
        everywhere: Those that belong to the pool on every node.
        conditional: How many belong to it on nodes with certain labels, or by single devices.
        common: The pool as nodes see it for which no other slice is relevant.
        late: Whether `common` is made on next use, because the pool is large.
        made: Pools by the names of the slices that are relevant for a node.
        version: Changes whenever a slice does.
        uses: Changes whenever a claim on the pool does.
    """

    __slots__ = ("common", "conditional", "everywhere", "late", "made", "slices", "uses", "version")

    def __init__(self) -> None:
        self.slices: dict[str, Slice] = {}
        self.everywhere: dict[str, Slice] = {}
        self.conditional = 0
        self.common: Pool | None = None
        self.late = False
        self.made: dict[tuple[str, ...], Pool | None] = {}
        self.version = 0
        self.uses = 0


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


def search_key(found: NodePools, usage: Usage, profile: Profile) -> SearchKey | None:
    """Return what decides a search on a node; None where only the node itself does.

    Names do not decide anything: pools and slices are sorted already, and devices go by position.
    """
    if found.error or profile.features.CompatibilityGroups:
        return None
    key: list[object] = []
    for pool in found.pools:
        if (pool.usable or pool.contents) and not pool.alike:
            return None
        key.append(pool.shape)
        if pool.contents:
            key.append(pool.usage(usage).key)
    if not profile.counters_by_driver and _share_counters(found):
        return None
    return SearchKey(tuple(key))


def _share_counters(found: NodePools) -> bool:
    """Tell whether pools of two drivers share a name, and in 1.36 their counters."""
    names = [pool.id.pool for pool in found.pools if pool.counters]
    return len(names) != len(set(names))
