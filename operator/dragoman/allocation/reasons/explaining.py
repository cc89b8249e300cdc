"""Find out why claims cannot be served on a node.

Each request is held against each device alone, in the order of the scheduler's checks, with what
allocated claims hold; the first check that fails is the reason. Where enough devices pass for every
request, it is their combination that fails.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from dragoman.allocation.binding import waiting
from dragoman.allocation.cluster import Cluster
from dragoman.allocation.codes import Code, Reason
from dragoman.allocation.pools.nodeselector import usable_on
from dragoman.allocation.reasons.combination import combination
from dragoman.allocation.reasons.drivers import may_serve
from dragoman.allocation.reasons.requests import RequestReasons
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.allocation.requests.validation import Prepared
from dragoman.allocation.results import BudgetExceeded, FatalError, Refusal
from dragoman.allocation.search.allocated import Allocated
from dragoman.allocation.search.view import NodeView
from dragoman.model.claim import Claim
from dragoman.model.deviceid import PoolID
from dragoman.model.nodes import Node


def explain(
    node: str | Node,
    claims: Sequence[Claim],
    cluster: Cluster,
    outcome: Refusal | Allocated,
    *,
    now: datetime | None = None,
) -> tuple[Reason, ...]:
    """Return what stands in the way of the claims of a pod on a node.

    Where nothing does, that are the devices whose binding conditions the pod still waits for.

    Args:
        node: As for `allocate`.
        claims: As for `allocate`.
        cluster: As for `allocate`.
        outcome: What `allocate` answered.
        now: As for `allocate`.

    Raises:
        UnknownNodeError: The cluster has no node of this name.
    """
    pools = cluster.node_pools(node)
    found = list(_of_allocated(claims, pools.node, cluster, now))
    if isinstance(outcome, Allocated):
        return tuple(found)
    view = NodeView(pools, cluster.usage, cluster.profile)
    names = [claim.key for claim in claims if claim.held is None]
    prepared = cluster.prepared(claims)
    requests = RequestReasons(prepared, view, cluster, names)
    if isinstance(outcome, FatalError):
        return (
            *_of_error(outcome, requests),
            *found,
            *(() if pools.error else _of_pools(view, cluster, prepared)),
            *_before(outcome, requests),
        )
    if isinstance(outcome, BudgetExceeded):
        effort = {"steps": outcome.steps, "looks": outcome.looks}
        found.insert(0, Reason(Code.TIMEOUT, details=effort))
    stopped = bool(found)
    found += _of_pools(view, cluster, prepared)
    found += requests.reasons()
    if requests.served and not stopped:
        found += combination(prepared, view, requests.usable, names)
    return tuple(found)


def _of_error(outcome: FatalError, requests: RequestReasons) -> Iterator[Reason]:
    """Yield the error, with what the selector at fault read."""
    details = {"message": outcome.message}
    if outcome.device is not None:
        obstacle = requests.fatal(outcome.claim, outcome.request, outcome.device)
        if obstacle is not None and obstacle.code is outcome.code:
            details = {**obstacle.details, **details}
    yield Reason(outcome.code, outcome.claim, outcome.request, outcome.device, details=details)


def _before(outcome: FatalError, requests: RequestReasons) -> Iterator[Reason]:
    """Yield the reasons of devices that the search looked at before the error."""
    if outcome.device is not None:
        yield from requests.up_to(outcome.claim, outcome.request, outcome.device)


def _of_allocated(
    claims: Sequence[Claim], node: Node, cluster: Cluster, now: datetime | None
) -> Iterator[Reason]:
    for claim in claims:
        if claim.held is None:
            continue
        if not usable_on(claim.held, node):
            yield Reason(Code.NODE_SELECTOR_MISMATCH, claim.key, details={"node": node.name})
        elif cluster.profile.features.DeviceBindingAndStatus:
            yield from waiting(claim, now)


def _of_pools(view: NodeView, cluster: Cluster, prepared: Prepared) -> Iterator[Reason]:
    """Yield what is wrong with pools whose devices may serve a request."""
    for pool in view.pools:
        if pool.usable or not concerned(prepared, pool.id, cluster, view.node.name):
            continue
        if pool.incomplete and cluster.profile.incomplete_pools_unused:
            numbers = {"have": pool.have, "want": pool.want, "generation": pool.generation}
            yield Reason(Code.POOL_INCOMPLETE, pool=pool.id, details=numbers)
        elif pool.invalid:
            yield Reason(Code.POOL_INVALID, pool=pool.id, details={"reason": pool.invalid})
    seen = {pool.id: pool.generation for pool in view.pools}
    obsolete = list(cluster.obsolete(view.node, seen))
    for item, newer in obsolete:
        if not concerned(prepared, item.pool_id, cluster, view.node.name):
            continue
        details = {"generation": item.generation, "newer": newer, "slice": item.name}
        yield Reason(Code.POOL_OBSOLETE, pool=item.pool_id, details=details)
    if not view.pools and not obsolete:
        yield Reason(Code.NO_SLICE_FOR_NODE)


def concerned(prepared: Prepared, pool: PoolID, cluster: Cluster, node: str) -> bool:
    """Tell whether a pool may have devices for some request, also in slices that are missing."""
    return any(concerns(one, pool, cluster, node) for one in prepared.everything())


def concerns(request: PreparedRequest, pool: PoolID, cluster: Cluster, node: str) -> bool:
    """Tell whether a pool may have devices for a request, also in slices that are missing.

    A pool of which each slice names another node has none for this one, although the node sees
    the slices that hold its counters.
    """
    slices = list(cluster.slices_of(pool))
    if slices and all(item.node_name not in (None, "", node) for item in slices):
        return False
    contents = {one.content for item in slices for one in item.devices}
    return may_serve(request, pool.driver, contents)
