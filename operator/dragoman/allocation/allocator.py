"""Allocate claims on nodes, as kube-scheduler would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from dragoman.allocation.cluster import Cluster
from dragoman.allocation.facts.claims import Claim
from dragoman.allocation.facts.objects import Node
from dragoman.allocation.pools.nodeselector import usable_on
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.reasons.codes import Code
from dragoman.allocation.reasons.explaining import explain
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import Prepared, named
from dragoman.allocation.results import (
    BudgetExceeded,
    DoesNotFit,
    FatalError,
    NodeError,
    ShareIDs,
)
from dragoman.allocation.search.attempt import Attempt
from dragoman.allocation.search.search import BudgetExceededError, Search
from dragoman.allocation.search.solution import Allocated, Solution, check_selectors
from dragoman.allocation.search.view import NodePools, NodeView

BUDGET: Final = 9_000_000
"""Steps that kube-scheduler manages within its time-out of 10 s."""
NOT_AVAILABLE: Final = "resourceclaim not available on the node"
INVALID_POOLS: Final = "invalid resource pools were encountered"
_REMEMBERED: Final = 1 << 16

Outcome = Allocated | DoesNotFit | NodeError | FatalError | BudgetExceeded
Remembered = Solution | DoesNotFit | NodeError


def allocate(  # noqa: PLR0913 — all but three have defaults
    node: str | Node,
    claims: Sequence[Claim],
    cluster: Cluster,
    *,
    budget: int = BUDGET,
    share_ids: ShareIDs | None = None,
    reasons: bool = False,
) -> Outcome:
    """Decide what the claims of a pod get on a node.

    Args:
        node: Name of a node of the cluster, or a node that the cluster does not have.
        claims: The claims of the pod in its order. Those that are allocated only have to be usable
            on the node.
        cluster: Everything else; it is not changed.
        budget: Steps after which the search ends without a result.
        share_ids: Makes a fresh UUID for each share of a device; without it, IDs count up.
        reasons: Whether an outcome other than `Allocated` contains its reasons.

    Raises:
        UnknownNodeError: The cluster has no node of this name.
    """
    pools = cluster.node_pools(node)
    prepared = cluster.prepared(claims)
    found = _decide(pools, prepared, cluster, budget)
    outcome: Outcome
    if not isinstance(found, Solution):
        outcome = _named(found, claims) if isinstance(found, FatalError) else found
    elif len(prepared.claims) == len(claims):
        return Allocated(found, pools, share_ids)
    else:
        outcome = _with_allocated(found, pools, claims, share_ids)
    if not reasons or isinstance(outcome, Allocated):
        return outcome
    return replace(outcome, reasons=explain(node, claims, cluster, outcome))


def _decide(
    pools: NodePools, prepared: Prepared, cluster: Cluster, budget: int
) -> Remembered | FatalError | BudgetExceeded:
    if pools.key is None:
        pools.key = _key(pools, cluster)
    found: Remembered | None = prepared.remembered.get(pools.key) if pools.key else None
    if found is not None and found.steps <= budget:
        return found
    searched = _search(pools, prepared, cluster, budget)
    if pools.key and not isinstance(searched, (FatalError, BudgetExceeded)):
        if len(prepared.remembered) >= _REMEMBERED:
            prepared.remembered.clear()
        prepared.remembered[pools.key] = searched
    return searched


def _with_allocated(
    solution: Solution, pools: NodePools, claims: Sequence[Claim], share_ids: ShareIDs | None
) -> Allocated | DoesNotFit:
    """Add the claims that were allocated before, if they can be used on the node."""
    allocated = [
        (index, claim.held) for index, claim in enumerate(claims) if claim.held is not None
    ]
    if not all(usable_on(held, pools.node) for _, held in allocated):
        return DoesNotFit(solution.steps, message=NOT_AVAILABLE)
    return Allocated(solution, pools, share_ids, allocated)


def _named(error: FatalError, claims: Sequence[Claim]) -> FatalError:
    """Put the names of the claims into an error."""
    pending = [claim for claim in claims if claim.held is None]
    # The scheduler leaves the namespace out here.
    short = error.message.startswith("create NodeSelector")
    names = [claim.name if short else claim.key for claim in pending]
    return replace(error, message=named(error.message, names))


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
        return FatalError(found.error, 0, Code.NODE_SELECTOR_INVALID)
    view = NodeView(found, cluster.usage, cluster.profile)
    everything: dict[PreparedRequest, list[int]] = {}
    attempt = Attempt(prepared, view)

    def count(request: PreparedRequest) -> int:
        everything[request] = attempt.everything(request)
        return len(everything[request])

    try:
        prepared.validate(count)
    except FatalProblemError as error:
        return FatalError(str(error), 0, error.code)
    search = Search(prepared, view, everything, budget)
    try:
        if search.run():
            solution = Solution(prepared, search, view)
            check_selectors(solution, view.pools)
            return solution
    except FatalProblemError as error:
        return FatalError(str(error), search.steps, error.code)
    except BudgetExceededError:
        return BudgetExceeded(search.steps)
    if any(pool.invalid for pool in view.pools):
        return NodeError(INVALID_POOLS, search.steps)
    return DoesNotFit(search.steps)
