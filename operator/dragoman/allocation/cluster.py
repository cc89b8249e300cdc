"""Everything the allocator decides on, kept up to date event by event.

Pools of a node are gathered on first use and kept until one of their slices changes; what
claims hold of a pool is computed again after one of those claims changed.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from dragoman.allocation.features import Profile, profile
from dragoman.allocation.pools.index import PoolIndex
from dragoman.allocation.pools.nodepools import NodePools, SearchKey, search_key
from dragoman.allocation.pools.nodeselector import NodeSelectorError
from dragoman.allocation.pools.pool import Pool
from dragoman.allocation.pools.taints import tainted
from dragoman.allocation.pools.usage import Holder, Usage
from dragoman.allocation.requests.environment import ClassEnvironment
from dragoman.allocation.requests.validation import Prepared
from dragoman.model.claim import Claim
from dragoman.model.deviceclass import DeviceClass
from dragoman.model.deviceid import DeviceID, PoolID
from dragoman.model.nodes import Node
from dragoman.model.slice import Slice
from dragoman.model.taints import DeviceTaintRule

_PREPARED = 64
"""Combinations of claim specs that are remembered, such as those of the templates of a pod."""
_LEAST_STALE = 4096
"""Devices that may be replaced before anything that is known of devices is dropped."""


class UnknownNodeError(KeyError):
    """The cluster has no node of this name."""


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
        self.usage = Usage(self.profile)
        self._nodes: dict[str, Node] = {}
        self._given: dict[str, Slice] = {}
        self._effective: dict[str, Slice] = {}
        self._index = PoolIndex(self.profile)
        self._classes: dict[str, DeviceClass] = {}
        self._claims: dict[str, Claim] = {}
        self._rules: dict[str, DeviceTaintRule] = {}
        self._prepared: OrderedDict[tuple[int, ...], Prepared] = OrderedDict()
        self._devices = 0
        self._stale = 0
        self._environment = ClassEnvironment(self.profile, self._classes)
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
        self._index.forget_node(node.name)

    def remove_node(self, name: str) -> None:
        """Remove a node; its slices stay until they are removed."""
        self._nodes.pop(name, None)
        self._index.forget_node(name)

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
        self._index.usage_changed(self.usage.put(claim))

    def remove_claim(self, key: str) -> None:
        """Remove a claim by `namespace/name`; what it held is free."""
        self._claims.pop(key, None)
        self._index.usage_changed(self.usage.remove(key))

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
        before = self._given.get(item.name)
        if before is not None:
            self._index.remove(self._effective[item.name], for_good=False)
            self._left(before)
        self._given[item.name] = item
        self._devices += len(item.devices)
        self._put(item)

    def remove_slice(self, name: str) -> None:
        """Remove a slice."""
        before = self._given.pop(name, None)
        if before is not None:
            self._left(before)
            self._index.remove(self._effective.pop(name), for_good=True)

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
        return self._index.slices_of(pool)

    def obsolete(self, node: Node, seen: Mapping[PoolID, int]) -> Iterator[tuple[Slice, int]]:
        """Yield slices for a node whose pool has a newer generation; see `PoolIndex.obsolete`."""
        return self._index.obsolete(node, seen)

    def prepared(self, claims: Sequence[Claim]) -> Prepared:
        """Make the claims that are not allocated ready; the specs used last are remembered."""
        if self._environment.full or self._stale > max(self._devices, _LEAST_STALE):
            self._forget()
        specs = [claim.spec for claim in claims if claim.held is None]
        key = tuple(map(id, specs))
        found = self._prepared.get(key)
        if found is None:
            while len(self._prepared) >= _PREPARED:
                self._prepared.popitem(last=False)
            found = self._prepared[key] = Prepared(specs, self._environment)
        else:
            self._prepared.move_to_end(key)
        return found

    def note_entry(self) -> None:
        """Note that a request remembers one thing more about a content."""
        self._environment.entries += 1

    def _forget(self) -> None:
        """Drop what was found out about devices, most of which may not exist any more."""
        self._prepared.clear()
        self._environment.forget()
        self._stale = 0

    def node_pools(self, node: str | Node) -> NodePools:
        """Return the pools of a node; see `pools`. A node that is not in the cluster may be given.

        Raises:
            UnknownNodeError: The cluster has no such node.
        """
        if isinstance(node, str):
            known = self._nodes.get(node)
            if known is None:
                raise UnknownNodeError(node)
            return self._index.of_node(known, keep=True)
        return self._index.of_node(node, keep=self._nodes.get(node.name) is node)

    def search_key(self, found: NodePools) -> SearchKey | None:
        """Return what decides a search on a node; None where only the node itself does."""
        uses = self._index.uses(found)
        if found.uses != uses:
            found.key, found.uses = search_key(found, self.usage, self.profile), uses
        return found.key

    def _rules_changed(self) -> None:
        for name, item in self._given.items():
            effective = tainted(item, self._rules.values(), self.profile)
            before = self._effective[name]
            if effective.devices != before.devices:
                self._index.remove(before, for_good=False)
                self._stale += len(item.devices)
                self._effective[name] = effective
                self._index.put(effective)

    def _left(self, item: Slice) -> None:
        self._devices -= len(item.devices)
        self._stale += len(item.devices)

    def _put(self, item: Slice) -> None:
        effective = tainted(item, self._rules.values(), self.profile)
        self._effective[item.name] = effective
        self._index.put(effective)


def _default() -> Profile:
    return profile()
