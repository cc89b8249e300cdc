"""What a drain watches: claims by device, and pods that use claims."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from dragoman.allocation.facts.objects import DeviceID
from dragoman.controllers.claims.informers import uses_claims
from dragoman.inventory.facts.objects import ClaimFact
from dragoman.inventory.facts.parser import claim_fact
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.client import Client, pages
from dragoman.kube.discovery import DRA_GROUP, OPTIONAL_VERSIONS, find_resource
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.reflector import Reflector
from dragoman.kube.resources import PODS, Resource
from dragoman.kube.store import DeletedUIDs, Store
from dragoman.kube.storing import storing_informer
from dragoman.maintenance import holds
from dragoman.maintenance.holds import Hold
from dragoman.model import Document, Metadata, Pod

Listener = Callable[[frozenset[DeviceID]], None]
"""Receives the devices that a changed claim has or had."""
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class WatchedClaim:
    """A ResourceClaim as drains see it.

    Attributes:
        metadata: Identity.
        fact: What it was allocated, and its consumers.
        hold: The hold that it is; None for a user's claim.
    """

    metadata: Metadata
    fact: ClaimFact
    hold: Hold | None

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Read a ResourceClaim of any version; raise MalformedObjectError naming the field."""
        document = reduced("resourceclaims", body)
        return cls(Metadata.parse(body), claim_fact(document), holds.parse_claim(document))

    @property
    def used(self) -> bool:
        """Whether pods use it; users too may give a claim the name of a held one."""
        return bool(self.fact.claim.consumers)

    @property
    def holds_device(self) -> bool:
        """Whether it keeps a device out of service now."""
        return self.hold is not None and self.hold.allocated and not self.used

    @property
    def devices(self) -> frozenset[DeviceID]:
        """The devices that the claim has or, as a hold, stands for."""
        found = {result.id for result in self.fact.results}
        if self.hold is not None:
            selector = self.hold.selector
            found.add(DeviceID(selector.driver, selector.pool, selector.device))
        return frozenset(found)


class ClusterView:
    """Claims and pods of the cluster, kept current by watches.

    Args:
        client: Where to read.
        claims: ResourceClaims in the served version.

    Attributes:
        claims: Keeps the claims.
        pods: Keeps the pods that use claims.
    """

    def __init__(self, client: Client, claims: Resource) -> None:
        self._client = client
        self._listeners: set[Listener] = set()
        self.claims = storing_informer(
            client,
            claims,
            WatchedClaim.parse,
            self._claim_changed,
            Store(DeletedUIDs(), device=lambda claim: claim.devices),
        )
        self._claims = self.claims.store
        # No plan waits for a pod alone: its claim changes when it comes or goes.
        self.pods = storing_informer(
            client,
            PODS,
            Pod.parse,
            store=Store(
                DeletedUIDs(),
                uid=lambda pod: (pod.metadata.uid,),
                group=lambda pod: ((pod.metadata.namespace, pod.group_name),),
            ),
            predicate=uses_claims,
        )
        self._pods = self.pods.store

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Watch while the context is open; it begins when everything is listed once."""
        informers: tuple[Informer[Any], ...] = (self.claims, self.pods)
        tasks = [
            asyncio.create_task(Reflector(informer, _handler(informer)).run())
            for informer in informers
        ]
        try:
            await self.claims.synced.wait()
            await self.pods.synced.wait()
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def notifying(self, changed: Listener) -> AsyncIterator[None]:
        """Call a function with the devices of each claim that changed while the context is open."""
        self._listeners.add(changed)
        try:
            yield
        finally:
            self._listeners.discard(changed)

    def of_devices(self, devices: Iterable[DeviceID]) -> tuple[WatchedClaim, ...]:
        """Return the claims that have, or hold, any of the devices."""
        found: dict[str, WatchedClaim] = {}
        for device in devices:
            for claim in self._claims.find("device", device):
                found[claim.fact.key] = claim
        return tuple(found[key] for key in sorted(found))

    def pods_of(self, claims: Iterable[ClaimFact]) -> Mapping[str, Pod]:
        """Return the pods that claims are reserved for, by UID."""
        found: dict[str, Pod] = {}
        for claim in claims:
            namespace = claim.claim.metadata.namespace
            for consumer in claim.claim.consumers:
                if consumer.is_pod_group:
                    pods = self._pods.find("group", (namespace, consumer.name))
                else:
                    pods = self._pods.find("uid", consumer.uid)
                found |= {pod.metadata.uid: pod for pod in pods}
        return found

    def newest(self) -> str:
        """Return when the newest pod was created, by the server's clock."""
        return max((pod.metadata.created for pod in self._pods), default="")

    async def refresh(self) -> None:
        """List all claims live: a watch may lag behind; raise ApiError."""
        await self.claims.resync()

    def claim_changed(self, claim: WatchedClaim) -> None:
        """Store a claim as the server answered it."""
        self.claims.changed(claim)

    def _claim_changed(self, old: WatchedClaim | None, new: WatchedClaim | None) -> None:
        self._notify(frozenset().union(*(one.devices for one in (old, new) if one)))

    def _notify(self, devices: frozenset[DeviceID]) -> None:
        for changed in tuple(self._listeners):
            changed(devices)


def _handler(informer: Informer[Any]) -> Callable[[Mapping[str, Any]], Any]:
    async def handle(event: Mapping[str, Any]) -> None:
        informer.handle(event)

    return handle


async def served_rules(client: Client) -> Resource | None:
    """Return DeviceTaintRules in the best served version, None where there is none."""
    return await find_resource(client, DRA_GROUP, OPTIONAL_VERSIONS, "devicetaintrules")


async def list_rules(client: Client, rules: Resource | None) -> tuple[Hold, ...]:
    """Return all DeviceTaintRules; none where they are not served."""
    if rules is None:
        return ()
    found: list[Document] = []
    try:
        async for page in pages(client, rules.path()):
            found += [reduced("devicetaintrules", item) for item in page["items"] or ()]
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
    return tuple(holds.read(found, ()))
