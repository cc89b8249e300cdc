"""What claims request and hold, parsed and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from dragoman.allocation.facts.amounts import Amount
from dragoman.allocation.facts.objects import NOTHING, DeviceID, Document, NodeSelector, Toleration


@dataclass(frozen=True, slots=True)
class ExactRequest:
    """What `exactly` of a request, or one subrequest of `firstAvailable`, requests.

    Attributes:
        name: Own name.
        class_name: `deviceClassName`.
        mode: `allocationMode`.
        count: `count`.
        admin_access: `adminAccess`, None when unset.
        selectors: CEL expressions; None for a selector without `cel`.
        tolerations: `tolerations`.
        capacity: `capacity.requests`, None when `capacity` is unset.
        derived_attributes: Attribute name to CEL expression (1.37, alpha).
    """

    name: str
    class_name: str = ""
    mode: str = "ExactCount"
    count: int = 0
    admin_access: bool | None = None
    selectors: tuple[str | None, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, Amount] | None = None
    derived_attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a claim.

    Attributes:
        name: Its name.
        exactly: What it requests, None if it has alternatives.
        first_available: The alternatives, in the order of preference.
    """

    name: str
    exactly: ExactRequest | None = None
    first_available: tuple[ExactRequest, ...] = ()

    @property
    def alternatives(self) -> tuple[ExactRequest, ...]:
        """The subrequests in their order; `exactly` is the only one of a request without a list."""
        if self.first_available or self.exactly is None:
            return self.first_available
        return (self.exactly,)


class Constraint(NamedTuple):
    """A constraint of a claim; `requests` empty means all of them."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None

    @property
    def attribute(self) -> str:
        """The name of the attribute that is compared."""
        found = self.distinct_attribute if self.match_attribute is None else self.match_attribute
        return found or ""

    @property
    def kind(self) -> str:
        """The field of the API that is set."""
        return "distinctAttribute" if self.match_attribute is None else "matchAttribute"


class ClaimConfig(NamedTuple):
    """A config of a claim; `document` is the item without `requests`."""

    requests: tuple[str, ...]
    document: Document


class Condition(NamedTuple):
    """A condition that a driver reports of an allocated device.

    Attributes:
        true: Whether its status is "True".
        reason: In one word.
        message: For people.
    """

    true: bool = False
    reason: str = ""
    message: str = ""


class HeldDevice(NamedTuple):
    """A device that an allocated claim holds.

    Attributes:
        id: The device.
        admin_access: Such a claim uses the device beside others.
        share_id: Set for a share of a device that allows multiple allocations.
        consumed: `consumedCapacity`, None when unset.
        binding_conditions: Conditions that have to be true before a pod is bound.
        binding_failure_conditions: Conditions of which none may be true.
        conditions: Those that the driver reports in `status.devices`, by type.
    """

    id: DeviceID
    admin_access: bool = False
    share_id: str | None = None
    consumed: Mapping[str, Amount] | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    conditions: Mapping[str, Condition] = NOTHING

    def is_true(self, condition: str) -> bool:
        """Tell whether the driver reports a condition as true."""
        found = self.conditions.get(condition)
        return found is not None and found.true


class Held(NamedTuple):
    """The allocation in the status of a claim.

    Attributes:
        devices: In the order of the results.
        node_selector: Where the claim can be used, None for everywhere.
        document: `status.allocation` in the API's form.
        allocated_at: `allocationTimestamp`, set where the devices have binding conditions.
    """

    devices: tuple[HeldDevice, ...]
    node_selector: NodeSelector | None = None
    document: Document = NOTHING
    allocated_at: datetime | None = None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ClaimSpec:
    """The spec of a ResourceClaim. Claims of one template share one object.

    Attributes:
        requests: `spec.devices.requests`.
        constraints: `spec.devices.constraints`.
        config: `spec.devices.config`.
    """

    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    config: tuple[ClaimConfig, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A ResourceClaim.

    Attributes:
        name: `metadata.name`.
        namespace: `metadata.namespace`.
        spec: What it requests.
        held: `status.allocation`, None while the claim is not allocated.
        allocating: Whether the scheduler is allocating it for another pod, which it alone knows.
    """

    name: str
    namespace: str = ""
    spec: ClaimSpec = field(default_factory=ClaimSpec)
    held: Held | None = None
    allocating: bool = False

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone, as the scheduler prints it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
