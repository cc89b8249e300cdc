"""The slices of a cluster by pool and node, and the pools that are made of them.

A pool is gathered for a node on first use, and kept until one of its slices changes. Pools
that all nodes see alike are made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from dragoman.allocation.facts.objects import Node, PoolID, Slice
from dragoman.allocation.features import Profile
from dragoman.allocation.pools.nodeselector import NodeSelectorError
from dragoman.allocation.pools.pool import Pool, assemble, counters_everywhere, relevant, skipped
from dragoman.allocation.search.view import NodePools

_SHAPES: Final = 1 << 16


class PoolSlices:
    """All slices of one pool by name, with what was made of them.

    Attributes:
        slices: The slices.
        everywhere: Those that belong to the pool on every node.
        common: The pool as nodes see it for which no other slice is relevant.
        made: What was made for single nodes of the cluster, by node.
    """

    __slots__ = ("common", "everywhere", "made", "slices")

    def __init__(self) -> None:
        self.slices: dict[str, Slice] = {}
        self.everywhere: list[Slice] = []
        self.common: Pool | None = None
        self.made: dict[str, Pool | None] = {}


class PoolIndex:
    """The pools of all nodes."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._order: dict[str, int] = {}
        self._arrivals = 0
        self._pools: dict[PoolID, PoolSlices] = {}
        self._by_node: dict[str, dict[str, Slice]] = {}
        self._conditional: dict[str, Slice] = {}
        self._common: list[Pool] | None = None
        self._stamp = 0
        self._found: dict[str, NodePools] = {}
        self._shapes: dict[object, object] = {}

    def of_node(self, node: Node, *, keep: bool) -> NodePools:
        """Return the pools of a node.

        Args:
            node: The node.
            keep: Whether the node is one of the cluster, so that the result is remembered.
        """
        found = self._found.get(node.name)
        if found is not None and found.stamp == self._stamp and found.node is node:
            return found
        found = self._gather(node, keep=keep)
        if keep:
            self._found[node.name] = found
        return found

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
        local = self._by_node.get(node.name, {})
        for item in (*local.values(), *self._conditional.values()):
            if item.name not in local and not relevant(item, node, self._profile):
                continue
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
        if not skipped(item, self._profile) and not self._everywhere(item):
            if item.node_name:
                self._by_node.setdefault(item.node_name, {})[item.name] = item
            elif item.node_selector is not None or item.per_device:
                self._conditional[item.name] = item
                self._stamp += 1
        self._changed(item)

    def remove(self, item: Slice, *, for_good: bool) -> None:
        """Remove a slice; if it is not for good, it keeps its place in the order of arrival."""
        pool = self._pools[item.pool_id]
        del pool.slices[item.name]
        local = self._by_node.get(item.node_name or "")
        if local is not None and local.pop(item.name, None) is not None and not local:
            del self._by_node[item.node_name or ""]
        if self._conditional.pop(item.name, None) is not None:
            self._stamp += 1
        self._changed(item)
        if not pool.slices:
            del self._pools[item.pool_id]
        if for_good:
            del self._order[item.name]

    def forget_node(self, name: str) -> None:
        """Gather the pools of a node again on next use."""
        self._found.pop(name, None)

    def usage_changed(self, pools: Iterable[PoolID]) -> None:
        """Look again at what claims hold of pools."""
        for pool_id in pools:
            known = self._pools.get(pool_id)
            if known is None:
                continue
            for name, pool in known.made.items():
                if pool is not None:
                    pool.forget_usage()
                if name in self._found:
                    self._found[name].key = None
            if known.common is not None:
                known.common.forget_usage()
                for found in self._found.values():
                    found.key = None

    def _everywhere(self, item: Slice) -> bool:
        """Tell whether a slice belongs to its pool on every node."""
        if item.shared_counters and counters_everywhere(self._profile):
            return True
        return not item.node_name and item.all_nodes

    def _changed(self, item: Slice) -> None:
        pool = self._pools[item.pool_id]
        for name in (*pool.made, item.node_name or ""):
            self._found.pop(name, None)
        pool.made.clear()
        before = pool.common
        pool.everywhere = [
            one
            for one in pool.slices.values()
            if self._everywhere(one) and not skipped(one, self._profile)
        ]
        pool.common = self._make_common(item.pool_id, pool)
        if pool.common is not before:
            self._common = None
            self._stamp += 1

    def _make_common(self, pool_id: PoolID, pool: PoolSlices) -> Pool | None:
        if not pool.everywhere:
            return None
        everything = pool.slices.values()
        made = assemble(pool_id, self._sorted(pool.everywhere), everything, self._profile)
        # Counters alone change nothing for a node, except where they are broken.
        if made is None or (made.usable and not made.contents):
            return None
        self._set_shape(made)
        return made

    def _sorted(self, items: Iterable[Slice]) -> list[Slice]:
        """Sort slices as the scheduler meets them: those of the node first, then by arrival."""
        order = self._order
        if self._profile.stable:
            return sorted(items, key=lambda item: order[item.name])
        return sorted(
            items,
            key=lambda item: (not item.node_name or self._everywhere(item), order[item.name]),
        )

    def _gather(self, node: Node, *, keep: bool) -> NodePools:
        touched: dict[PoolID, list[Slice]] = {}
        for item in self._by_node.get(node.name, {}).values():
            touched.setdefault(item.pool_id, []).append(item)
        try:
            for item in self._conditional.values():
                if relevant(item, node, self._profile):
                    touched.setdefault(item.pool_id, []).append(item)
        except NodeSelectorError as error:
            return NodePools(node, (), str(error), self._stamp)
        if self._common is None:
            common = [pool.common for pool in self._pools.values() if pool.common is not None]
            self._common = sorted(common, key=lambda pool: pool.sort_key)
        pools = [pool for pool in self._common if pool.id not in touched]
        for pool_id, found in touched.items():
            made = self._make(pool_id, found)
            if keep:
                self._pools[pool_id].made[node.name] = made
            if made is not None:
                pools.append(made)
        if touched:
            pools.sort(key=lambda pool: pool.sort_key)
        return NodePools(node, tuple(pools), "", self._stamp)

    def _make(self, pool_id: PoolID, found: list[Slice]) -> Pool | None:
        known = self._pools[pool_id]
        candidates = [*found, *known.everywhere]
        if len(candidates) > 1:
            candidates = self._sorted(candidates)
        made = assemble(pool_id, candidates, known.slices.values(), self._profile)
        if made is not None:
            self._set_shape(made)
        return made

    def _set_shape(self, pool: Pool) -> None:
        """Name what decides a search beside usage, so that alike pools have one shape."""
        shape: object = pool
        if pool.incomplete:
            shape = "incomplete"
        elif pool.invalid:
            shape = "invalid"
        elif pool.alike:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            shape = self._shapes.setdefault(pool.contents, object())
        pool.shape = shape
