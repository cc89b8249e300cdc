"""What a drain sees of the cluster: claims by device, pods that use claims, DeviceTaintRules."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from dragoman.cluster.cluster import ClusterStores, uses_claims
from dragoman.cluster.clusterstate import holds_of
from dragoman.cluster.devices import DeviceStores
from dragoman.inventory.facts.stored import StoredRule
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.client import Client, items
from dragoman.kube.discovery import DRA_GROUP, OPTIONAL_VERSIONS, find_resource
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.reflector import Reflector
from dragoman.kube.resources import PODS, Resource
from dragoman.kube.store import DeletedUIDs, Store
from dragoman.maintenance import holds
from dragoman.maintenance.holds import Hold, HoldKind
from dragoman.model.claim import Claim
from dragoman.model.deviceid import DeviceID
from dragoman.model.fields import Document, MalformedObjectError
from dragoman.model.pod import Pod, users

Listener = Callable[[frozenset[DeviceID] | None], None]
"""Receives the devices that a changed claim has or had; None where a rule changed."""
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class WatchedClaim:
    """A ResourceClaim as drains see it."""

    fact: Claim  # What it was allocated, and its consumers
    hold: Hold | None  # The hold that it is; None for a user's claim

    @classmethod
    def of(cls, claim: Claim) -> Self:
        """Return a stored claim; raise MalformedObjectError naming the field."""
        return cls(claim, holds.parse_claim(claim.hold) if claim.hold else None)

    @property
    def used(self) -> bool:
        """Whether pods use it; users too may give a claim the name of a held one."""
        return bool(self.fact.consumers)

    @property
    def holds_device(self) -> bool:
        """Whether it keeps a device out of service now."""
        return self.hold is not None and self.hold.allocated and not self.used

    @property
    def devices(self) -> frozenset[DeviceID]:
        """The devices that the claim has or, as a hold, stands for."""
        found = {result.id for result in self.fact.devices}
        if self.hold is not None:
            selector = self.hold.selector
            found.add(DeviceID(selector.driver, selector.pool, selector.device))
        return frozenset(found)


class MaintenanceView:
    """Claims, pods and DeviceTaintRules as stores have them.

    Args:
        claims: Keeps the claims, with the indices `device` and `hold`.
        pods: Keeps the pods that use claims, with the index `group`.

    Attributes:
        claims: As above.
        pods: As above.
    """

    def __init__(self, claims: Informer[Claim], pods: Informer[Pod]) -> None:
        self.claims = claims
        self.pods = pods
        self._listeners: set[Listener] = set()
        self._held: dict[str, tuple[Claim, WatchedClaim | None]] = {}
        claims.observe(self._claim_changed)

    @asynccontextmanager
    async def notifying(self, changed: Listener) -> AsyncIterator[None]:
        """Call a function with the devices of each change while the context is open."""
        self._listeners.add(changed)
        try:
            yield
        finally:
            self._listeners.discard(changed)

    def of_devices(self, devices: Iterable[DeviceID]) -> tuple[WatchedClaim, ...]:
        """Return the claims that have, or hold, any of the devices."""
        wanted = frozenset(devices)
        found: dict[str, WatchedClaim] = {}
        for device in wanted:
            for claim in self.claims.store.find("device", device):
                if claim.hold is None:
                    one = WatchedClaim.of(claim)
                    found[one.fact.key] = one
        for one in self._holding():
            if not wanted.isdisjoint(one.devices):
                found[one.fact.key] = one
        return tuple(found[key] for key in sorted(found))

    def holds_of(self, maintenance: str) -> tuple[Hold, ...]:
        """Return the held claims of a DeviceMaintenance."""
        found = (one.hold for one in self._holding())
        return tuple(one for one in found if one is not None and one.maintenance == maintenance)

    def _holding(self) -> Iterator[WatchedClaim]:
        """Yield the claims with the name of a held one; each is read once."""
        known, self._held = self._held, {}
        for claim in self.claims.store.find("hold", ""):
            uid = claim.metadata.uid
            before = known.get(uid)
            found = before[1] if before is not None and before[0] is claim else _held(claim)
            self._held[uid] = claim, found
            if found is not None:
                yield found

    def pods_of(self, claims: Iterable[Claim]) -> Mapping[str, Pod]:
        """Return the pods that claims are reserved for, by UID."""
        pods = self.pods.store
        return {
            pod.metadata.uid: pod
            for claim in claims
            for pod in users(
                claim, lambda place: pods.get(*place), lambda group: pods.find("group", group)
            )
        }

    def newest(self) -> str:
        """Return when the newest pod was created, by the server's clock."""
        return max((pod.metadata.created for pod in self.pods.store), default="")

    async def refresh(self) -> None:
        """List all claims live: a watch may lag behind; raise ApiError."""
        await self.claims.resync()

    async def rules(self, served: Resource | None) -> tuple[Hold, ...]:
        """Return all DeviceTaintRules, from a live list; raise ApiError.

        Args:
            served: Their served version; None where they are not served.
        """
        return await list_rules(self.claims.client, served)

    def wrote(self, written: Document) -> None:
        """Store an object as the server answered a write of it."""
        if written.get("kind") in (None, "ResourceClaim"):
            self.claims.changed(self.claims.parse(written))

    def deleted(self, hold: Hold) -> None:
        """Take an own deletion of a rule from the store: its event may be late."""

    def _claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        """Tell the listeners the devices of a claim that was stored."""
        if self._listeners:
            both = (one for one in (old, new) if one is not None)
            self._tell(frozenset(device for one in both for device in _devices_of(one)))

    def _tell(self, devices: frozenset[DeviceID] | None) -> None:
        for changed in tuple(self._listeners):
            changed(devices)


def _held(claim: Claim) -> WatchedClaim | None:
    try:
        return WatchedClaim.of(claim)
    except MalformedObjectError:
        return None


def _devices_of(claim: Claim) -> Iterable[DeviceID]:
    found = _held(claim) if claim.hold is not None else None
    return found.devices if found is not None else (one.id for one in claim.devices)


class ClusterView(MaintenanceView):
    """The view of a process that watches for a drain alone.

    Args:
        client: Where to read.
        claims: ResourceClaims in the served version.
    """

    def __init__(self, client: Client, claims: Resource) -> None:
        super().__init__(
            Informer(
                client,
                claims,
                Claim.parse,
                store=Store(DeletedUIDs(), device=_ids, hold=holds_of),
            ),
            # No plan waits for a pod alone: its claim changes when it comes or goes.
            Informer(
                client,
                PODS,
                Pod.parse,
                store=Store(
                    DeletedUIDs(), group=lambda pod: ((pod.metadata.namespace, pod.group_name),)
                ),
                predicate=uses_claims,
            ),
        )

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


class SharedView(MaintenanceView):
    """The view of the operator, whose other controllers store the same objects.

    Args:
        cluster: What they store.
    """

    def __init__(self, cluster: ClusterStores) -> None:
        cluster.state.index_devices()
        super().__init__(cluster.claims, cluster.pods)
        self._devices = cluster.part(DeviceStores)
        self._devices.rules.observe(self._rule_changed)

    async def rules(self, served: Resource | None) -> tuple[Hold, ...]:
        """Return the stored DeviceTaintRules, listed where another version of them is stored."""
        stored = self._devices.rules
        if self._devices.rules_served != served or not stored.synced.is_set():
            return await super().rules(served)
        return tuple(holds.read((one.document for one in stored.store), ()))

    def wrote(self, written: Document) -> None:
        """Store a claim or rule as the server answered a write of it."""
        if written.get("kind") == "DeviceTaintRule":
            self._devices.rules.changed(StoredRule.parse(written))
        super().wrote(written)

    def deleted(self, hold: Hold) -> None:
        """Take an own deletion of a rule from the store: its event may be late."""
        stored = self._devices.rules.store.get("", hold.name)
        if hold.kind is HoldKind.RULE and stored is not None and stored.metadata.uid == hold.uid:
            self._devices.rules.deleted(stored)

    def _rule_changed(self, old: StoredRule | None, new: StoredRule | None) -> None:
        # Eviction controllers write the status of rules all the time.
        if old is None or new is None or old.generation != new.generation:
            self._tell(None)


def _ids(claim: Claim) -> Iterator[tuple[str, str, str]]:
    return (device.id for device in claim.devices)


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
    try:
        found = [reduced("devicetaintrules", item) async for item in items(client, rules.path())]
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        return ()
    return tuple(holds.read(found, ()))
