"""What would let a pod run: one change, else several; only what a second search confirms."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from dragoman.allocation import Claim, Cluster, Code, PoolID, TooExpensiveError
from dragoman.allocation.extendedresources import NAME as EXTENDED
from dragoman.diagnosis.answers import Answer, Explanation, NodeAnswer
from dragoman.diagnosis.idleclaims import removed
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.model.deviceid import DeviceID
from dragoman.model.taints import Toleration
from dragoman_toolkit.diagnosis.suggestions.corrections import corrected_names
from dragoman_toolkit.diagnosis.suggestions.guards import guarding
from dragoman_toolkit.diagnosis.suggestions.holders import ending, held_parts, holders
from dragoman_toolkit.diagnosis.suggestions.nodespace import making_room
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    FEW,
    SEARCHES,
    Change,
    ChangeKind,
    SecondSearches,
    Suggestion,
    toleration_text,
    with_requests,
    without,
)
from dragoman_toolkit.diagnosis.suggestions.together import ChangeStep, together

MOST = 16
"""Changes of one kind in an answer; the nearest nodes come first."""
SEVERAL = 3
"""Suggestions of several changes."""


def suggest(
    inventory: Inventory, explanation: Explanation, cluster: Cluster
) -> tuple[Suggestion, ...]:
    """Return changes that let the pod run, the nearest nodes first; single ones where there are.

    Args:
        inventory: What is known.
        explanation: Of the pod.
        cluster: That of the explanation; it is as before afterwards.
    """
    if not (explanation.waits or explanation.answer is Answer.STOPPED):
        return ()
    corrections = corrected_names(explanation, cluster)
    if explanation.answer is Answer.NEVER_FITS:
        return corrections
    nodes = [one for one in explanation.nodes if not one.filtered and not one.unavailable]
    nodes.sort(key=lambda one: (one.short, one.node))
    with removed(cluster, explanation.subject.claims):
        return (*corrections, *_suggestions(inventory, explanation, cluster, nodes))


def _suggestions(
    inventory: Inventory, explanation: Explanation, cluster: Cluster, nodes: list[NodeAnswer]
) -> tuple[Suggestion, ...]:
    claims = explanation.subject.claims
    if explanation.fatals:
        return tuple(_in_time(guarding(inventory, SecondSearches(cluster, claims), nodes)))
    if explanation.subject.stopped:
        return ()
    # Holders are many: searches for other changes come first, or nothing would be left for them.
    search = SecondSearches(cluster, claims, left=FEW)
    tolerations = _in_time(_tolerations(search, nodes))
    search.left += FEW
    pools = _in_time(_pools(inventory, search, nodes))
    search.left += FEW
    room = _in_time(making_room(inventory, explanation, search))
    search.left += SEARCHES - 3 * FEW
    own = {one.key for one in explanation.subject.allocated}
    ends = _in_time(holders(inventory, search, nodes, own))
    if found := (*room, *ends, *tolerations, *pools):
        return found
    search.left += SEARCHES
    return tuple(_in_time(islice(_several(inventory, search, nodes, own), SEVERAL)))


def _in_time(found: Iterable[Suggestion]) -> list[Suggestion]:
    """Return the first suggestions, those that are found before the time for the answer ends."""
    kept: list[Suggestion] = []
    with suppress(TooExpensiveError):
        for one in islice(found, MOST):
            kept.append(one)  # noqa: PERF402 — what was found in time is kept
    return kept


# Several changes ----------------------------------------------------------------------------------


def _several(
    inventory: Inventory, search: SecondSearches, nodes: Iterable[NodeAnswer], own: Collection[str]
) -> Iterator[Suggestion]:
    parts = held_parts(inventory)
    for node in nodes:
        shared = parts.get(node.node, set()) | parts.get("", set())
        steps = [*_steps(inventory, search, node), *_ends(inventory, search, node, shared, own)]
        if len(steps) > 1 and (found := together(search, node.node, steps)):
            yield found


def _ends(
    inventory: Inventory,
    search: SecondSearches,
    node: NodeAnswer,
    shared: Collection[str],
    own: Collection[str],
) -> Iterator[ChangeStep]:
    for users, claims in ending(inventory, node, shared, own):
        held = (one.id for name in claims for one in inventory.world.claims[name].devices)
        yield ChangeStep(
            without(search, claims),
            end=users,
            frees=sum(_is_local(inventory, one, node.node) for one in held),
            details={
                "kind": str(ChangeKind.END_HOLDER),
                "holders": list(users),
                "claims": list(claims),
            },
        )


def _is_local(inventory: Inventory, key: DeviceID, node: str) -> bool:
    device = inventory.devices.get(key)
    return device is not None and device.node in {node, ""}


def _steps(inventory: Inventory, search: SecondSearches, node: NodeAnswer) -> Iterator[ChangeStep]:
    """Yield the changes of a node that end no holder."""
    for (key, effect), requests in _taints(node).items():
        toleration = Toleration(key=key, operator="Exists", effect=effect)
        yield ChangeStep(
            _tolerating(search, requests, toleration),
            text=toleration_text(key, [effect]),
            details={"kind": str(ChangeKind.ADD_TOLERATION), **_toleration(key, effect, requests)},
        )
    for reason in node.others:
        if reason.code is Code.POOL_INCOMPLETE and reason.pool is not None:
            yield ChangeStep(
                _completed(inventory, search, reason.pool),
                text=f"when pool {reason.pool} is complete",
                details={
                    "kind": str(ChangeKind.COMPLETE_POOL),
                    "driver": reason.pool.driver,
                    "pool": reason.pool.pool,
                },
            )


# A toleration -------------------------------------------------------------------------------------


def _tolerations(search: SecondSearches, nodes: Iterable[NodeAnswer]) -> Iterator[Suggestion]:
    for node in nodes:
        for (key, effect), requests in _taints(node).items():
            toleration = Toleration(key=key, operator="Exists", effect=effect)
            if search.fits(node.node, _tolerating(search, requests, toleration)):
                yield Suggestion(
                    ChangeKind.ADD_TOLERATION,
                    node.node,
                    f"{toleration_text(key, [effect])} ({node.node}: degraded devices)",
                    _toleration(key, effect, requests),
                )


def _toleration(key: str, effect: str, requests: set[tuple[str, str]]) -> dict[str, Any]:
    listed = [f"{claim}:{request}" for claim, request in sorted(requests)]
    return {"key": key, "effect": effect, "requests": listed}


def _taints(node: NodeAnswer) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Return the requests that each taint keeps devices from, by key and effect."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for request in node.requests:
        for reason in request.reasons:
            # The claim for extended resources has no tolerations.
            extended = request.claim.endswith(f"/{EXTENDED}")
            # Nor may another claim tolerate a reservation.
            reserved = reason.details.get("key") == PREEMPTION
            if reason.code is Code.TAINT_NOT_TOLERATED and not extended and not reserved:
                taint = (str(reason.details["key"]), str(reason.details["effect"]))
                found.setdefault(taint, set()).add((request.claim, request.name))
    return found


def _tolerating(search: SecondSearches, requests: set[tuple[str, str]], more: Toleration) -> Change:
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
    inventory: Inventory, search: SecondSearches, nodes: Iterable[NodeAnswer]
) -> Iterator[Suggestion]:
    for node in nodes:
        for reason in node.others:
            if reason.code is not Code.POOL_INCOMPLETE or reason.pool is None:
                continue
            if search.fits(node.node, _completed(inventory, search, reason.pool)):
                yield Suggestion(
                    ChangeKind.COMPLETE_POOL,
                    node.node,
                    f"when pool {reason.pool} is complete ({node.node})",
                    {"driver": reason.pool.driver, "pool": reason.pool.pool},
                )


def _completed(inventory: Inventory, search: SecondSearches, key: PoolID) -> Change:
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
