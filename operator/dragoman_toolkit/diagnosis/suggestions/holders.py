"""Holders that end: which users, with which claims, and what is to be done about those that do not.

A user that ends leaves the claims that no other pod has reserved, and its room on the node.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from dragoman.allocation import Code, Reason
from dragoman.diagnosis.nearness import NodeAnswer
from dragoman.inventory.ages import age
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import Inventory
from dragoman.model.departure import recorded
from dragoman.model.deviceid import DeviceID
from dragoman_toolkit.diagnosis.departures import fencing, silent_since
from dragoman_toolkit.diagnosis.suggestions.nodespace import pods_in_the_way
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    ChangeKind,
    SecondSearches,
    without,
)
from dragoman_toolkit.diagnosis.suggestions.together import ChangeStep

_HELD = frozenset(
    {Code.DEVICE_IN_USE, Code.CAPACITY_EXCEEDED, Code.COUNTERS_EXCEEDED, Code.TAINT_NOT_TOLERATED}
)
Users = tuple[str, ...]
"""Pods by `namespace/name`, or one claim that no pod has reserved."""


class Holders:
    """The users whose end may help a pod, node by node.

    Args:
        inventory: What is known.
        search: Makes the changes.
        own: Claims of the pod, by `namespace/name`.
    """

    def __init__(self, inventory: Inventory, search: SecondSearches, own: Collection[str]) -> None:
        self._inventory = inventory
        self._search = search
        self._own = own

    @cached_property
    def _parts(self) -> Mapping[str, set[str]]:
        """Claims that hold a part of what others may share, by node, "" for several nodes.

        No reason names them where the rest of a shared device, or of a counter, suffices for each
        request alone and not for all requests together.
        """
        found: defaultdict[str, set[str]] = defaultdict(set)
        for device in self._inventory.devices.values():
            if device.content is not None and (device.content.shareable or device.content.consumes):
                found[device.node].update(holding.claim.key for holding in device.owned)
        return found

    @cached_property
    def _claims(self) -> Mapping[Users, list[str]]:
        """The claims that hold devices, by their users."""
        found: dict[Users, list[str]] = {}
        for name, claim in self._inventory.world.claims.items():
            if claim.held is not None and name not in self._own:
                found.setdefault(_users(self._inventory, name), []).append(name)
        return found

    def ends(self, node: NodeAnswer) -> Iterator[ChangeStep]:
        """Yield the ends of users that have what a node lacks, the smallest first."""
        names = self._parts.get(node.node, set()) | self._parts.get("", set())
        names = names | {
            claim
            for request in node.requests
            for reason in request.reasons
            if reason.code in _HELD
            for claim in _holders_of(self._inventory, reason)
        }
        claims = self._inventory.world.claims
        users = {_users(self._inventory, name) for name in names - {*self._own} if name in claims}
        filters = self._search.filters
        inside = [] if filters is None else pods_in_the_way(filters, node)
        for found in dict.fromkeys(
            (*sorted(users, key=self._order), *((pod.key,) for pod in inside))
        ):
            yield self._step(found, node.node)

    def _order(self, users: Users) -> tuple[int, int, Users]:
        claims = self._inventory.world.claims
        many = sum(len(claims[name].devices) for name in self._claims.get(users, ()))
        return len(users), many, users

    def _step(self, users: Users, node: str) -> ChangeStep:
        world = self._inventory.world
        claims = self._claims.get(users, [])
        pods = [world.pods[one] for one in users if one in world.pods]
        held = (one.id for name in claims for one in world.claims[name].devices)
        return ChangeStep(
            ChangeKind.END_HOLDER,
            without(self._search, claims, pods),
            _text(self._inventory, users, claims, pods),
            {"holders": list(users), "claims": list(claims)},
            end=users if all(_runs(one) for one in pods) else (),
            frees=sum(_is_local(self._inventory, one, node) for one in held),
        )


def _runs(pod: PodFact) -> bool:
    return not (pod.pod.done or pod.pod.metadata.deleting)


def _is_local(inventory: Inventory, key: DeviceID, node: str) -> bool:
    device = inventory.devices.get(key)
    return device is not None and device.node in {node, ""}


def _holders_of(inventory: Inventory, reason: Reason) -> Iterator[str]:
    """Yield the claims that stand behind a reason."""
    yield from reason.details.get("holders") or ()
    device = inventory.devices.get(reason.device) if reason.device else None
    for holding in device.owned if device else ():
        yield holding.claim.key


def _users(inventory: Inventory, claim: str) -> Users:
    found = inventory.world.claims[claim]
    users = tuple(sorted(f"{found.namespace}/{consumer.name}" for consumer in found.consumers))
    return users or (f"claim {claim}",)


def _text(
    inventory: Inventory, users: Users, claims: Sequence[str], pods: Iterable[PodFact]
) -> str:
    """Say what has to happen: ends of pods that run, and what the others need."""
    verb = "ends" if len(users) == 1 else "end"
    texts = [f"when {' and '.join(users)} {verb}"]
    there = {pod.key: pod for pod in pods}
    if gone := _gone(inventory, users, claims, there):
        return _to_release(inventory, claims, f"{gone} has ended or is gone")
    for pod in there.values():
        if pod.pod.done:
            why = f"{pod.key} has ended ({pod.pod.phase or 'deleted'})"
            return _to_release(inventory, claims, why)
        if pod.pod.metadata.deleting:
            texts.append(departing(inventory, pod))
    return "; ".join(texts)


def _gone(inventory: Inventory, users: Users, claims: Iterable[str], there: Collection[str]) -> str:
    """Return the only user, where it is no pod any more; empty where that is not known."""
    world = inventory.world
    unread = "pods" not in world.listed or any(one.plural == "pods" for one in world.unseen)
    held = [world.claims[one] for one in claims]
    consumers = [one for claim in held for one in claim.consumers]
    # Safe release keeps a claim until a node has ended the containers of a pod that left.
    waits = any(one.uid in recorded(claim.left_consumers) for claim in held for one in consumers)
    known = unread or there or waits or len(users) > 1 or not all(one.is_pod for one in consumers)
    return "" if known or not consumers else users[0]


def _to_release(inventory: Inventory, claims: Sequence[str], why: str) -> str:
    """Say that claims are to be released, unless a pod with a node needs them."""
    for one in inventory.world.pods.values():
        named = {f"{one.pod.metadata.namespace}/{name}" for name in one.pod.claim_names()}
        if one.pod.node_name and not one.pod.done and (needed := named.intersection(claims)):
            return f"when {one.key} ends: {why}, and {one.key} needs claim {min(needed)}"
    many = ("claims", "are", "them") if len(claims) > 1 else ("claim", "is", "it")
    release = "; ".join(f"kubectl dra release {one}" for one in claims)
    return (
        f"when {many[0]} {' and '.join(claims)} {many[1]} released: {why}, and the claim "
        f"controller has not released {many[2]}: {release}"
    )


def departing(inventory: Inventory, pod: PodFact) -> str:
    """Say how long a pod has been being deleted, and what ends it where its node is silent."""
    world = inventory.world
    metadata = pod.document.get("metadata")
    when = str(metadata.get("deletionTimestamp") or "") if isinstance(metadata, Mapping) else ""
    said = f"{pod.key} has been being deleted for {age(world.now, when)}"
    if not silent_since(world.nodes.get(pod.pod.node_name)):
        return f"{said} on {pod.pod.node_name}"
    return f"{said} on node {pod.pod.node_name}, which does not answer: {fencing(pod)}"
