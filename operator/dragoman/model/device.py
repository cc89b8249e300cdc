"""Devices of ResourceSlices: attributes, capacities, counters.

Field names follow resource.k8s.io/v1. Every parser takes the JSON form and raises
`MalformedObjectError`, which names the field. What the API server fills in is taken as it stands:
an absent field is absent for the allocator, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

import orjson

from dragoman.model.amounts import Amount, amount, quantity, read_quantity
from dragoman.model.fields import (
    NOTHING,
    Document,
    MalformedObjectError,
    flag,
    items,
    mapping,
    optional_text,
    text,
    texts,
)
from dragoman.model.nodeselector import NodeSelector, node_selector
from dragoman.model.taints import Taint, parse_taint

_Named = TypeVar("_Named")
_ZERO = amount("0")
_contents: WeakValueDictionary[bytes, Content] = WeakValueDictionary()
"""Devices that look alike, by driver and document, while any slice has them."""
_traits: WeakValueDictionary[bytes, Traits] = WeakValueDictionary()
"""What devices have beside names and attributes, by driver and all other fields."""
_alike: WeakValueDictionary[bytes, Content] = WeakValueDictionary()
"""A content of each of these traits."""


def qualified(name: str, driver: str) -> str:
    """Return the name of an attribute or capacity with its domain."""
    return name if "/" in name else f"{driver}/{name}"


def unambiguous(named: Mapping[str, _Named], driver: str) -> Mapping[str, _Named]:
    """Drop what is published under a name with the driver's domain, too (1.38)."""
    own = {name.removeprefix(f"{driver}/") for name in named if name.startswith(f"{driver}/")}
    if own.isdisjoint(named):
        return named
    return {name: value for name, value in named.items() if "/" in name or name not in own}


class CapacityPolicy(NamedTuple):
    """A `requestPolicy` of a capacity (KEP-5075)."""

    default: Amount | None = None  # The amount that a share takes when its request names none
    has_range: bool = False  # Whether `validRange` is set
    minimum: Amount | None = None  # Lower bound of the range
    maximum: Amount | None = None  # Upper bound of the range
    # Distance between valid amounts of the range, counted from the minimum
    step: Amount | None = None
    valid_values: tuple[Amount, ...] | None = None  # The valid amounts, ascending; None when unset


class Capacity(NamedTuple):
    """One capacity of a device."""

    value: Amount
    policy: CapacityPolicy | None = None


class CounterConsumption(NamedTuple):
    """What a device takes from one counter set of its pool (KEP-4815)."""

    counter_set: str  # Name of the set
    counters: Mapping[str, Amount]  # Counter name to amount
    groups: tuple[str, ...] = ()  # `compatibilityGroups` (1.37, alpha).


class CounterSet(NamedTuple):
    """Counters that devices of a pool share."""

    name: str
    counters: Mapping[str, Amount]


class Traits:
    """Stands for everything about a device but its name and attributes."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Content:
    """Everything about a device but its name. Devices that look alike share one object."""

    driver: str  # The driver of its slice: part of what selectors see
    document: Document  # The device in the API's JSON form; selectors are evaluated on it
    attributes: Mapping[str, Document]  # `attributes`, qualified name to JSON value
    capacity: Mapping[str, Capacity]  # Qualified name to capacity
    shareable: bool = False  # `allowMultipleAllocations`
    consumes: tuple[CounterConsumption, ...] = ()  # `consumesCounters`
    taints: tuple[Taint, ...] = ()  # Taints of the driver, then those of DeviceTaintRules
    node_name: str | None = None  # `nodeName`, with perDeviceNodeSelection
    all_nodes: bool = False  # `allNodes`, with perDeviceNodeSelection
    node_selector: NodeSelector | None = None  # `nodeSelector`, with perDeviceNodeSelection
    binds_to_node: bool = False  # `bindsToNode`
    binding_conditions: tuple[str, ...] | None = None  # `bindingConditions`, None when unset
    binding_failure_conditions: tuple[str, ...] = ()  # `bindingFailureConditions`
    # The same object for contents that differ in attributes only
    traits: Traits = field(default_factory=Traits, repr=False)


class Device(NamedTuple):
    """A device of a slice."""

    name: str
    content: Content


def parse_device(document: Document, driver: str, within: str) -> Device:
    """Read a device of a slice of this driver."""
    name = text(document, "name", within)
    look = {key: value for key, value in document.items() if key != "name"}
    try:
        key = _key(driver, look)
    except TypeError:  # an integer beyond 64 bits, or nesting too deep
        return Device(name, _content(look, driver, Traits(), within))
    content = _contents.get(key)
    if content is None:
        # A copy of the document: the caller may change its own, and the cache is shared by all.
        content = _contents[key] = _copied(look, driver, within)
    return Device(name, content)


def _key(driver: str, document: Document) -> bytes:
    """Return what stands for a document; a digest, as clusters may have 100,000 devices."""
    return blake2b(orjson.dumps((driver, document)), digest_size=16).digest()


def _copied(look: Document, driver: str, within: str) -> Content:
    rest = {key: value for key, value in look.items() if key != "attributes"}
    traits = _key(driver, rest)
    alike = _alike.get(traits)
    if alike is None:
        shared = _traits.setdefault(traits, Traits())
        content = _content(orjson.loads(orjson.dumps(look)), driver, shared, within)
        _alike[traits] = content
        return content
    # A device with attributes of its own, such as a serial number, shares all the rest.
    document = {key: alike.document[key] for key in rest}
    if "attributes" in look:
        document["attributes"] = orjson.loads(orjson.dumps(look["attributes"]))
    return replace(alike, document=document, attributes=_attributes(document, within))


def _attributes(look: Document, within: str) -> Mapping[str, Document]:
    attributes = mapping(look, "attributes", within)
    return {name: mapping(attributes, name, f"{within}attributes.") for name in attributes}


def _content(look: Document, driver: str, traits: Traits, within: str) -> Content:
    conditions = texts(look, "bindingConditions", within)
    return Content(
        driver=driver,
        document=look,
        attributes=_attributes(look, within),
        capacity=_capacities(look, within),
        shareable=flag(look, "allowMultipleAllocations", within) is True,
        consumes=tuple(
            _consumption(item, f"{within}consumesCounters[{index}].")
            for index, item in enumerate(items(look, "consumesCounters", within))
        ),
        taints=tuple(
            parse_taint(item, f"{within}taints[{index}].")
            for index, item in enumerate(items(look, "taints", within))
        ),
        node_name=optional_text(look, "nodeName", within),
        all_nodes=flag(look, "allNodes", within) is True,
        node_selector=node_selector(look, "nodeSelector", within),
        binds_to_node=flag(look, "bindsToNode", within) is True,
        binding_conditions=None if look.get("bindingConditions") is None else conditions,
        binding_failure_conditions=texts(look, "bindingFailureConditions", within),
        traits=traits,
    )


def _capacities(look: Document, within: str) -> Mapping[str, Capacity]:
    found = {}
    capacities = mapping(look, "capacity", within)
    for name in capacities:
        inner = f"{within}capacity.{name}."
        capacity = mapping(capacities, name, f"{within}capacity.")
        value = quantity(capacity, "value", inner)
        found[name] = Capacity(value or _ZERO, _policy(capacity, inner))
    return found or NOTHING


def _policy(capacity: Document, within: str) -> CapacityPolicy | None:
    if capacity.get("requestPolicy") is None:
        return None
    policy = mapping(capacity, "requestPolicy", within)
    within = f"{within}requestPolicy."
    limits = mapping(policy, "validRange", within)
    values = policy.get("validValues")
    if values is not None and not isinstance(values, list):
        raise MalformedObjectError(f"{within}validValues: expected a list of quantities")
    return CapacityPolicy(
        default=quantity(policy, "default", within),
        has_range=policy.get("validRange") is not None,
        minimum=quantity(limits, "min", f"{within}validRange."),
        maximum=quantity(limits, "max", f"{within}validRange."),
        step=quantity(limits, "step", f"{within}validRange."),
        valid_values=None
        if values is None
        else tuple(read_quantity(value, f"{within}validValues") for value in values),
    )


def _consumption(document: Document, within: str) -> CounterConsumption:
    return CounterConsumption(
        text(document, "counterSet", within),
        _counters(document, within),
        texts(document, "compatibilityGroups", within),
    )


def parse_counter_set(document: Document, within: str) -> CounterSet:
    """Read an item of `sharedCounters`."""
    return CounterSet(text(document, "name", within), _counters(document, within))


def _counters(document: Document, within: str) -> Mapping[str, Amount]:
    counters = mapping(document, "counters", within)
    inner = f"{within}counters."
    return {
        name: quantity(mapping(counters, name, inner), "value", f"{inner}{name}.") or _ZERO
        for name in counters
    }
