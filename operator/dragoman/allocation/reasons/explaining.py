"""Find out why claims cannot be served on a node.

Each request is held against each device alone, in the order of the scheduler's checks, with what
allocated claims hold; the first check that fails is the reason. Where enough devices pass for every
request, it is their combination that fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.allocation.cluster import Cluster
from dragoman.allocation.facts.claims import Claim
from dragoman.allocation.facts.objects import Node
from dragoman.allocation.pools.nodeselector import usable_on
from dragoman.allocation.reasons.codes import Code, Reason
from dragoman.allocation.reasons.requests import RequestReasons
from dragoman.allocation.results import BudgetExceeded, FatalError, Refusal
from dragoman.allocation.search.view import NodeView


def explain(
    node: str | Node, claims: Sequence[Claim], cluster: Cluster, outcome: Refusal
) -> tuple[Reason, ...]:
    """Return what stands in the way of the claims of a pod on a node.

    Args:
        node: As for `allocate`.
        claims: As for `allocate`.
        cluster: As for `allocate`.
        outcome: What `allocate` answered.

    Raises:
        UnknownNodeError: The cluster has no node of this name.
    """
    found: list[Reason] = []
    if isinstance(outcome, FatalError):
        found.append(Reason(outcome.code, details={"message": outcome.message}))
    if isinstance(outcome, BudgetExceeded):
        found.append(Reason(Code.TIMEOUT, details={"steps": outcome.steps}))
    pools = cluster.node_pools(node)
    if pools.error:
        return tuple(found)
    view = NodeView(pools, cluster.usage, cluster.profile)
    found += _of_pools(view, cluster)
    pinned = list(_of_allocated(claims, pools.node))
    found += pinned
    names = [claim.key for claim in claims if claim.held is None]
    requests = RequestReasons(cluster.prepared(claims), view, cluster, names)
    found += requests.reasons()
    if requests.served and not pinned and not isinstance(outcome, FatalError):
        found.append(Reason(Code.NO_COMBINATION, details=requests.combination()))
    return tuple(found)


def _of_allocated(claims: Sequence[Claim], node: Node) -> Iterator[Reason]:
    for claim in claims:
        if claim.held is not None and not usable_on(claim.held, node):
            yield Reason(Code.NODE_SELECTOR_MISMATCH, claim.key, details={"node": node.name})


def _of_pools(view: NodeView, cluster: Cluster) -> Iterator[Reason]:
    for pool in view.pools:
        if pool.incomplete:
            numbers = {"have": pool.have, "want": pool.want, "generation": pool.generation}
            yield Reason(Code.POOL_INCOMPLETE, pool=pool.id, details=numbers)
        elif pool.invalid:
            yield Reason(Code.POOL_INVALID, pool=pool.id, details={"reason": pool.invalid})
    seen = {pool.id: pool.generation for pool in view.pools}
    obsolete = list(cluster.obsolete(view.node, seen))
    for item, newer in obsolete:
        details = {"generation": item.generation, "newer": newer, "slice": item.name}
        yield Reason(Code.POOL_OBSOLETE, pool=item.pool_id, details=details)
    if not view.pools and not obsolete:
        yield Reason(Code.NO_SLICE_FOR_NODE)
