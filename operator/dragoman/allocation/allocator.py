"""Allocate claims on nodes, as kube-scheduler would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from dragoman.allocation.binding import usable
from dragoman.allocation.cluster import Cluster
from dragoman.allocation.codes import Code, Reason
from dragoman.allocation.pools.nodepools import NodePools
from dragoman.allocation.pools.nodeselector import usable_on
from dragoman.allocation.problems import FatalProblemError
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import Prepared, named
from dragoman.allocation.results import (
    BudgetExceeded,
    DoesNotFit,
    FatalError,
    NodeError,
    Refusal,
    ShareIDs,
)
from dragoman.allocation.search.allocated import Allocated
from dragoman.allocation.search.search import BudgetExceededError, Search, most_looks
from dragoman.allocation.search.selection import everything
from dragoman.allocation.search.solution import Solution, check_selectors
from dragoman.allocation.search.view import NodeView
from dragoman.model.allocated import Held
from dragoman.model.claim import Claim
from dragoman.model.nodes import Node

BUDGET = 9_000_000
"""Steps that kube-scheduler manages within its time-out of 10 s."""
NOT_AVAILABLE = "resourceclaim not available on the node"
INVALID_POOLS = "invalid resource pools were encountered"

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
    now: datetime | None = None,
) -> Outcome:
    """Decide what the claims of a pod get on a node.

    Args:
        node: Name of a node of the cluster, or a node that the cluster does not have.
        claims: The claims of the pod in its order. Those that are allocated only have to be usable
            on the node.
        cluster: Everything else; it is not changed.
        budget: Steps after which the search ends without a result, as it does after `most_looks`
            of it at devices.
        share_ids: Makes a fresh UUID for each share of a device; without it, IDs count up.
        reasons: Whether an outcome other than `Allocated` contains its reasons.
        now: When the scheduler decides, with its zone; devices of allocated claims that were not
            ready for 600 s by then make a claim unusable. Without it none is too late.

    Raises:
        UnknownNodeError: The cluster has no node of this name.
        TooExpensiveError: The `TimeBudget` around the call is used up.
        StoppedError: Its answer is not needed any more.
    """
    pools = cluster.node_pools(node)
    prepared = cluster.prepared(claims)
    found = _refused(claims, cluster) or _decide(pools, prepared, cluster, budget)
    refusal: Refusal
    if not isinstance(found, Solution):
        refusal = _named(found, claims) if isinstance(found, (FatalError, NodeError)) else found
    elif len(prepared.claims) == len(claims):
        return Allocated(found, pools, share_ids)
    else:
        held = _held(claims, pools.node, cluster, now)
        if held is not None:
            return Allocated(found, pools, share_ids, held)
        refusal = DoesNotFit(found.steps, message=NOT_AVAILABLE, looks=found.looks)
    if not reasons:
        return refusal
    return replace(refusal, reasons=_explained(node, claims, cluster, refusal, now))


def _explained(
    node: str | Node,
    claims: Sequence[Claim],
    cluster: Cluster,
    outcome: Refusal,
    now: datetime | None,
) -> tuple[Reason, ...]:
    # Most calls need no reasons.
    from dragoman.allocation.reasons.explaining import explain  # noqa: PLC0415

    return explain(node, claims, cluster, outcome, now=now)


def _refused(claims: Sequence[Claim], cluster: Cluster) -> FatalError | None:
    """Return why the scheduler does not begin with the pod."""
    for claim in claims:
        if claim.allocating and claim.held is None:
            message = f"resource claim {claim.key} is in the process of being allocated"
            return FatalError(message, 0, Code.CLAIM_ALLOCATING, claim=claim.key)
    problem = cluster.usage.problem
    if problem and any(claim.held is None for claim in claims):
        return FatalError(problem, 0, Code.CAPACITY_ERROR)
    return None


def _decide(
    pools: NodePools, prepared: Prepared, cluster: Cluster, budget: int
) -> Remembered | FatalError | BudgetExceeded:
    key = cluster.search_key(pools)
    found: Remembered | None = None if key is None else prepared.remembered(key)
    if found is not None and found.steps <= budget and found.looks <= most_looks(budget):
        return found
    searched = _search(pools, prepared, cluster, budget)
    # What is remembered names no pool.
    if key is not None and (
        isinstance(searched, (Solution, DoesNotFit)) or searched.message == INVALID_POOLS
    ):
        prepared.remember(key, searched)
    return searched


def _held(
    claims: Sequence[Claim], node: Node, cluster: Cluster, now: datetime | None
) -> list[tuple[int, Held]] | None:
    """Return what the allocated claims of a pod hold, None if one cannot be used on the node."""
    found = []
    binding = cluster.profile.features.DeviceBindingAndStatus
    for index, claim in enumerate(claims):
        if claim.held is not None:
            if not usable_on(claim.held, node) or (binding and not usable(claim, now)):
                return None
            found.append((index, claim.held))
    return found


def _named(error: FatalError | NodeError, claims: Sequence[Claim]) -> FatalError | NodeError:
    """Put the names of the claims into an error."""
    pending = [claim for claim in claims if claim.held is None]
    # The scheduler leaves the namespace out here.
    short = error.message.startswith("create NodeSelector")
    names = [claim.name if short else claim.key for claim in pending]
    keys = [claim.key for claim in pending]
    message = named(error.message, names)
    if isinstance(error, NodeError):
        return replace(error, message=message)
    return replace(error, message=message, claim=named(error.claim, keys))


def fits(
    claims: Sequence[Claim],
    cluster: Cluster,
    *,
    budget: int = BUDGET,
    now: datetime | None = None,
) -> Mapping[str, Outcome]:
    """Decide for every node of the cluster; see `allocate`."""
    return {name: allocate(name, claims, cluster, budget=budget, now=now) for name in cluster.nodes}


def _search(
    found: NodePools, prepared: Prepared, cluster: Cluster, budget: int
) -> Remembered | FatalError | BudgetExceeded:
    if found.error:
        return FatalError(found.error, 0, Code.NODE_SELECTOR_INVALID)
    view = NodeView(found, cluster.usage, cluster.profile)
    meant: dict[PreparedRequest, list[int]] = {}
    apart = cluster.profile.subrequests_apart

    def count(request: PreparedRequest) -> int:
        twin = None if apart else prepared.twin(request)
        meant[request] = everything(request, view) if twin is None else meant[twin]
        return len(meant[request])

    try:
        prepared.validate(count)
    except FatalProblemError as error:
        return NodeError(str(error), 0) if error.of_node else _fatal(error)
    search = Search(prepared, view, meant, budget)
    effort = search.attempt
    try:
        if search.run():
            solution = Solution(prepared, search, view)
            check_selectors(solution, view.pools)
            return solution
    except FatalProblemError as error:
        return _fatal(error, search)
    except BudgetExceededError:
        return BudgetExceeded(search.steps, looks=effort.looks)
    if any(pool.invalid for pool in view.pools) and cluster.profile.invalid_pools_passed:
        return NodeError(INVALID_POOLS, search.steps, looks=effort.looks)
    return DoesNotFit(search.steps, looks=effort.looks)


def _fatal(error: FatalProblemError, search: Search | None = None) -> FatalError:
    return FatalError(
        str(error),
        0 if search is None else search.steps,
        error.code,
        claim=error.claim,
        request=error.request,
        device=error.device,
        looks=0 if search is None else search.attempt.looks,
    )
