"""Read ResourceClaims into facts."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakValueDictionary

import orjson

from dragoman.allocation.facts.amounts import Amount
from dragoman.allocation.facts.claims import (
    Claim,
    ClaimConfig,
    ClaimSpec,
    Condition,
    Constraint,
    ExactRequest,
    Held,
    HeldDevice,
    Request,
)
from dragoman.allocation.facts.objects import NOTHING, DeviceID, Document, Toleration
from dragoman.allocation.parsing.fields import (
    flag,
    instant,
    integer,
    node_selector,
    quantity,
    require_object,
    selectors,
)
from dragoman.model.fields import items, mapping, optional_text, text, texts

_specs: WeakValueDictionary[bytes, ClaimSpec] = WeakValueDictionary()
"""Specs by JSON text, while any claim has them."""


def parse_claim(document: Document) -> Claim:
    """Read a ResourceClaim; raise `MalformedObjectError` naming the field."""
    require_object(document)
    metadata = mapping(document, "metadata")
    return Claim(
        name=text(metadata, "name", "metadata."),
        namespace=optional_text(metadata, "namespace", "metadata.") or "",
        spec=_spec(mapping(document, "spec")),
        held=_held(mapping(document, "status")),
    )


def _spec(document: Document) -> ClaimSpec:
    try:
        key = orjson.dumps(document)
    except TypeError:  # an integer beyond 64 bits, or nesting too deep
        return _read_spec(document)
    spec = _specs.get(key)
    if spec is None:
        # A copy of the document: the caller may change its own, and the cache is shared by all.
        spec = _specs[key] = _read_spec(orjson.loads(key))
    return spec


def _read_spec(document: Document) -> ClaimSpec:
    devices = mapping(document, "devices", "spec.")
    within = "spec.devices."
    return ClaimSpec(
        requests=tuple(
            _request(item, f"{within}requests[{index}].")
            for index, item in enumerate(items(devices, "requests", within))
        ),
        constraints=tuple(
            _constraint(item, f"{within}constraints[{index}].")
            for index, item in enumerate(items(devices, "constraints", within))
        ),
        config=tuple(
            _config(item, f"{within}config[{index}].")
            for index, item in enumerate(items(devices, "config", within))
        ),
    )


def _request(document: Document, within: str) -> Request:
    name = text(document, "name", within)
    exactly = None
    if document.get("exactly") is not None:
        exactly = _exact_request(mapping(document, "exactly", within), name, f"{within}exactly.")
    return Request(
        name,
        exactly,
        tuple(
            _exact_request(item, text(item, "name", inner), inner, alternative=True)
            for index, item in enumerate(items(document, "firstAvailable", within))
            if (inner := f"{within}firstAvailable[{index}].")
        ),
    )


def _exact_request(
    document: Document, name: str, within: str, *, alternative: bool = False
) -> ExactRequest:
    # The API has no admin access in alternatives; such a field is unknown to the scheduler.
    return ExactRequest(
        name=name,
        class_name=optional_text(document, "deviceClassName", within) or "",
        mode=optional_text(document, "allocationMode", within) or "",
        count=integer(document, "count", within),
        admin_access=None if alternative else flag(document, "adminAccess", within),
        selectors=selectors(document, within),
        tolerations=tuple(
            _toleration(item, f"{within}tolerations[{index}].")
            for index, item in enumerate(items(document, "tolerations", within))
        ),
        capacity=None
        if document.get("capacity") is None
        else amounts(mapping(document, "capacity", within), "requests", f"{within}capacity."),
        derived_attributes=tuple(
            (
                text(item, "name", f"{within}derivedAttributes[{index}]."),
                text(item, "expression", f"{within}derivedAttributes[{index}]."),
            )
            for index, item in enumerate(items(document, "derivedAttributes", within))
        ),
    )


def _toleration(document: Document, within: str) -> Toleration:
    return Toleration(
        optional_text(document, "key", within) or "",
        optional_text(document, "operator", within) or "",
        optional_text(document, "value", within) or "",
        optional_text(document, "effect", within) or "",
        document,
    )


def _constraint(document: Document, within: str) -> Constraint:
    return Constraint(
        texts(document, "requests", within),
        optional_text(document, "matchAttribute", within),
        optional_text(document, "distinctAttribute", within),
    )


def _config(document: Document, within: str) -> ClaimConfig:
    rest = {key: value for key, value in document.items() if key != "requests"}
    return ClaimConfig(texts(document, "requests", within), rest)


def _held(status: Document) -> Held | None:
    if status.get("allocation") is None:
        return None
    allocation = mapping(status, "allocation", "status.")
    devices = mapping(allocation, "devices", "status.allocation.")
    within = "status.allocation.devices."
    reported = _reported(status)
    return Held(
        tuple(
            _held_device(item, f"{within}results[{index}].", reported)
            for index, item in enumerate(items(devices, "results", within))
        ),
        node_selector(allocation, "nodeSelector", "status.allocation."),
        allocation,
        instant(allocation, "allocationTimestamp", "status.allocation."),
    )


Reported = Mapping[DeviceID, Mapping[str, Condition]]


def _reported(status: Document) -> Reported:
    """Read what drivers report of devices; of several entries for one device the first counts."""
    found: dict[DeviceID, Mapping[str, Condition]] = {}
    for index, item in enumerate(items(status, "devices", "status.")):
        within = f"status.devices[{index}]."
        found.setdefault(_device_id(item, within), _conditions(item, within))
    return found


def _conditions(document: Document, within: str) -> Mapping[str, Condition]:
    found: dict[str, Condition] = {}
    for index, item in enumerate(items(document, "conditions", within)):
        inner = f"{within}conditions[{index}]."
        condition = Condition(
            optional_text(item, "status", inner) == "True",
            optional_text(item, "reason", inner) or "",
            optional_text(item, "message", inner) or "",
        )
        found.setdefault(text(item, "type", inner), condition)
    return found


def _device_id(document: Document, within: str) -> DeviceID:
    return DeviceID(
        text(document, "driver", within),
        text(document, "pool", within),
        text(document, "device", within),
    )


def _held_device(document: Document, within: str, reported: Reported) -> HeldDevice:
    device = _device_id(document, within)
    return HeldDevice(
        device,
        flag(document, "adminAccess", within) is True,
        optional_text(document, "shareID", within),
        None
        if document.get("consumedCapacity") is None
        else amounts(document, "consumedCapacity", within),
        texts(document, "bindingConditions", within),
        texts(document, "bindingFailureConditions", within),
        reported.get(device, NOTHING),
    )


def amounts(document: Document, key: str, within: str) -> Mapping[str, Amount]:
    """Read an object of quantities by name."""
    found = mapping(document, key, within)
    inner = f"{within}{key}."
    read = {name: quantity(found, name, inner) for name in found}
    return {name: value for name, value in read.items() if value is not None}
