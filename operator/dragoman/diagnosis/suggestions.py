"""What would let a pod run: one change at a time, only what a second search confirms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import Final

from dragoman.allocation import Claim, Cluster, Code, PoolID, Reason, TooExpensiveError
from dragoman.allocation.extendedresources import NAME as EXTENDED
from dragoman.allocation.facts.objects import Toleration
from dragoman.diagnosis.answers import Answer, Explanation, NodeAnswer
from dragoman.diagnosis.guards import guarding
from dragoman.diagnosis.idleclaims import removed
from dragoman.diagnosis.nodespace import making_room
from dragoman.diagnosis.secondsearch import (
    SEARCHES,
    Change,
    Kind,
    Search,
    Suggestion,
    with_requests,
    without,
)
from dragoman.inventory.holders import Holding
from dragoman.inventory.inventory import Inventory

MOST: Final = 16
"""Changes of one kind in an answer; the nearest nodes come first."""
FEW: Final = 64
"""Second searches for tolerations, and as many for pools."""
_HELD: Final = frozenset(
    {Code.DEVICE_IN_USE, Code.CAPACITY_EXCEEDED, Code.COUNTERS_EXCEEDED, Code.TAINT_NOT_TOLERATED}
)


def suggest(
    inventory: Inventory, explanation: Explanation, cluster: Cluster
) -> tuple[Suggestion, ...]:
    """Return single changes that let the pod run, the nearest nodes first.

    Args:
        inventory: What is known.
        explanation: Of the pod.
        cluster: That of the explanation; it is as before afterwards.
    """
    if explanation.answer not in (Answer.DOES_NOT_FIT, Answer.STOPPED):
        return ()
    nodes = [one for one in explanation.nodes if not one.filtered and not one.unavailable]
    nodes.sort(key=lambda one: (one.short, one.node))
    with removed(cluster, explanation.subject.claims):
        return _suggestions(inventory, explanation, cluster, nodes)


def _suggestions(
    inventory: Inventory, explanation: Explanation, cluster: Cluster, nodes: list[NodeAnswer]
) -> tuple[Suggestion, ...]:
    claims = explanation.subject.claims
    if explanation.fatals:
        return tuple(_in_time(guarding(inventory, Search(cluster, claims), nodes)))
    if explanation.subject.stopped:
        return ()
    # Holders are many: searches for other changes come first, or nothing would be left for them.
    search = Search(cluster, claims, left=FEW)
    tolerations = _in_time(_tolerations(search, nodes))
    search.left += FEW
    pools = _in_time(_pools(inventory, search, nodes))
    search.left += FEW
    room = _in_time(making_room(inventory, explanation, search))
    search.left += SEARCHES - 3 * FEW
    own = {one.key for one in explanation.subject.allocated}
    holders = _in_time(_holders(inventory, search, nodes, own))
    return (*room, *holders, *tolerations, *pools)


def _in_time(found: Iterable[Suggestion]) -> list[Suggestion]:
    """Return the first suggestions, those that are found before the time for the answer ends."""
    kept: list[Suggestion] = []
    with suppress(TooExpensiveError):
        for one in islice(found, MOST):
            kept.append(one)  # noqa: PERF402 — what was found in time is kept
    return kept


# A holder ends ------------------------------------------------------------------------------------


def _holders(
    inventory: Inventory, search: Search, nodes: Iterable[NodeAnswer], own: Collection[str]
) -> Iterator[Suggestion]:
    sharing = _sharing(inventory)
    for node in nodes:
        shared = sharing.get(node.node, set()) | sharing.get("", set())
        for users, claims in _ending(inventory, node, shared, own):
            if search.fits(node.node, without(search, claims)):
                verb = "ends" if len(users) == 1 else "end"
                listed = " and ".join(users)
                yield Suggestion(
                    Kind.END_HOLDER,
                    node.node,
                    f"when {listed} {verb} ({node.node})",
                    {"holders": list(users), "claims": list(claims)},
                )


def _sharing(inventory: Inventory) -> Mapping[str, set[str]]:
    """Return claims that hold a part of what others may share, by node, "" for several nodes.

    No reason names them where the rest of a shared device, or of a counter, suffices for each
    request alone and not for all requests together.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for device in inventory.devices.values():
        if device.content is not None and (device.content.shareable or device.content.consumes):
            found[device.node].update(holding.claim.key for holding in device.owned)
    return found


def _ending(
    inventory: Inventory, node: NodeAnswer, shared: Collection[str], own: Collection[str]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield users and the claims that come free when they end, those with fewest devices first."""
    names = set(shared) | {
        claim
        for request in node.requests
        for reason in request.reasons
        if reason.code in _HELD
        for claim in _holders_of(inventory, reason)
    }
    by_users: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(names.difference(own)):
        claim = inventory.world.claims.get(name)
        if claim is not None:
            by_users.setdefault(_users(inventory, name), []).append(name)
    weights = {
        users: sum(len(inventory.world.claims[name].results) for name in claims)
        for users, claims in by_users.items()
    }
    for users in sorted(by_users, key=lambda users: (len(users), weights[users], users)):
        yield users, tuple(by_users[users])


def _holders_of(inventory: Inventory, reason: Reason) -> Iterator[str]:
    """Yield the claims that stand behind a reason."""
    yield from reason.details.get("holders") or ()
    device = inventory.devices.get(reason.device) if reason.device else None
    for holding in device.owned if device else ():
        yield holding.claim.key


def _users(inventory: Inventory, claim: str) -> tuple[str, ...]:
    holding = Holding(inventory.world.claims[claim], inventory.world.claims[claim].results[0])
    namespace = holding.claim.claim.metadata.namespace
    users = tuple(
        sorted(f"{namespace}/{consumer.name}" for consumer in holding.claim.claim.consumers)
    )
    return users or (f"claim {claim}",)


# A toleration -------------------------------------------------------------------------------------


def _tolerations(search: Search, nodes: Iterable[NodeAnswer]) -> Iterator[Suggestion]:
    for node in nodes:
        for (key, effect), requests in _taints(node).items():
            toleration = Toleration(key=key, operator="Exists", effect=effect)
            if search.fits(node.node, _tolerating(search, requests, toleration)):
                yield Suggestion(
                    Kind.ADD_TOLERATION,
                    node.node,
                    f"with a toleration for {key} ({node.node}: degraded devices)",
                    {
                        "key": key,
                        "effect": effect,
                        "requests": [f"{claim}:{request}" for claim, request in sorted(requests)],
                    },
                )


def _taints(node: NodeAnswer) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Return the requests that each taint keeps devices from, by key and effect."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for request in node.requests:
        for reason in request.reasons:
            # The claim for extended resources has no tolerations.
            extended = request.claim.endswith(f"/{EXTENDED}")
            if reason.code is Code.TAINT_NOT_TOLERATED and not extended:
                taint = (str(reason.details["key"]), str(reason.details["effect"]))
                found.setdefault(taint, set()).add((request.claim, request.name))
    return found


def _tolerating(search: Search, requests: set[tuple[str, str]], more: Toleration) -> Change:
    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        yield tuple(
            with_requests(
                claim,
                {name for key, name in requests if key == claim.key},
                lambda request: replace(request, tolerations=(*request.tolerations, more)),
            )
            for claim in search.claims
        )

    return change


# A pool becomes complete --------------------------------------------------------------------------


def _pools(
    inventory: Inventory, search: Search, nodes: Iterable[NodeAnswer]
) -> Iterator[Suggestion]:
    for node in nodes:
        for reason in node.others:
            if reason.code is not Code.POOL_INCOMPLETE or reason.pool is None:
                continue
            if search.fits(node.node, _completed(inventory, search, reason.pool)):
                yield Suggestion(
                    Kind.COMPLETE_POOL,
                    node.node,
                    f"when pool {reason.pool} is complete ({node.node})",
                    {"driver": reason.pool.driver, "pool": reason.pool.pool},
                )


def _completed(inventory: Inventory, search: Search, key: PoolID) -> Change:
    """Take the slices that are there for the whole pool: the missing ones can only add devices."""
    pool = inventory.pools.get(key)
    names = [one.name for one in pool.slices] if pool else []

    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        before = [search.cluster.slices[name] for name in names]
        for one in before:
            search.cluster.put_slice(replace(one, slice_count=len(before)))
        try:
            yield search.claims
        finally:
            for one in before:
                search.cluster.put_slice(one)

    return change
