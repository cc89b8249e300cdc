"""What would let a pod run: one change at a time, only what a second search confirms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from dragoman.allocation import (
    Allocated,
    Claim,
    Cluster,
    Code,
    FatalError,
    PoolID,
    Reason,
    allocate,
)
from dragoman.allocation.facts.claims import ExactRequest
from dragoman.allocation.facts.objects import Toleration
from dragoman.diagnosis.answers import Answer, Explanation, NodeAnswer
from dragoman.inventory.holders import Holding
from dragoman.inventory.inventory import Inventory

SEARCHES: Final = 256
"""Second searches for one answer."""
BUDGET: Final = 20_000
"""Steps of each."""
MOST: Final = 16
"""Changes of one kind in an answer; the nearest nodes come first."""
_HELD: Final = frozenset(
    {Code.DEVICE_IN_USE, Code.CAPACITY_EXCEEDED, Code.COUNTERS_EXCEEDED, Code.TAINT_NOT_TOLERATED}
)


class Kind(StrEnum):
    """Changes; names are part of the JSON output."""

    END_HOLDER = "EndHolder"
    ADD_TOLERATION = "AddToleration"
    COMPLETE_POOL = "CompletePool"
    GUARD_SELECTOR = "GuardSelector"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change after which the pod fits.

    Attributes:
        kind: What is changed.
        node: Where the pod fits then.
        text: In words, to follow "It fits ".
        details: What exactly; JSON types only.
    """

    kind: Kind
    node: str
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)


Change = Callable[[], AbstractContextManager[tuple[Claim, ...]]]


@dataclass(slots=True)
class _Search:
    """Second searches, as many as may be made.

    Attributes:
        cluster: Changed and restored for each search.
        claims: Of the pod.
        left: Searches that may still be made.
    """

    cluster: Cluster
    claims: tuple[Claim, ...]
    left: int = SEARCHES

    def fits(self, node: str, change: Change) -> bool:
        """Whether the pod fits on a node after a change."""
        if self.left <= 0:
            return False
        self.left -= 1
        with change() as claims:
            outcome = allocate(node, claims, self.cluster, budget=BUDGET)
            return isinstance(outcome, Allocated)


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
    search = _Search(cluster, explanation.subject.claims)
    nodes = [one for one in explanation.nodes if not one.filtered and not one.unavailable]
    nodes.sort(key=lambda one: (one.short, one.node))
    if explanation.fatals:
        return tuple(_guards(inventory, search, nodes))
    if explanation.subject.stopped:
        return ()
    found = [
        *islice(_holders(inventory, search, nodes), MOST),
        *islice(_tolerations(search, nodes), MOST),
        *islice(_pools(inventory, search, nodes), MOST),
    ]
    return tuple(found)


# A holder ends ------------------------------------------------------------------------------------


def _holders(
    inventory: Inventory, search: _Search, nodes: Iterable[NodeAnswer]
) -> Iterator[Suggestion]:
    for node in nodes:
        for users, claims in _ending(inventory, node):
            if search.fits(node.node, _without(search, claims)):
                verb = "ends" if len(users) == 1 else "end"
                listed = " and ".join(users)
                yield Suggestion(
                    Kind.END_HOLDER,
                    node.node,
                    f"when {listed} {verb} ({node.node})",
                    {"holders": list(users), "claims": list(claims)},
                )


def _ending(
    inventory: Inventory, node: NodeAnswer
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield users and the claims that come free when they end, those with fewest devices first."""
    names = {
        claim
        for request in node.requests
        for reason in request.reasons
        if reason.code in _HELD
        for claim in _holders_of(inventory, reason)
    }
    by_users: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(names):
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


def _without(search: _Search, claims: Iterable[str]) -> Change:
    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        removed = [search.cluster.claims[key] for key in claims if key in search.cluster.claims]
        for claim in removed:
            search.cluster.remove_claim(claim.key)
        try:
            yield search.claims
        finally:
            for claim in removed:
                search.cluster.put_claim(claim)

    return change


# A toleration -------------------------------------------------------------------------------------


def _tolerations(search: _Search, nodes: Iterable[NodeAnswer]) -> Iterator[Suggestion]:
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
            if reason.code is Code.TAINT_NOT_TOLERATED:
                taint = (str(reason.details["key"]), str(reason.details["effect"]))
                found.setdefault(taint, set()).add((request.claim, request.name))
    return found


def _tolerating(search: _Search, requests: set[tuple[str, str]], more: Toleration) -> Change:
    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        yield tuple(
            _asking(
                claim,
                {name for key, name in requests if key == claim.key},
                lambda ask: replace(ask, tolerations=(*ask.tolerations, more)),
            )
            for claim in search.claims
        )

    return change


def _asking(claim: Claim, names: set[str], change: Callable[[ExactRequest], ExactRequest]) -> Claim:
    """Return a claim of which some requests are changed."""
    requests = tuple(
        replace(
            request,
            exactly=change(request.exactly)
            if request.exactly is not None and request.name in names
            else request.exactly,
            first_available=tuple(
                change(ask) if f"{request.name}/{ask.name}" in names else ask
                for ask in request.first_available
            ),
        )
        for request in claim.spec.requests
    )
    return replace(claim, spec=replace(claim.spec, requests=requests))


# A pool becomes complete --------------------------------------------------------------------------


def _pools(
    inventory: Inventory, search: _Search, nodes: Iterable[NodeAnswer]
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


def _completed(inventory: Inventory, search: _Search, key: PoolID) -> Change:
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


# A selector is guarded ----------------------------------------------------------------------------

_MISSING: Final = re.compile(r"no such key: ([A-Za-z_][A-Za-z0-9_]*)")
_DEFAULTS: Final = {"bool": "false", "int": "0", "string": '""'}


@dataclass(frozen=True, slots=True)
class Guard:
    """A selector that fails on devices without an attribute.

    Attributes:
        attribute: Its name.
        have: Devices of the driver that have it.
        devices: Devices of the driver.
        without: Some devices that have it not.
        expression: The selector.
        guarded: The same for devices without the attribute too; empty where none is known.
    """

    attribute: str
    have: int
    devices: int
    without: tuple[str, ...]
    expression: str
    guarded: str


def guard(inventory: Inventory, reason: Reason) -> Guard | None:
    """Return how to guard the selector of a CEL error; None where the error is another one."""
    match = _MISSING.search(str(reason.details.get("message") or ""))
    expression = str(reason.details.get("expression") or "")
    if match is None or reason.device is None or not expression:
        return None
    name, driver = match[1], reason.device.driver
    have, without, kinds = 0, [], []
    devices = [one for one in inventory.devices.values() if one.id.driver == driver]
    for device in devices:
        attributes = device.content.attributes if device.content else {}
        found = attributes.get(name) or attributes.get(f"{driver}/{name}")
        have += found is not None
        kinds += list(found or ())
        if found is None:
            without.append(str(device.id))
    default = _DEFAULTS.get(kinds[0] if kinds else "", "")
    access = re.compile(rf"(?<=[\])])\.{name}\b(?!\s*\()")
    guarded = access.sub(f".?{name}.orValue({default})", expression) if default else ""
    changed = guarded if guarded != expression else ""
    return Guard(name, have, len(devices), tuple(without[:10]), expression, changed)


def _guards(
    inventory: Inventory, search: _Search, nodes: Iterable[NodeAnswer]
) -> Iterator[Suggestion]:
    tried: set[tuple[str, str]] = set()
    nodes = list(nodes)
    for node in nodes:
        for request in node.requests:
            for reason in request.reasons:
                found = guard(inventory, reason) if reason.code is Code.CEL_ERROR else None
                if found is None or not found.guarded or (node.node, found.guarded) in tried:
                    continue
                tried.add((node.node, found.guarded))
                if _all_pass(search, nodes, node.node, found):
                    yield Suggestion(
                        Kind.GUARD_SELECTOR,
                        node.node,
                        f"with the selector {found.guarded} ({node.node})",
                        {
                            "origin": reason.details.get("origin"),
                            "index": reason.details.get("index"),
                            "expression": found.expression,
                            "guarded": found.guarded,
                        },
                    )


def _all_pass(search: _Search, nodes: Iterable[NodeAnswer], node: str, found: Guard) -> bool:
    """Whether a node serves the pod with the guarded selector, and none stops it."""
    if not search.fits(node, _guarded(search, found)):
        return False
    with _guarded(search, found)() as claims:
        return not any(
            isinstance(allocate(one.node, claims, search.cluster, budget=BUDGET), FatalError)
            for one in nodes
        )


def _guarded(search: _Search, found: Guard) -> Change:
    def swapped(texts: tuple[str | None, ...]) -> tuple[str | None, ...]:
        return tuple(found.guarded if text == found.expression else text for text in texts)

    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        before = [
            one for one in search.cluster.classes.values() if found.expression in one.selectors
        ]
        for one in before:
            search.cluster.put_class(replace(one, selectors=swapped(one.selectors)))
        try:
            yield tuple(
                _asking(
                    claim,
                    set(_names(claim)),
                    lambda ask: replace(ask, selectors=swapped(ask.selectors)),
                )
                for claim in search.claims
            )
        finally:
            for one in before:
                search.cluster.put_class(one)

    return change


def _names(claim: Claim) -> Iterator[str]:
    for request in claim.spec.requests:
        yield request.name
        for ask in request.first_available:
            yield f"{request.name}/{ask.name}"
