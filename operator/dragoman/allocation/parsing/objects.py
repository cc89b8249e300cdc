"""Read API objects of resource.k8s.io/v1 into facts.

Every function takes the JSON form and raises `MalformedObjectError`, which names the field. What
the API server fills in is taken as it stands: an absent field is absent for the allocator, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakValueDictionary

import orjson

from dragoman.allocation.facts.amounts import Amount, amount
from dragoman.allocation.facts.objects import (
    NOTHING,
    Capacity,
    CapacityPolicy,
    Content,
    CounterConsumption,
    CounterSet,
    Device,
    DeviceClass,
    DeviceTaintRule,
    Document,
    Node,
    Slice,
    Taint,
    Traits,
)
from dragoman.allocation.parsing.fields import (
    flag,
    integer,
    node_selector,
    quantity,
    read_quantity,
    require_object,
    selectors,
    strings,
)
from dragoman.model.fields import (
    MalformedObjectError,
    items,
    mapping,
    optional_text,
    text,
    texts,
)

_ZERO = amount("0")
_contents: WeakValueDictionary[tuple[str, bytes], Content] = WeakValueDictionary()
"""Devices that look alike, by driver and JSON text, while any slice has them."""
_traits: WeakValueDictionary[bytes, Traits] = WeakValueDictionary()
"""What devices have beside names and attributes, by JSON text."""


def parse_node(document: Document) -> Node:
    """Read a Node."""
    require_object(document)
    metadata, status = mapping(document, "metadata"), mapping(document, "status")
    return Node(
        text(metadata, "name", "metadata."),
        strings(metadata, "labels", "metadata."),
        frozenset(texts(status, "declaredFeatures", "status.")),
        {
            name: value.nanos // 10**9
            for name in mapping(status, "allocatable", "status.")
            if (value := quantity(status["allocatable"], name, "status.allocatable."))
        },
    )


def parse_slice(document: Document) -> Slice:
    """Read a ResourceSlice."""
    require_object(document)
    spec = mapping(document, "spec")
    pool = mapping(spec, "pool", "spec.")
    driver = text(spec, "driver", "spec.")
    return Slice(
        name=text(mapping(document, "metadata"), "name", "metadata."),
        driver=driver,
        pool=text(pool, "name", "spec.pool."),
        generation=integer(pool, "generation", "spec.pool."),
        slice_count=integer(pool, "resourceSliceCount", "spec.pool."),
        node_name=optional_text(spec, "nodeName", "spec."),
        all_nodes=flag(spec, "allNodes", "spec.") is True,
        node_selector=node_selector(spec, "nodeSelector", "spec."),
        per_device=flag(spec, "perDeviceNodeSelection", "spec."),
        devices=tuple(
            _device(device, driver, f"spec.devices[{index}].")
            for index, device in enumerate(items(spec, "devices", "spec."))
        ),
        shared_counters=tuple(
            _counter_set(item, f"spec.sharedCounters[{index}].")
            for index, item in enumerate(items(spec, "sharedCounters", "spec."))
        ),
        skip_node_operations=texts(spec, "skipNodeOperations", "spec."),
    )


def parse_class(document: Document) -> DeviceClass:
    """Read a DeviceClass."""
    require_object(document)
    metadata, spec = mapping(document, "metadata"), mapping(document, "spec")
    return DeviceClass(
        name=text(metadata, "name", "metadata."),
        selectors=selectors(spec, "spec."),
        config=tuple(items(spec, "config", "spec.")),
        extended_resource=optional_text(spec, "extendedResourceName", "spec.") or "",
        created=optional_text(metadata, "creationTimestamp", "metadata.") or "",
    )


def parse_taint_rule(document: Document) -> DeviceTaintRule:
    """Read a DeviceTaintRule."""
    require_object(document)
    spec = mapping(document, "spec")
    selector = mapping(spec, "deviceSelector", "spec.")
    name = text(mapping(document, "metadata"), "name", "metadata.")
    within = "spec.deviceSelector."
    return DeviceTaintRule(
        name=name,
        taint=parse_taint(mapping(spec, "taint", "spec."), "spec.taint.", name),
        has_selector=spec.get("deviceSelector") is not None,
        driver=optional_text(selector, "driver", within),
        pool=optional_text(selector, "pool", within),
        device=optional_text(selector, "device", within),
    )


def _device(document: Document, driver: str, within: str) -> Device:
    name = text(document, "name", within)
    look = {key: value for key, value in document.items() if key != "name"}
    try:
        key = (driver, orjson.dumps(look))
        traits = orjson.dumps({key: value for key, value in look.items() if key != "attributes"})
    except TypeError:  # an integer beyond 64 bits, or nesting too deep
        return Device(name, _content(look, driver, Traits(), within))
    content = _contents.get(key)
    if content is None:
        # A copy of the document: the caller may change its own, and the cache is shared by all.
        shared = _traits.setdefault(traits, Traits())
        content = _contents[key] = _content(orjson.loads(key[1]), driver, shared, within)
    return Device(name, content)


def _content(look: Document, driver: str, traits: Traits, within: str) -> Content:
    attributes = mapping(look, "attributes", within)
    attributes = {name: mapping(attributes, name, f"{within}attributes.") for name in attributes}
    conditions = texts(look, "bindingConditions", within)
    return Content(
        driver=driver,
        document=look,
        attributes=attributes,
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


def _counter_set(document: Document, within: str) -> CounterSet:
    return CounterSet(text(document, "name", within), _counters(document, within))


def _counters(document: Document, within: str) -> Mapping[str, Amount]:
    counters = mapping(document, "counters", within)
    inner = f"{within}counters."
    return {
        name: quantity(mapping(counters, name, inner), "value", f"{inner}{name}.") or _ZERO
        for name in counters
    }


def parse_taint(document: Document, within: str, rule: str = "") -> Taint:
    """Read a taint of a device, or of the DeviceTaintRule with this name."""
    return Taint(
        optional_text(document, "key", within) or "",
        optional_text(document, "effect", within) or "",
        optional_text(document, "value", within) or "",
        rule,
        optional_text(document, "timeAdded", within) or "",
    )
