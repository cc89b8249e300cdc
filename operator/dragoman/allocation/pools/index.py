"""The slices of a cluster by pool and node, and the pools that are made of them.

A pool is made on first use, once for all nodes for which the same slices are relevant, and kept
until one of its slices changes.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.assembly import assemble
from dragoman.allocation.pools.nodepools import NodePools, PoolSlices
from dragoman.allocation.pools.nodeselector import NodeSelectorError
from dragoman.allocation.pools.pool import INCOMPLETE, INVALID, Pool, Shape
from dragoman.allocation.pools.relevance import ConditionalSlices, counters_everywhere, skipped
from dragoman.model.device import Content
from dragoman.model.deviceid import PoolID
from dragoman.model.nodes import Node
from dragoman.model.slice import Slice

_SHARED = 1024
"""Combinations of slices that are remembered, of those that select nodes by labels."""


_LARGE = 64
"""Slices of all nodes in one pool, from which on it is not made for each change of a slice."""


class Shared(NamedTuple):
    """The pools of all nodes that the same slices select by labels or for single devices."""

    stamp: int  # Changes whenever one of them does
    slices: dict[PoolID, list[Slice]]  # Those slices by pool
    pools: list[Pool]  # In the order of allocation
    ids: frozenset[PoolID]  # Of the pools


def _sort_key(pool: Pool) -> tuple[bool, PoolID]:
    return pool.sort_key


class PoolIndex:
    """The pools of all nodes."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._order: dict[str, int] = {}
        self._arrivals = 0
        self._pools: dict[PoolID, PoolSlices] = {}
        self._by_node: dict[str, dict[str, Slice]] = {}
        self._conditional = ConditionalSlices(profile, self._order)
        self._commons: dict[PoolID, PoolSlices] = {}
        self._shared: dict[tuple[str, ...], Shared] = {}
        self._stamp = 0
        self._uses = 0
        self._found: dict[str, NodePools] = {}
        self._shapes: WeakValueDictionary[tuple[Content, ...], Shape] = WeakValueDictionary()

    def of_node(self, node: Node, *, keep: bool) -> NodePools:
        """Return the pools of a node.

        Args:
            node: The node.
            keep: Whether the node is one of the cluster, so that the result is remembered.
        """
        found = self._found.get(node.name)
        if found is not None and found.node is node and found.fresh(self._stamp):
            return found
        found = self._gather(node)
        if keep:
            self._found[node.name] = found
        return found

    def uses(self, found: NodePools) -> tuple[int, ...]:
        """Return what changes whenever claims on the pools of a node change."""
        return (self._uses, *(pool.uses for pool in found.local))

    def slices_of(self, pool: PoolID) -> tuple[Slice, ...]:
        """Return all slices of a pool."""
        found = self._pools.get(pool)
        return () if found is None else tuple(found.slices.values())

    def obsolete(self, node: Node, seen: Mapping[PoolID, int]) -> Iterator[tuple[Slice, int]]:
        """Yield slices for a node whose pool has a newer generation, and that generation.

        Args:
            node: The node.
            seen: The pools that the node sees, and their generation.
        """
        for item in (*self._by_node.get(node.name, {}).values(), *self._conditional.of_node(node)):
            newest = max(one.generation for one in self._pools[item.pool_id].slices.values())
            if item.generation < newest and seen.get(item.pool_id) != item.generation:
                yield item, newest

    def put(self, item: Slice) -> None:
        """Add a slice; one of its name must have been removed."""
        if item.name not in self._order:
            self._arrivals += 1
            self._order[item.name] = self._arrivals
        pool = self._pools.setdefault(item.pool_id, PoolSlices())
        pool.slices[item.name] = item
        # A skipped slice still counts where the whole pool is looked at.
        if not skipped(item, self._profile):
            if self._everywhere(item):
                pool.everywhere[item.name] = item
            elif item.node_name:
                self._by_node.setdefault(item.node_name, {})[item.name] = item
                self._found.pop(item.node_name, None)
            elif self._conditional.put(item):
                pool.conditional += 1
        self._changed(item.pool_id, pool)

    def remove(self, item: Slice, *, for_good: bool) -> None:
        """Remove a slice; if it is not for good, it keeps its place in the order of arrival."""
        pool = self._pools[item.pool_id]
        del pool.slices[item.name]
        pool.everywhere.pop(item.name, None)
        local = self._by_node.get(item.node_name or "")
        if local is not None and local.pop(item.name, None) is not None:
            self._found.pop(item.node_name or "", None)
            if not local:
                del self._by_node[item.node_name or ""]
        conditional = self._conditional.remove(item)
        self._changed(item.pool_id, pool)
        pool.conditional -= conditional
        if not pool.slices:
            del self._pools[item.pool_id]
            self._commons.pop(item.pool_id, None)
        if for_good:
            del self._order[item.name]

    def forget_node(self, name: str) -> None:
        """Gather the pools of a node again on next use."""
        self._found.pop(name, None)

    def usage_changed(self, pools: Iterable[PoolID]) -> None:
        """Note that claims on pools changed."""
        for pool_id in pools:
            known = self._pools.get(pool_id)
            if known is not None:
                known.uses += 1
                if known.conditional or known.late or known.common is not None:
                    self._uses += 1

    def _everywhere(self, item: Slice) -> bool:
        """Tell whether a slice belongs to its pool on every node."""
        if item.shared_counters and counters_everywhere(self._profile):
            return True
        return not item.node_name and item.all_nodes

    def _changed(self, pool_id: PoolID, pool: PoolSlices) -> None:
        pool.version += 1
        pool.made.clear()
        before, was_late = pool.common, pool.late
        pool.late = len(pool.everywhere) > _LARGE
        pool.common = None if pool.late else self._make_common(pool_id, pool)
        if pool.late or pool.common is not None:
            self._commons[pool_id] = pool
        else:
            self._commons.pop(pool_id, None)
        if pool.late or was_late or pool.common is not before or pool.conditional:
            self._stamp += 1

    def _make_common(self, pool_id: PoolID, pool: PoolSlices) -> Pool | None:
        """Make the pool as nodes see it for which none but the slices of all nodes is relevant."""
        if not pool.everywhere:
            return None
        made = self._make(pool_id, pool, [])
        # Counters alone change nothing for a node, except where they are broken.
        return None if made is None or (made.usable and not made.contents) else made

    def _common_of(self, pool_id: PoolID, pool: PoolSlices) -> Pool | None:
        if pool.late:
            pool.common, pool.late = self._make_common(pool_id, pool), False
        return pool.common

    def _sorted(self, items: Iterable[Slice]) -> list[Slice]:
        """Sort slices as the scheduler meets them: those of the node first, then by arrival."""
        order = self._order
        if self._profile.stable:
            return sorted(items, key=lambda item: order[item.name])
        return sorted(
            items,
            key=lambda item: (not item.node_name or self._everywhere(item), order[item.name]),
        )

    def _gather(self, node: Node) -> NodePools:
        by_pool: dict[PoolID, list[Slice]] = {}
        for item in self._by_node.get(node.name, {}).values():
            by_pool.setdefault(item.pool_id, []).append(item)
        local = [self._pools[pool_id] for pool_id in by_pool]
        try:
            shared = self._shared_pools(node)
        except NodeSelectorError as error:
            return NodePools(node, (), local, self._stamp, str(error))
        pools = list(shared.pools)
        if not by_pool.keys().isdisjoint(shared.ids):
            pools = [pool for pool in pools if pool.id not in by_pool]
        for pool_id, found in by_pool.items():
            slices = [*found, *shared.slices.get(pool_id, ())]
            made = self._make(pool_id, self._pools[pool_id], slices)
            if made is not None:
                insort(pools, made, key=_sort_key)
        return NodePools(node, tuple(pools), local, self._stamp)

    def _shared_pools(self, node: Node) -> Shared:
        """Return the pools that the node sees without slices of its own.

        Raises:
            NodeSelectorError: See `ConditionalSlices.of_node`.
        """
        slices = self._conditional.of_node(node)
        key = tuple(item.name for item in slices)
        found = self._shared.get(key)
        if found is None or found.stamp != self._stamp:
            if len(self._shared) >= _SHARED:
                self._shared.clear()
            found = self._shared[key] = self._share(slices)
        return found

    def _share(self, slices: Iterable[Slice]) -> Shared:
        by_pool: dict[PoolID, list[Slice]] = {}
        for item in slices:
            by_pool.setdefault(item.pool_id, []).append(item)
        made = [self._make(pool_id, self._pools[pool_id], by_pool[pool_id]) for pool_id in by_pool]
        made += [
            self._common_of(key, known)
            for key, known in self._commons.items()
            if key not in by_pool
        ]
        pools = sorted((pool for pool in made if pool is not None), key=_sort_key)
        return Shared(self._stamp, by_pool, pools, frozenset(pool.id for pool in pools))

    def _make(self, pool_id: PoolID, known: PoolSlices, found: list[Slice]) -> Pool | None:
        """Make a pool of slices beside those of all nodes, or return the one made of them."""
        candidates = [*found, *known.everywhere.values()]
        if len(candidates) > 1:
            candidates = self._sorted(candidates)
        key = tuple(item.name for item in candidates)
        if key not in known.made:
            made = assemble(pool_id, candidates, known.slices.values(), self._profile)
            if made is not None:
                made.shape = self._shape(made)
            known.made[key] = made
        return known.made[key]

    def _shape(self, pool: Pool) -> Shape:
        """Return what decides a search beside usage, so that alike pools have one shape."""
        if pool.invalid:
            return INVALID
        if pool.incomplete and not pool.contents:
            return INCOMPLETE
        if not pool.alike:
            return pool.shape
        return self._shapes.setdefault(pool.contents, pool.shape)
