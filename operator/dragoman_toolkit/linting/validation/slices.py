"""ResourceSlices and DeviceTaintRules, beyond their schema."""

from collections.abc import Iterator
from typing import Any

from dragoman_toolkit.linting.findings.finding import Steps
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping, sequence, text
from dragoman_toolkit.linting.validation.attributes import check_attribute
from dragoman_toolkit.linting.validation.counters import check_counters_together
from dragoman_toolkit.linting.validation.errors import Errors, repeated
from dragoman_toolkit.linting.validation.names import (
    check_attribute_name,
    check_driver,
    check_label,
    check_label_name,
    check_pool,
    label_value_fault,
    subdomain_fault,
)
from dragoman_toolkit.linting.validation.nodes import check_node_selector
from dragoman_toolkit.linting.validation.policies import check_capacity

MAX_DEVICES = 128
MAX_ADVANCED_DEVICES = 64
MAX_COUNTER_SETS = 8
MAX_COUNTERS = 32
MAX_CONSUMPTIONS = 2
MAX_TAINTS = 16
MAX_CONDITIONS = 4
MAX_ENTRIES = 32
MAX_VALUES = 48
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_LISTS = ("bools", "ints", "strings", "versions")
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"


def check_slice(errors: Errors, obj: Object) -> None:
    """Check a ResourceSlice."""
    spec, place = mapping(obj.tree.get("spec")), ("spec",)
    check_driver(errors, (*place, "driver"), spec.get("driver"))
    _check_pool(errors, (*place, "pool"), mapping(spec.get("pool")))
    places = list(_set_places(errors, place, spec, _PLACES))
    if not places:
        errors.required(place, f"{_ONE_PLACE} is required")
    elif len(places) > 1:
        errors.add(place, f"Invalid value: {_ONE_PLACE} is required, but multiple fields are set")
    together = spec.get("sharedCounters") is not None and spec.get("devices") is not None
    if together and errors.release.counters_apart:
        errors.add(place, "Invalid value: only one of `sharedCounters` or `devices` is allowed")
    devices = [_flattened(one) for one in sequence(spec.get("devices"))]
    per_device = spec.get("perDeviceNodeSelection") is True

    def device(at: Steps, value: Any) -> None:
        _check_device(errors, at, value, per_device=per_device)

    def counter_set(at: Steps, value: Any) -> None:
        check_label(errors, (*at, "name"), mapping(value).get("name"))
        _check_counters(errors, (*at, "counters"), mapping(value).get("counters"))

    most = _most_devices(devices) if errors.release.counters_apart else MAX_DEVICES
    errors.entries((*place, "devices"), devices, most, device, _name)
    sets = sequence(spec.get("sharedCounters"))
    most = MAX_COUNTER_SETS if errors.release.counters_apart else len(sets)
    errors.entries((*place, "sharedCounters"), sets, most, counter_set, _name)
    if not errors.release.counters_apart:
        check_counters_together(errors, devices, sets)


def _name(value: Any) -> str:
    return text(mapping(value).get("name"))


def _flattened(device: Any) -> dict[str, Any]:
    """Read a device of v1beta1, whose fields are below `basic`, as later versions write it."""
    device = mapping(device)
    return {**device, **mapping(device.get("basic"))}


def _most_devices(devices: list[dict[str, Any]]) -> int:
    for device in devices:
        attributes = mapping(device.get("attributes")).values()
        lists = any(name in mapping(one) for one in attributes for name in _LISTS)
        if device.get("taints") or device.get("consumesCounters") or lists:
            return MAX_ADVANCED_DEVICES
    return MAX_DEVICES


def _check_pool(errors: Errors, steps: Steps, pool: dict[str, Any]) -> None:
    check_pool(errors, (*steps, "name"), pool.get("name"))
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if type(count) is int and count <= 0:
        errors.invalid((*steps, "resourceSliceCount"), count, "must be greater than zero")
    if type(generation) is int and generation < 0:
        detail = "must be greater than or equal to zero"
        errors.invalid((*steps, "generation"), generation, detail)


def _set_places(
    errors: Errors, steps: Steps, holder: dict[str, Any], names: tuple[str, ...]
) -> Iterator[str]:
    """Yield which ways of naming nodes are used, and check each."""
    for name in names:
        value, at = holder.get(name), (*steps, name)
        if value is None:
            continue
        if name == "nodeSelector":
            one_term = steps == ("spec",) or errors.release.node_terms_limited
            check_node_selector(errors, at, value, one_term=one_term)
        elif name == "nodeName":
            if not value:
                errors.invalid(at, "", "must be either unset or set to a non-empty string")
                continue
            if fault := subdomain_fault(text(value)):
                errors.invalid(at, text(value), fault)
        elif value is not True:
            errors.invalid(at, value, "must be either unset or set to true")
            continue
        yield name


def _check_device(
    errors: Errors, steps: Steps, device: dict[str, Any], *, per_device: bool
) -> None:
    check_label(errors, (*steps, "name"), device.get("name"))
    attributes, capacity = mapping(device.get("attributes")), mapping(device.get("capacity"))
    _check_size(errors, steps, attributes, capacity)
    for name, value in attributes.items():
        check_attribute_name(errors, (*steps, "attributes", name), name)
        check_attribute(errors, (*steps, "attributes", name), mapping(value))
    shared = device.get("allowMultipleAllocations") is True
    for name, value in capacity.items():
        check_attribute_name(errors, (*steps, "capacity", name), name)
        check_capacity(errors, (*steps, "capacity", name), mapping(value), shared=shared)
    _check_taints(errors, (*steps, "taints"), device.get("taints"))
    _check_consumption(errors, (*steps, "consumesCounters"), device.get("consumesCounters"))
    _check_device_nodes(errors, steps, device, per_device=per_device)
    _check_binding(errors, steps, device)


def _check_size(
    errors: Errors, steps: Steps, attributes: dict[str, Any], capacity: dict[str, Any]
) -> None:
    total = len(attributes) + len(capacity)
    if total > MAX_ENTRIES:
        detail = f"the total number of attributes and capacities must not exceed {MAX_ENTRIES}"
        errors.invalid(steps, total, detail)
    values = 0
    for attribute in map(mapping, attributes.values()):
        values += sum(len(sequence(attribute.get(name))) for name in _LISTS) or 1
    if values > MAX_VALUES:
        detail = f"the total number of attribute values must not exceed {MAX_VALUES}"
        errors.invalid(steps, values, detail)


def _check_device_nodes(
    errors: Errors, steps: Steps, device: dict[str, Any], *, per_device: bool
) -> None:
    names = _PLACES[:3]
    if not per_device:
        if any(device.get(name) is not None for name in names):
            detail = (
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if"
                " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            )
            errors.add(steps, f"Invalid value: {detail}")
        return
    places = list(_set_places(errors, steps, device, names))
    detail = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when"
        " `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
    )
    if not places:
        errors.required(steps, detail)
    elif len(places) > 1:
        errors.add(steps, f"Invalid value: {detail}")


def _check_counters(errors: Errors, steps: Steps, counters: Any) -> None:
    counters = mapping(counters)
    if not counters:
        errors.required(steps)
    elif len(counters) > MAX_COUNTERS and errors.release.counters_apart:
        errors.too_many(steps, len(counters), MAX_COUNTERS)
    else:
        for name in counters:
            check_label(errors, (*steps, name), name)


def _check_consumption(errors: Errors, steps: Steps, consumed: Any) -> None:
    def consumption(at: Steps, value: Any) -> None:
        name = text(mapping(value).get("counterSet"))
        if name:
            check_label(errors, (*at, "counterSet"), name)
        else:
            errors.required((*at, "counterSet"))
        _check_counters(errors, (*at, "counters"), mapping(value).get("counters"))

    def key(value: Any) -> str:
        return text(mapping(value).get("counterSet"))

    found = sequence(consumed)
    most = MAX_CONSUMPTIONS if errors.release.counters_apart else len(found)
    errors.entries(steps, found, most, consumption, key)


def _check_taints(errors: Errors, steps: Steps, taints: Any) -> None:
    def taint(at: Steps, value: Any) -> None:
        check_taint(errors, at, mapping(value))

    errors.entries(steps, sequence(taints), MAX_TAINTS, taint)


def check_taint(errors: Errors, steps: Steps, taint: dict[str, Any]) -> None:
    """Check a taint of a device or rule; its effect is an enum of the schema."""
    check_label_name(errors, (*steps, "key"), taint.get("key"))
    value = text(taint.get("value"))
    if value and (fault := label_value_fault(value)):
        errors.invalid((*steps, "value"), value, fault)
    if not taint.get("effect"):
        errors.required((*steps, "effect"))


def _check_binding(errors: Errors, steps: Steps, device: dict[str, Any]) -> None:
    def condition(at: Steps, value: Any) -> None:
        check_label_name(errors, at, value)

    found = {}
    for name in ("bindingConditions", "bindingFailureConditions"):
        values = found[name] = sequence(device.get(name))
        errors.entries((*steps, name), values, MAX_CONDITIONS, condition)
        for index, value in repeated(map(text, values)):
            errors.duplicate((*steps, name, index), value)
    good, bad = found["bindingConditions"], found["bindingFailureConditions"]
    for index, value in enumerate(bad):
        if value in good:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            errors.invalid((*steps, "bindingFailureConditions", index), value, detail)
    if bool(good) != bool(bad):
        missing, present = "bindingConditions", "bindingFailureConditions"
        if good:
            missing, present = present, missing
        errors.add((*steps, missing), f"Invalid value: {missing} are required to use {present}")


def check_taint_rule(errors: Errors, obj: Object) -> None:
    """Check a DeviceTaintRule."""
    spec = mapping(obj.tree.get("spec"))
    selector, place = mapping(spec.get("deviceSelector")), ("spec", "deviceSelector")
    if selector.get("driver") is not None:
        check_driver(errors, (*place, "driver"), selector["driver"])
    if selector.get("pool") is not None:
        check_pool(errors, (*place, "pool"), selector["pool"])
    if selector.get("device") is not None:
        check_label(errors, (*place, "device"), selector["device"])
    check_taint(errors, ("spec", "taint"), mapping(spec.get("taint")))
