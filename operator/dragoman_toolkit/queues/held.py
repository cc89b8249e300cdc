"""What each pod holds, under the key that its queue manager charges, and why it is not charged."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import dragoman.allocation as api
from dragoman.allocation.extendedresources import asked, is_extended
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import Inventory
from dragoman.model.allocated import AllocatedDevice
from dragoman.model.amounts import amount
from dragoman.model.claim import Claim
from dragoman.model.fields import MalformedObjectError, parts
from dragoman.model.requests import ExactRequest
from dragoman_toolkit.queues.facts import UNIT
from dragoman_toolkit.queues.managers import VOLCANO, Manager, Mapped

DEVICE_CLASS = "deviceclass/"
"""How Volcano's keys of DeviceClasses begin; a dimension stands before it, with a dot."""


class Code(StrEnum):
    """Why the number that a queue is charged is not the number that its pods hold."""

    NOT_STARTED = "NotStarted"
    ENDED = "Ended"
    IDLE_CLAIM = "IdleClaim"
    EVICTED = "Evicted"
    NO_QUEUE = "NoQueue"
    GATE_OFF = "GateOff"
    NOT_MAPPED = "NotMapped"
    CLAIM_BY_NAME = "ClaimByName"
    ALL_DEVICES = "AllDevices"
    ALTERNATIVES = "Alternatives"
    ADMIN_ACCESS = "AdminAccess"
    CLASS_MOVED = "ClassMoved"
    SHARED_CLAIM = "SharedClaim"
    EXCLUDED = "Excluded"
    NO_QUOTA = "NoQuota"
    UNKNOWN_VERSION = "UnknownVersion"
    """It depends on the version of the queue manager, which could not be read."""


@dataclass(frozen=True, slots=True)
class Held:
    """One device, or amount of a device, that a pod holds."""

    key: str  # Resource of the quota; the class where no quota has it
    amount: int  # In units of 10^-9
    code: Code | None = None  # Why it is not charged; None where it is
    claim: str = ""  # `namespace/name`; empty for a device of a plug-in
    device: str = ""  # That the claim was allocated, and its share; empty for one of a plug-in


@dataclass(frozen=True)
class Holders:
    """What pods hold, as one queue manager counts it."""

    inventory: Inventory  # Devices and claims
    manager: Manager  # Its version, gates and configuration
    keys: frozenset[str]  # Resources that some queue has a quota or a charge for

    def of(self, pod: PodFact) -> Iterator[Held]:
        """Yield what a pod holds."""
        names = {
            name: entry.claim_name is not None
            for entry in pod.pod.entries
            if (name := pod.pod.published_name(entry))
        }
        for name, by_name in names.items():
            claim = self._claim(pod, name)
            if claim is not None:
                yield from self.of_claim(claim, by_name=by_name)
        if pod.pod.extended_claim and (claim := self._claim(pod, pod.pod.extended_claim)):
            yield from self._of_extended(pod, claim)
        yield from self._of_plugins(pod)

    def _claim(self, pod: PodFact, name: str) -> Claim | None:
        return self.inventory.world.claims.get(f"{pod.pod.metadata.namespace}/{name}")

    def of_claim(self, claim: Claim, *, by_name: bool = False) -> Iterator[Held]:
        """Yield the devices of a claim of which no resource name is known."""
        for result in claim.devices:
            found = request_of(claim, result.request)
            exact, alternative = found or (None, False)
            name = exact.class_name if exact else ""
            mapped = self._mapped(name)
            code = self.code(exact, name, alternative=alternative, by_name=by_name)
            code = Code.ADMIN_ACCESS if result.admin else code
            yield from self._amounts(claim, result, mapped, code)

    def _mapped(self, name: str) -> Mapped:
        """Return under which key a class is counted, whether or not it is charged."""
        if self.manager.name == VOLCANO:
            return Mapped(f"{DEVICE_CLASS}{name}")
        mapped = self.manager.charged_as(name)
        if mapped is not None:
            return mapped
        known = self.inventory.world.classes.get(name)
        resource = known.extended_resource if known else ""
        return Mapped(resource if resource in self.keys else name)

    def code(
        self, exact: ExactRequest | None, name: str, *, alternative: bool, by_name: bool
    ) -> Code | None:
        """Return why a request of a class is not charged; None where it is."""
        manager = self.manager
        if exact is not None and exact.admin_access:
            return Code.ADMIN_ACCESS
        if manager.charges_claims is False:
            return Code.GATE_OFF
        if by_name and manager.name != VOLCANO:
            return Code.CLAIM_BY_NAME
        if alternative:
            return Code.ALTERNATIVES
        if exact is not None and exact.mode == "All":
            return Code.ALL_DEVICES
        if manager.name == VOLCANO:
            seen = any(DEVICE_CLASS in key for key in self.keys)
            return Code.UNKNOWN_VERSION if manager.charges_claims is None and not seen else None
        if manager.configured and name not in manager.classes:
            return Code.NOT_MAPPED
        return None

    def _amounts(
        self, claim: Claim, result: AllocatedDevice, mapped: Mapped, code: Code | None
    ) -> Iterator[Held]:
        device = f"{result.id} {result.share}"
        consumed = {name: amount(text).nanos for name, text in result.consumed or ()}
        if mapped.counters:
            content = self._content(result)
            sums: defaultdict[str, int] = defaultdict(int)
            for one in content.consumes if content else ():
                for name, counter in one.counters.items():
                    sums[name] += counter.nanos
            total = sum(sums[name] for name in mapped.counters)
            yield Held(mapped.name, total, code, claim.key, device)
        elif mapped.capacities:
            total = sum(consumed.get(name, 0) for name in mapped.capacities)
            yield Held(mapped.name, total, code, claim.key, device)
        else:
            yield Held(mapped.name, UNIT, code, claim.key, device)
        if self.manager.name == VOLCANO:
            for name, value in consumed.items():
                key = f"{name}.{mapped.name}"
                if key in self.keys:
                    off = None if self.manager.charges_dimensions else Code.GATE_OFF
                    yield Held(key, value, code or off, claim.key, device)

    def _content(self, result: AllocatedDevice) -> api.Content | None:
        found = self.inventory.devices.get(result.id)
        return found.content if found else None

    def _of_extended(self, pod: PodFact, claim: Claim) -> Iterator[Held]:
        """Yield the devices of the scheduler's own claim: charged by the name of the resource."""
        names = _resources(pod)
        for result in claim.devices:
            found = request_of(claim, result.request)
            device_class = found[0].class_name if found else ""
            known = self.inventory.world.classes.get(device_class)
            name = names.get(result.request) or (known.extended_resource if known else "")
            mapped = self.manager.charged_as(device_class) if self.manager.maps_resources else None
            key = mapped.name if mapped else name or device_class
            yield Held(key, UNIT, None, claim.key, f"{result.id} {result.share}")

    def _of_plugins(self, pod: PodFact) -> Iterator[Held]:
        node = self.inventory.world.nodes.get(pod.pod.node_name)
        if node is None:
            return
        served = set(_resources(pod).values())
        for name, counts in requested(pod.document).items():
            if name not in served and node.node.allocatable.get(name):
                code = Code.EXCLUDED if name.startswith(self.manager.excluded) else None
                for key, amount_ in self._charged(name, sum(counts)):
                    yield Held(key, amount_, code)

    def _charged(self, name: str, count: int) -> Iterator[tuple[str, int]]:
        """Yield what is charged for so many of an extended resource, transformed."""
        found = self.manager.transformed.get(name, {name: UNIT})
        yield from ((key, each * count) for key, each in found.items())

    @cached_property
    def classes(self) -> Mapping[str, str]:
        """DeviceClass by the extended resource that it serves."""
        names = {one.extended_resource for one in self.inventory.world.classes.values()}
        return {
            name: found.name
            for name in names
            if name and (found := api.class_of(name, self.inventory.world.classes))
        }

    def wanted(self, namespace: str, spec: Mapping[str, object]) -> dict[str, int]:
        """Return what a pod of this spec would be charged, before it is made, by key."""
        found: defaultdict[str, int] = defaultdict(int)
        for name, counts in requested({"metadata": {}, "spec": spec}).items():
            device_class = self.classes.get(name, "")
            mapped = self.manager.charged_as(device_class) if self.manager.maps_resources else None
            if mapped:  # neither excluded nor transformed: Kueue adds it afterwards
                found[mapped.name] += sum(counts) * UNIT
            elif not name.startswith(self.manager.excluded):
                for key, value in self._charged(name, sum(counts)):
                    found[key] += value
        for key, value, _ in self.wanted_of_claims(namespace, spec):
            found[key] += value
        return dict(found)

    def wanted_of_claims(
        self, namespace: str, spec: Mapping[str, object]
    ) -> Iterator[tuple[str, int, Code | None]]:
        """Yield key, amount and why it is not charged, of each request of a pod's claims."""
        world = self.inventory.world
        for entry in parts(spec, "resourceClaims"):
            template = str(entry.get("resourceClaimTemplateName") or "")
            name = str(entry.get("resourceClaimName") or "")
            claim = world.templates.get(f"{namespace}/{template}") if template else None
            claim = claim or world.claims.get(f"{namespace}/{name}")
            for request in claim.spec.requests if claim else ():
                exact = request.alternatives[0]
                alternative = bool(request.first_available)
                code = self.code(
                    exact, exact.class_name, alternative=alternative, by_name=bool(name)
                )
                count = 0 if exact.mode == "All" else exact.count or 1
                if code is not Code.ADMIN_ACCESS:
                    yield self._mapped(exact.class_name).name, count * UNIT, code


def requested(pod: Mapping[str, object]) -> dict[str, tuple[int, ...]]:
    """Return the extended resources that a pod asks for; nothing of a malformed one."""
    try:
        return asked(pod)
    except MalformedObjectError:
        return {}


def request_of(claim: Claim, text: str) -> tuple[ExactRequest, bool] | None:
    """Return the request, or alternative, that a device was allocated for; None where it is gone.

    Args:
        claim: That has the device.
        text: `request` or `request/subrequest`.

    Returns:
        The request, and whether it is one of several alternatives.
    """
    top, _, sub = text.partition("/")
    for request in claim.spec.requests:
        if request.name == top:
            for one in request.alternatives:
                if not sub or one.name == sub:
                    return one, bool(request.first_available)
    return None


def _resources(pod: PodFact) -> dict[str, str]:
    """Return the extended resource by request of the scheduler's own claim."""
    status = parts(pod.document, "status", "extendedResourceClaimStatus", "requestMappings")
    return {
        str(one.get("requestName")): str(one.get("resourceName") or "")
        for one in status
        if is_extended(str(one.get("resourceName") or ""))
    }
