"""Parses whole ResourceClaims: what they request, and where they can be used."""

from dataclasses import replace
from weakref import WeakValueDictionary

import orjson

from dragoman.model.amounts import amounts
from dragoman.model.claim import Claim
from dragoman.model.fields import (
    Document,
    flag,
    instant,
    integer,
    items,
    mapping,
    optional_text,
    require_object,
    selectors,
    text,
    texts,
)
from dragoman.model.nodeselector import node_selector
from dragoman.model.requests import ClaimConfig, ClaimSpec, Constraint, ExactRequest, Request
from dragoman.model.taints import RESERVATION, parse_toleration

_specs: WeakValueDictionary[bytes, ClaimSpec] = WeakValueDictionary()
"""Specs by JSON text, while any claim has them."""


def parse_claim(document: Document) -> Claim:
    """Read a ResourceClaim with its content; raise `MalformedObjectError` naming the field."""
    require_object(document)
    claim = Claim.parse(document, stored=False)
    held, status = claim.held, mapping(document, "status")
    if held is not None:
        within = "status.allocation."
        allocation = mapping(status, "allocation", "status.")
        instant(allocation, "allocationTimestamp", within)
        _check_amounts(mapping(allocation, "devices", within))
        selector = node_selector(allocation, "nodeSelector", within)
        held = replace(held, node_selector=selector, document=allocation)
    return replace(
        claim,
        spec=parse_spec(mapping(document, "spec")),
        held=held,
        changed_at=_status_written(mapping(document, "metadata")),
    )


def parse_template(document: Document) -> Claim:
    """Read a ResourceClaimTemplate as a claim of its name that has its spec."""
    metadata = mapping(document, "metadata")
    return Claim.requesting(
        text(metadata, "name", "metadata."),
        optional_text(metadata, "namespace", "metadata.") or "",
        parse_spec(mapping(mapping(document, "spec"), "spec", "spec.")),
    )


def _check_amounts(devices: Document) -> None:
    within = "status.allocation.devices."
    for index, item in enumerate(items(devices, "results", within)):
        if "consumedCapacity" in item:
            amounts(item, "consumedCapacity", f"{within}results[{index}].")


def _status_written(metadata: Document) -> str:
    fields = items(metadata, "managedFields", "metadata.")
    times = (str(one.get("time") or "") for one in fields if one.get("subresource") == "status")
    return max(times, default="")


def parse_spec(document: Document) -> ClaimSpec:
    """Read `spec`; equal specs share one object while any claim has them."""
    try:
        key = orjson.dumps(document)
    except TypeError:  # an integer beyond 64 bits, or nesting too deep
        return _read_spec(document)
    spec = _specs.get(key)
    if spec is None:
        # A copy of the document: the caller may change its own, and the cache is shared by all.
        spec = _read_spec(orjson.loads(key))
        if RESERVATION.encode() in key:
            spec = _with_plain(spec, orjson.loads(key))
        _specs[key] = spec
    return spec


def _with_plain(spec: ClaimSpec, document: Document) -> ClaimSpec:
    """Return a spec that knows itself without tolerations of reservations."""
    uids: set[str] = set()
    for request in (document.get("devices") or {}).get("requests") or ():
        for one in (request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            found = one.get("tolerations") or ()
            own = [toleration for toleration in found if _of_reservation(toleration)]
            uids.update(str(toleration["value"]) for toleration in own)
            if own and len(own) == len(found):
                del one["tolerations"]
            elif own:
                one["tolerations"] = [toleration for toleration in found if toleration not in own]
    if not uids:
        return spec
    return replace(spec, reservations=frozenset(uids), plain=parse_spec(document))


def _of_reservation(toleration: Document) -> bool:
    operator = toleration.get("operator") or "Equal"
    return toleration.get("key") == RESERVATION and operator == "Equal" and "value" in toleration


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
            parse_toleration(item, f"{within}tolerations[{index}].")
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


def _constraint(document: Document, within: str) -> Constraint:
    return Constraint(
        texts(document, "requests", within),
        optional_text(document, "matchAttribute", within),
        optional_text(document, "distinctAttribute", within),
    )


def _config(document: Document, within: str) -> ClaimConfig:
    rest = {key: value for key, value in document.items() if key != "requests"}
    return ClaimConfig(texts(document, "requests", within), rest)
