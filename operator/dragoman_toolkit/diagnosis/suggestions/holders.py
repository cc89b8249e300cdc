"""Holders that end: which users, with which claims, and where a pod fits then."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from dragoman.allocation import Code, Reason
from dragoman.diagnosis.answers import NodeAnswer
from dragoman.inventory.holders import Holding
from dragoman.inventory.inventory import Inventory
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    ChangeKind,
    SecondSearches,
    Suggestion,
    without,
)

_HELD = frozenset(
    {Code.DEVICE_IN_USE, Code.CAPACITY_EXCEEDED, Code.COUNTERS_EXCEEDED, Code.TAINT_NOT_TOLERATED}
)


def holders(
    inventory: Inventory, search: SecondSearches, nodes: Iterable[NodeAnswer], own: Collection[str]
) -> Iterator[Suggestion]:
    """Yield users after whose end the pod fits, of the nearest nodes first.

    Args:
        inventory: What is known.
        search: Limits the number of searches.
        nodes: Where the pod may run.
        own: Claims of the pod, by `namespace/name`.
    """
    parts = held_parts(inventory)
    for node in nodes:
        shared = parts.get(node.node, set()) | parts.get("", set())
        for users, claims in ending(inventory, node, shared, own):
            if search.fits(node.node, without(search, claims)):
                verb = "ends" if len(users) == 1 else "end"
                listed = " and ".join(users)
                yield Suggestion(
                    ChangeKind.END_HOLDER,
                    node.node,
                    f"when {listed} {verb} ({node.node})",
                    {"holders": list(users), "claims": list(claims)},
                )


def held_parts(inventory: Inventory) -> Mapping[str, set[str]]:
    """Return claims that hold a part of what others may share, by node, "" for several nodes.

    No reason names them where the rest of a shared device, or of a counter, suffices for each
    request alone and not for all requests together.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for device in inventory.devices.values():
        if device.content is not None and (device.content.shareable or device.content.consumes):
            found[device.node].update(holding.claim.key for holding in device.owned)
    return found


def ending(
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
        users: sum(len(inventory.world.claims[name].devices) for name in claims)
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
    holding = Holding(inventory.world.claims[claim], inventory.world.claims[claim].devices[0])
    namespace = holding.claim.metadata.namespace
    users = tuple(sorted(f"{namespace}/{consumer.name}" for consumer in holding.claim.consumers))
    return users or (f"claim {claim}",)
