"""Everything the allocator decides on, kept up to date event by event.

Pools of a node are gathered when first asked for and kept until one of their slices changes; what
claims hold of a pool is computed anew after one of those claims changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dragoman.allocation.environment import Environment
from dragoman.allocation.facts import (
    Claim,
    DeviceClass,
    DeviceID,
    DeviceTaintRule,
    Node,
    PoolID,
    Slice,
)
from dragoman.allocation.features import Profile, profile
from dragoman.allocation.nodeselector import NodeSelectorError
from dragoman.allocation.pools import Pool, assemble, counters_everywhere, relevant, skipped
from dragoman.allocation.taints import tainted
from dragoman.allocation.usage import Holder, Usage
from dragoman.allocation.validation import Prepared
from dragoman.allocation.view import NodePools

_PREPARED: Final = 16
_SHAPES: Final = 1 << 16


class UnknownNodeError(KeyError):
    """The cluster has no node of this name."""


class _PoolSlices:
    """All slices of one pool, by name, with what was made of them."""

    __slots__ = ("common", "common_made", "everywhere", "made", "nodes", "slices")

    def __init__(self) -> None:
        self.slices: dict[str, Slice] = {}
        self.everywhere = False
        self.common: Pool | None = None
        self.common_made = False
        self.made: list[Pool] = []
        self.nodes: set[str] = set()


class Cluster:
    """Nodes, slices, classes, taint rules and claims of a cluster.

    Facts are put in and removed one by one; each `put` replaces what had the same name. A cluster
    must not be changed and read by two threads at once.

    Args:
        profile: Which scheduler decides; 1.36 with its default gates if not given.
        nodes: Nodes to start with; so for the other facts.
        slices: See `nodes`.
        classes: See `nodes`.
        claims: Claims; only allocated ones matter.
        taint_rules: DeviceTaintRules.
    """

    def __init__(  # noqa: PLR0913 — one argument for each kind of fact
        self,
        profile: Profile | None = None,
        *,
        nodes: Iterable[Node] = (),
        slices: Iterable[Slice] = (),
        classes: Iterable[DeviceClass] = (),
        claims: Iterable[Claim] = (),
        taint_rules: Iterable[DeviceTaintRule] = (),
    ) -> None:
        self.profile = profile or _default()
        self.usage = Usage(shares=self.profile.features.ConsumableCapacity)
        self._nodes: dict[str, Node] = {}
        self._given: dict[str, Slice] = {}
        self._order: dict[str, int] = {}
        self._pools: dict[PoolID, _PoolSlices] = {}
        self._by_node: dict[str, dict[str, Slice]] = {}
        self._conditional: dict[str, Slice] = {}
        self._common: list[Pool] | None = None
        self._stamp = 0
        self._found: dict[str, NodePools] = {}
        self._classes: dict[str, DeviceClass] = {}
        self._claims: dict[str, Claim] = {}
        self._rules: dict[str, DeviceTaintRule] = {}
        self._shapes: dict[object, object] = {}
        self._prepared: dict[tuple[int, ...], Prepared] = {}
        self._environment = Environment(self.profile, self._classes)
        for rule in taint_rules:
            self._rules[rule.name] = rule
        for kind in classes:
            self.put_class(kind)
        for node in nodes:
            self.put_node(node)
        for item in slices:
            self.put_slice(item)
        for claim in claims:
            self.put_claim(claim)

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return MappingProxyType(self._nodes)

    @property
    def slices(self) -> Mapping[str, Slice]:
        """The slices by name, as they were put in."""
        return MappingProxyType(self._given)

    @property
    def classes(self) -> Mapping[str, DeviceClass]:
        """The classes by name."""
        return MappingProxyType(self._classes)

    @property
    def claims(self) -> Mapping[str, Claim]:
        """The claims by `namespace/name`."""
        return MappingProxyType(self._claims)

    def put_node(self, node: Node) -> None:
        """Add or replace a node."""
        self._nodes[node.name] = node
        self._found.pop(node.name, None)

    def remove_node(self, name: str) -> None:
        """Remove a node; its slices stay until they are removed."""
        self._nodes.pop(name, None)
        self._found.pop(name, None)

    def put_class(self, kind: DeviceClass) -> None:
        """Add or replace a class."""
        self._classes[kind.name] = kind
        self._prepared.clear()

    def remove_class(self, name: str) -> None:
        """Remove a class."""
        self._classes.pop(name, None)
        self._prepared.clear()

    def put_claim(self, claim: Claim) -> None:
        """Add or replace a claim; an allocated one holds its devices from now on."""
        self._claims[claim.key] = claim
        self._usage_changed(self.usage.put(claim))

    def remove_claim(self, key: str) -> None:
        """Remove a claim by `namespace/name`; what it held is free."""
        self._claims.pop(key, None)
        self._usage_changed(self.usage.remove(key))

    def put_taint_rule(self, rule: DeviceTaintRule) -> None:
        """Add or replace a DeviceTaintRule."""
        self._rules[rule.name] = rule
        self._rules_changed()

    def remove_taint_rule(self, name: str) -> None:
        """Remove a DeviceTaintRule."""
        self._rules.pop(name, None)
        self._rules_changed()

    def put_slice(self, item: Slice) -> None:
        """Add or replace a slice."""
        old = self._given.get(item.name)
        if old is not None:
            self._leave(old)
        self._given[item.name] = item
        self._order.setdefault(item.name, len(self._order) + 1)
        self._join(tainted(item, self._rules.values(), self.profile))

    def remove_slice(self, name: str) -> None:
        """Remove a slice."""
        old = self._given.pop(name, None)
        if old is not None:
            self._leave(old)
            self._order.pop(name)

    def holders(self, device: DeviceID) -> tuple[Holder, ...]:
        """Return the claims that hold a device, or shares of it."""
        return self.usage.holders(device)

    def pools(self, node: str | Node) -> tuple[Pool, ...]:
        """Return the pools that a node sees, in the order of allocation.

        Raises:
            UnknownNodeError: The cluster has no such node.
            NodeSelectorError: A slice has an invalid node selector.
        """
        found = self.node_pools(node)
        if found.error:
            raise NodeSelectorError(found.error)
        return found.pools

    def slices_of(self, pool: PoolID) -> Sequence[Slice]:
        """Return all slices of a pool, of whatever generation, taint rules applied."""
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
            if item.name not in local and not relevant(item, node, self.profile):
                continue
            newest = max(one.generation for one in self._pools[item.pool_id].slices.values())
            if item.generation < newest and seen.get(item.pool_id) != item.generation:
                yield item, newest

    def prepared(self, claims: Sequence[Claim]) -> Prepared:
        """Make the claims that are not allocated ready; the last specs are remembered."""
        specs = [claim.spec for claim in claims if claim.held is None]
        key = tuple(map(id, specs))
        found = self._prepared.get(key)
        if found is None:
            while len(self._prepared) >= _PREPARED:
                del self._prepared[next(iter(self._prepared))]
            found = self._prepared[key] = Prepared(specs, self._environment)
        return found

    def node_pools(self, node: str | Node) -> NodePools:
        """Return the pools of a node; see `pools`. A node that is not in the cluster may be given.

        Raises:
            UnknownNodeError: The cluster has no such node.
        """
        name = node if isinstance(node, str) else node.name
        found = self._found.get(name)
        if found is not None and found.stamp == self._stamp:
            if isinstance(node, str) or found.node is node:
                return found
        if isinstance(node, str):
            known = self._nodes.get(node)
            if known is None:
                raise UnknownNodeError(node)
            node = known
        found = self._gather(node)
        if self._nodes.get(name) is node:
            self._found[name] = found
        return found

    # Slices ---------------------------------------------------------------------------------------

    def _join(self, item: Slice) -> None:
        if skipped(item, self.profile):
            # It still counts where the whole pool is looked at.
            self._pool(item).slices[item.name] = item
            self._pool_changed(item)
            return
        pool = self._pool(item)
        pool.slices[item.name] = item
        everywhere = self._everywhere(item)
        if everywhere:
            pool.everywhere = True
        elif item.node_name:
            self._by_node.setdefault(item.node_name, {})[item.name] = item
        elif item.node_selector is not None or item.per_device:
            self._conditional[item.name] = item
            self._stamp += 1
        self._pool_changed(item)

    def _leave(self, item: Slice) -> None:
        pool = self._pools[item.pool_id]
        del pool.slices[item.name]
        local = self._by_node.get(item.node_name or "")
        if local is not None and local.pop(item.name, None) is not None and not local:
            del self._by_node[item.node_name or ""]
        if self._conditional.pop(item.name, None) is not None:
            self._stamp += 1
        self._pool_changed(item)
        if not pool.slices:
            del self._pools[item.pool_id]

    def _pool(self, item: Slice) -> _PoolSlices:
        return self._pools.setdefault(item.pool_id, _PoolSlices())

    def _everywhere(self, item: Slice) -> bool:
        """Tell whether a slice belongs to its pool on every node."""
        if item.shared_counters and counters_everywhere(self.profile):
            return True
        return not item.node_name and item.all_nodes

    def _pool_changed(self, item: Slice) -> None:
        pool = self._pools[item.pool_id]
        for name in pool.nodes:
            self._found.pop(name, None)
        if item.node_name:
            self._found.pop(item.node_name, None)
        pool.nodes.clear()
        pool.made.clear()
        before = pool.common if pool.common_made else None
        pool.everywhere = any(
            self._everywhere(one) and not skipped(one, self.profile) for one in pool.slices.values()
        )
        pool.common, pool.common_made = self._make_common(item.pool_id, pool), True
        if pool.common is not before:
            self._common = None
            self._stamp += 1

    def _make_common(self, pool_id: PoolID, pool: _PoolSlices) -> Pool | None:
        """Make the pool as a node sees it on which no other slice of it is relevant."""
        if not pool.everywhere:
            return None
        candidates = [
            item
            for item in pool.slices.values()
            if self._everywhere(item) and not skipped(item, self.profile)
        ]
        made = assemble(pool_id, self._sorted(candidates), pool.slices.values(), self.profile)
        # Counters alone change nothing for a node, except where they are broken.
        if made is None or (made.usable and not made.contents):
            return None
        self._set_shape(made)
        return made

    def _sorted(self, items: Iterable[Slice]) -> list[Slice]:
        """Sort slices as the scheduler meets them: those of the node first, then by arrival."""
        order = self._order
        if self.profile.stable:
            return sorted(items, key=lambda item: order[item.name])
        return sorted(
            items,
            key=lambda item: (
                not item.node_name or self._everywhere(item),
                order[item.name],
            ),
        )

    # Pools of a node ------------------------------------------------------------------------------

    def _gather(self, node: Node) -> NodePools:
        touched: dict[PoolID, list[Slice]] = {}
        for item in self._by_node.get(node.name, {}).values():
            touched.setdefault(item.pool_id, []).append(item)
        try:
            for item in self._conditional.values():
                if relevant(item, node, self.profile):
                    touched.setdefault(item.pool_id, []).append(item)
        except NodeSelectorError as error:
            return NodePools(node, (), str(error), self._stamp)
        pools = [pool for pool in self._common_pools() if pool.id not in touched]
        for pool_id, found in touched.items():
            made = self._make(pool_id, found, node)
            if made is not None:
                pools.append(made)
        if touched:
            pools.sort(key=lambda pool: pool.sort_key)
        return NodePools(node, tuple(pools), "", self._stamp)

    def _make(self, pool_id: PoolID, found: list[Slice], node: Node) -> Pool | None:
        known = self._pools[pool_id]
        if known.everywhere:
            found = found + [
                item
                for item in known.slices.values()
                if self._everywhere(item) and not skipped(item, self.profile)
            ]
        if len(found) > 1:
            found = self._sorted(found)
        known.nodes.add(node.name)
        made = assemble(pool_id, found, known.slices.values(), self.profile)
        if made is not None:
            self._set_shape(made)
            known.made.append(made)
        return made

    def _common_pools(self) -> list[Pool]:
        if self._common is None:
            found = [pool.common for pool in self._pools.values() if pool.common is not None]
            self._common = sorted(found, key=lambda pool: pool.sort_key)
        return self._common

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
            key = pool.contents
            shape = self._shapes.setdefault(key, object())
        pool.shape = shape

    # Changes --------------------------------------------------------------------------------------

    def _usage_changed(self, pools: Iterable[PoolID]) -> None:
        for pool_id in pools:
            known = self._pools.get(pool_id)
            if known is None:
                continue
            for pool in known.made:
                pool.forget_usage()
            for name in known.nodes:
                found = self._found.get(name)
                if found is not None:
                    found.key = None
            if known.common is not None:
                known.common.forget_usage()
                for found in self._found.values():
                    found.key = None

    def _rules_changed(self) -> None:
        for item in self._given.values():
            self._leave(item)
            self._join(tainted(item, self._rules.values(), self.profile))


def _default() -> Profile:
    return profile()
