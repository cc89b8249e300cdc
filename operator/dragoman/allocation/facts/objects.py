"""What the allocator decides on, parsed and frozen.

Field names follow resource.k8s.io/v1. `parsing` makes these facts from API objects; everything else
in the package only reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from dragoman.allocation.facts.amounts import Amount

Document = Mapping[str, Any]
NOTHING: Document = MappingProxyType({})


class DeviceID(NamedTuple):
    """The identity of a device in the whole cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class PoolID(NamedTuple):
    """The identity of a pool: pools of different drivers may share a name."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class Node(NamedTuple):
    """A Node.

    Attributes:
        name: `metadata.name`.
        labels: `metadata.labels`.
        declared_features: `status.declaredFeatures` (1.37, alpha).
        allocatable: Whole numbers of `status.allocatable`, which device plugins publish.
    """

    name: str
    labels: Mapping[str, str] = NOTHING
    declared_features: frozenset[str] = frozenset()
    allocatable: Mapping[str, int] = NOTHING


class Requirement(NamedTuple):
    """One requirement of a node selector term."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(NamedTuple):
    """Requirements that a node meets all at once."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class NodeSelector(NamedTuple):
    """Terms of which a node meets at least one."""

    terms: tuple[NodeSelectorTerm, ...] = ()


class CapacityPolicy(NamedTuple):
    """A `requestPolicy` of a capacity (KEP-5075).

    Attributes:
        default: The amount that a share takes when its request names none.
        has_range: Whether `validRange` is set.
        minimum: Lower bound of the range.
        maximum: Upper bound of the range.
        step: Distance between valid amounts of the range, counted from the minimum.
        valid_values: The valid amounts, ascending; None when unset.
    """

    default: Amount | None = None
    has_range: bool = False
    minimum: Amount | None = None
    maximum: Amount | None = None
    step: Amount | None = None
    valid_values: tuple[Amount, ...] | None = None


class Capacity(NamedTuple):
    """One capacity of a device."""

    value: Amount
    policy: CapacityPolicy | None = None


class CounterConsumption(NamedTuple):
    """What a device takes from one counter set of its pool (KEP-4815).

    Attributes:
        counter_set: Name of the set.
        counters: Counter name to amount.
        groups: `compatibilityGroups` (1.37, alpha).
    """

    counter_set: str
    counters: Mapping[str, Amount]
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a device.

    Attributes:
        key: `key`.
        effect: `effect`.
        value: `value`.
        rule: Name of the DeviceTaintRule that set it, empty for the driver.
        added: `timeAdded` as an API timestamp, empty where unset; the scheduler ignores it.
    """

    key: str
    effect: str
    value: str = ""
    rule: str = ""
    added: str = ""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a request; `document` is what the allocation result repeats."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    document: Document = field(default_factory=lambda: NOTHING, compare=False)


class Traits:
    """Stands for everything about a device but its name and attributes."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Content:
    """Everything about a device but its name. Devices that look alike share one object.

    Attributes:
        driver: The driver of its slice: part of what selectors see.
        document: The device in the API's JSON form; selectors are evaluated on it.
        attributes: `attributes`, qualified name to JSON value.
        capacity: Qualified name to capacity.
        shareable: `allowMultipleAllocations`.
        consumes: `consumesCounters`.
        taints: Taints of the driver, then those of DeviceTaintRules.
        node_name: `nodeName`, with perDeviceNodeSelection.
        all_nodes: `allNodes`, with perDeviceNodeSelection.
        node_selector: `nodeSelector`, with perDeviceNodeSelection.
        binds_to_node: `bindsToNode`.
        binding_conditions: `bindingConditions`, None when unset.
        binding_failure_conditions: `bindingFailureConditions`.
        traits: The same object for contents that differ in attributes only.
    """

    driver: str
    document: Document
    attributes: Mapping[str, Document]
    capacity: Mapping[str, Capacity]
    shareable: bool = False
    consumes: tuple[CounterConsumption, ...] = ()
    taints: tuple[Taint, ...] = ()
    node_name: str | None = None
    all_nodes: bool = False
    node_selector: NodeSelector | None = None
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] = ()
    traits: Traits = field(default_factory=Traits, repr=False)


class Device(NamedTuple):
    """A device of a slice."""

    name: str
    content: Content


class CounterSet(NamedTuple):
    """Counters that devices of a pool share."""

    name: str
    counters: Mapping[str, Amount]


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A ResourceSlice.

    Attributes:
        name: `metadata.name`.
        driver: `spec.driver`.
        pool: `spec.pool.name`.
        generation: `spec.pool.generation`.
        slice_count: `spec.pool.resourceSliceCount`.
        node_name: `spec.nodeName`, None when unset.
        all_nodes: `spec.allNodes`.
        node_selector: `spec.nodeSelector`.
        per_device: `spec.perDeviceNodeSelection`, None when unset.
        devices: In the order of the slice.
        shared_counters: `spec.sharedCounters`.
        skip_node_operations: `spec.skipNodeOperations` (1.37, alpha).
    """

    name: str
    driver: str
    pool: str
    generation: int = 0
    slice_count: int = 0
    node_name: str | None = None
    all_nodes: bool = False
    node_selector: NodeSelector | None = None
    per_device: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()
    skip_node_operations: tuple[str, ...] = ()

    @property
    def pool_id(self) -> PoolID:
        """The pool that the slice belongs to."""
        return PoolID(self.driver, self.pool)


@dataclass(frozen=True, slots=True)
class DeviceTaintRule:
    """A DeviceTaintRule: a taint for all devices that its selector names.

    Attributes:
        name: `metadata.name`.
        taint: What the devices get.
        has_selector: Whether `spec.deviceSelector` is set.
        driver: None means every driver; so for pool and device.
        pool: See `driver`.
        device: See `driver`.
    """

    name: str
    taint: Taint
    has_selector: bool = True
    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def concerns(self, driver: str, pool: str) -> bool:
        """Whether the selector names a pool, or all of them."""
        return self.driver in (None, driver) and self.pool in (None, pool)

    def selects(self, device: tuple[str, str, str]) -> bool:
        """Whether a rule selects a device: no selector selects none, an empty one selects all."""
        driver, pool, name = device
        return self.has_selector and self.concerns(driver, pool) and self.device in (None, name)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceClass:
    """A DeviceClass.

    Attributes:
        name: `metadata.name`.
        selectors: CEL expressions; None for a selector without `cel`.
        config: Items of `spec.config` in the API's form.
        extended_resource: `spec.extendedResourceName`.
        created: `metadata.creationTimestamp`, which orders classes of one extended resource.
    """

    name: str
    selectors: tuple[str | None, ...] = ()
    config: tuple[Document, ...] = ()
    extended_resource: str = ""
    created: str = ""
