"""The cluster as it could be at best: all devices free, healthy and complete, no other pods.

Where a pod fits on no node even then, waiting is of no use. The emptied cluster is filled node by
node, as the search asks for them: for most pods one node is enough. Taints stay where they are,
and the requests tolerate all of them instead, so that devices need not be evaluated again.
"""

from collections.abc import Sequence
from dataclasses import replace

from dragoman.allocation import Claim, Cluster, Node, Outcome, PoolID, allocate
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import Load, rejections
from dragoman.diagnosis.nodeanswers import BUDGET
from dragoman.diagnosis.subject import Subject, Wanted
from dragoman.inventory.facts.world import NodeFact
from dragoman.model.requests import ClaimSpec
from dragoman.model.taints import Toleration

_EVERY_TAINT = Toleration(operator="Exists")
_NOBODY = Load()
"""What other pods request where there are none."""


class EmptiedCluster:
    """A cluster without what comes and goes.

    Args:
        as_it_is: The cluster; it is not changed.

    Attributes:
        cluster: What the allocator decides on.
    """

    def __init__(self, as_it_is: Cluster) -> None:
        self.as_it_is = as_it_is
        self.cluster = Cluster(as_it_is.profile, classes=as_it_is.classes.values())
        self._pools: set[PoolID] = set()

    def put(self, node: Node) -> None:
        """Put in a node with all slices that it may see."""
        if node.name in self.cluster.nodes:
            return
        self.cluster.put_node(node)
        for pool in self.pools(node) - self._pools:
            self._pools.add(pool)
            self._put_pool(pool)

    def pools(self, node: Node) -> set[PoolID]:
        """Return the pools that a node sees, or would see if its slices were of their newest."""
        seen = {pool.id: pool.generation for pool in self.as_it_is.node_pools(node).pools}
        return {*seen, *(item.pool_id for item, _ in self.as_it_is.obsolete(node, seen))}

    def _put_pool(self, pool: PoolID) -> None:
        """Put in the newest slices of a pool, and take them for the whole pool."""
        slices = [self.as_it_is.slices[one.name] for one in self.as_it_is.slices_of(pool)]
        newest = max((one.generation for one in slices), default=0)
        current = [one for one in slices if one.generation == newest]
        for one in current:
            whole = one.slice_count == len(current)
            self.cluster.put_slice(one if whole else replace(one, slice_count=len(current)))


class BestCase:
    """A pod in the emptied cluster; what it wants is made ready once for nodes alike.

    Args:
        emptied: The cluster.
        subject: The pod.
    """

    def __init__(self, emptied: EmptiedCluster, subject: Subject) -> None:
        self.emptied = emptied
        self._pod = subject.pod
        self._extended = Extended(emptied.as_it_is, subject)
        self._freed: dict[int, tuple[Subject, Subject]] = {}

    def keeps_away(self, node: NodeFact) -> tuple[str, ...]:
        """Return why a node is none for the pod whatever runs there; empty where it may be one."""
        healthy = replace(node, room=replace(node.room, taints=(), unschedulable=False))
        return rejections(self._pod, healthy, _NOBODY, self._extended.requests(node))

    def outcome(self, node: NodeFact, claims: Sequence[Claim] | None = None) -> Outcome:
        """Return what the allocator says of a node, also of claims that differ from the pod's."""
        self.emptied.put(node.node)
        wanted = self.claims(node) if claims is None else claims
        return allocate(node.node.name, wanted, self.emptied.cluster, budget=BUDGET)

    def claims(self, node: NodeFact) -> tuple[Claim, ...]:
        """Return all claims of the pod to be allocated, with tolerations for every taint."""
        here = self._extended.subject(node)
        found = self._freed.get(id(here))
        if found is None:
            claims = (*here.claims, *(replace(one, held=None) for one in here.allocated))
            wanted = (Wanted(replace(one, spec=tolerant(one.spec))) for one in claims)
            found = self._freed[id(here)] = (here, replace(here, wanted=tuple(wanted)))
        return found[1].claims


def tolerant(spec: ClaimSpec) -> ClaimSpec:
    """Return a spec whose requests tolerate every taint."""
    return spec.changed(lambda request: replace(request, tolerations=(_EVERY_TAINT,)))
