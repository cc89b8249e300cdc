"""Allocate claims on nodes, as kube-scheduler would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dragoman.allocation.attempt import Attempt
from dragoman.allocation.cluster import Cluster
from dragoman.allocation.facts import Claim, Node
from dragoman.allocation.requests import FatalProblemError, Prepared, PreparedAsk
from dragoman.allocation.results import (
    Allocated,
    BudgetExceeded,
    DoesNotFit,
    FatalError,
    NodeError,
    Outcome,
    ShareIDs,
)
from dragoman.allocation.search import BudgetExceededError, Search
from dragoman.allocation.solution import Solution, allocations, check_selectors
from dragoman.allocation.view import NodePools, NodeView

BUDGET: Final = 9_000_000
"""Steps that kube-scheduler manages within its time-out of 10 s."""
INVALID_POOLS: Final = "invalid resource pools were encountered"
_REMEMBERED: Final = 1 << 16

Remembered = Solution | DoesNotFit | NodeError


def numbered_ids() -> ShareIDs:
    """Return a maker of share IDs that counts up: unique within one allocation only."""
    number = 0

    def make() -> str:
        nonlocal number
        number += 1
        return f"00000000-0000-4000-8000-{number:012x}"

    return make


def allocate(
    node: str | Node,
    claims: Sequence[Claim],
    cluster: Cluster,
    *,
    budget: int = BUDGET,
    share_ids: ShareIDs | None = None,
) -> Outcome:
    """Decide what the claims of a pod get on a node.

    Args:
        node: Name of a node of the cluster, or a node that the cluster does not have.
        claims: The claims of the pod that are not allocated yet, in the order of the pod.
        cluster: Everything else; it is not changed.
        budget: Steps after which the search ends without a result.
        share_ids: Makes a fresh UUID for each share of a device; without it, IDs count up.

    Raises:
        UnknownNodeError: The cluster has no node of this name.
    """
    pools = cluster.node_pools(node)
    prepared = cluster.prepared(claims)
    if pools.key is None:
        pools.key = _key(pools, cluster)
    remembered = prepared.remembered.get(pools.key) if pools.key else None
    if remembered is None or remembered.steps > budget:
        remembered = _search(pools, prepared, cluster, budget)
        if isinstance(remembered, (FatalError, BudgetExceeded)):
            return remembered
        if pools.key:
            if len(prepared.remembered) >= _REMEMBERED:
                prepared.remembered.clear()
            prepared.remembered[pools.key] = remembered
    if not isinstance(remembered, Solution):
        return remembered
    solution = remembered
    return Allocated(
        solution.steps,
        lambda: allocations(solution, pools.pools, pools.node.name, share_ids or numbered_ids()),
    )


def fits(
    claims: Sequence[Claim], cluster: Cluster, *, budget: int = BUDGET
) -> Mapping[str, Outcome]:
    """Decide for every node of the cluster; see `allocate`."""
    return {name: allocate(name, claims, cluster, budget=budget) for name in cluster.nodes}


def _key(found: NodePools, cluster: Cluster) -> tuple[object, ...]:
    """Return what decides a search on a node; () where only the node itself does.

    Names do not decide anything: pools and slices are sorted already, and devices go by position.
    """
    profile = cluster.profile
    if found.error or profile.features.CompatibilityGroups:
        return ()
    key: list[object] = []
    for pool in found.pools:
        if pool.usable and not pool.alike:
            return ()
        key.append(pool.shape)
        if pool.contents:
            key.append(pool.usage(cluster.usage).key)
    if not profile.new and _share_counters(found):
        return ()
    return tuple(key) or (None,)


def _share_counters(found: NodePools) -> bool:
    """Tell whether pools of two drivers share a name, and in 1.36 their counters."""
    names = [pool.id.pool for pool in found.pools if pool.counters]
    return len(names) != len(set(names))


def _search(
    found: NodePools, prepared: Prepared, cluster: Cluster, budget: int
) -> Remembered | FatalError | BudgetExceeded:
    if found.error:
        return FatalError(found.error, 0)
    view = NodeView(found, cluster.usage, cluster.profile)
    everything: dict[PreparedAsk, list[int]] = {}
    attempt = Attempt(prepared, view)

    def count(ask: PreparedAsk) -> int:
        everything[ask] = attempt.everything(ask)
        return len(everything[ask])

    try:
        prepared.validate(count)
    except FatalProblemError as error:
        return FatalError(str(error), 0)
    search = Search(prepared, view, everything, budget)
    try:
        if search.run():
            solution = Solution(prepared, search, view)
            check_selectors(prepared, solution, view.pools)
            return solution
    except FatalProblemError as error:
        return FatalError(str(error), search.steps)
    except BudgetExceededError:
        return BudgetExceeded(search.steps)
    if any(pool.invalid for pool in view.pools):
        return NodeError(INVALID_POOLS, search.steps)
    return DoesNotFit(search.steps)
