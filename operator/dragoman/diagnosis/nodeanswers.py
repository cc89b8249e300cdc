"""What one node lacks for a pod."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from dragoman.allocation import (
    Allocated,
    Claim,
    Cluster,
    Code,
    FatalError,
    NodeSelectorError,
    Reason,
    allocate,
)
from dragoman.allocation import explain as reasons_of
from dragoman.allocation.pools.nodeselector import matches
from dragoman.diagnosis.filters import Lack
from dragoman.diagnosis.nearness import NOT_HERE, NodeAnswer, RequestAnswer
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import NodeFact
from dragoman.model.device import Content
from dragoman.model.requests import ExactRequest

BUDGET = 100_000
"""Steps of one search: about half a second. The scheduler itself manages 9,000,000 in its 10 s."""
_UNSELECTED = frozenset({Code.SELECTOR_REJECTED, Code.NODE_MISMATCH})
"""Reasons why a request for all devices does not mean a device."""


def node_answer(  # noqa: PLR0913 — the last four have defaults
    cluster: Cluster,
    subject: Subject,
    node: NodeFact,
    *,
    lacks: tuple[Lack, ...] = (),
    unready: tuple[Reason, ...] = (),
    budget: int = BUDGET,
    now: datetime | None = None,
) -> NodeAnswer:
    """Look at one node.

    Args:
        cluster: What is there.
        subject: The pod and its claims.
        node: The node.
        lacks: What `filters.lacks` says.
        unready: Why devices of allocated claims are not ready, which is the same on all nodes.
        budget: Steps of the search.
        now: When; without it no device was to be ready by now.
    """
    name = node.node.name
    claims = (*subject.claims, *subject.allocated)
    outcome = allocate(name, claims, cluster, budget=budget, now=now)
    answer = NodeAnswer(name, lacks, outcome, tuple(_pinned(subject.allocated, node)))
    silent = answer.excluded or isinstance(outcome, Allocated) or outcome.message == NOT_HERE
    if silent or (lacks and isinstance(outcome, FatalError)):
        return replace(answer, others=unready)
    reasons = reasons_of(name, subject.claims, cluster, outcome)
    contents = [one for pool in cluster.node_pools(name).pools for one in pool.contents]
    return replace(
        answer,
        requests=tuple(_requests(subject.claims, reasons, contents)),
        others=(*unready, *(one for one in reasons if one.device is None)),
    )


def _requests(
    claims: Iterable[Claim], reasons: Iterable[Reason], contents: Sequence[Content]
) -> Iterator[RequestAnswer]:
    total, shared = len(contents), any(one.shareable for one in contents)
    found: dict[tuple[str, str], list[Reason]] = {}
    for reason in reasons:
        if reason.device is not None:
            found.setdefault((reason.claim, reason.request), []).append(reason)
    for claim in claims:
        for name, request, alternative in exact_requests(claim):
            kept_away = tuple(found.get((claim.key, name), ()))
            wanted = request.count
            if request.mode == "All":
                unselected = sum(one.code in _UNSELECTED for one in kept_away)
                wanted = max(total - unselected, 1)
            free = total - len(kept_away)
            exclusive = not (shared or request.admin_access)
            yield RequestAnswer(
                claim.key, name, wanted, free, kept_away, alternative, exclusive=exclusive
            )


def exact_requests(claim: Claim) -> Iterator[tuple[str, ExactRequest, bool]]:
    """Yield the full names and requests of a claim, and whether each is an alternative."""
    for request in claim.spec.requests:
        if request.exactly is not None:
            yield request.name, request.exactly, False
        for alternative in request.first_available:
            yield f"{request.name}/{alternative.name}", alternative, True


def _pinned(claims: Iterable[Claim], node: NodeFact) -> Iterable[str]:
    """Yield allocated claims that cannot be used on a node."""
    for claim in claims:
        selector = claim.held.node_selector if claim.held else None
        if selector is None:
            continue
        try:
            usable = matches(selector, node.node)
        except NodeSelectorError:
            usable = False
        if not usable:
            yield claim.name
