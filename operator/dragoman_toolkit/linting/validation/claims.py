"""Claims, templates and classes, beyond their schema."""

import json
from collections.abc import Mapping
from typing import Any

from dragoman_configs.fielderrors import shorten
from dragoman_toolkit.linting.findings.finding import Steps
from dragoman_toolkit.linting.manifests.manifestobjects import (
    FLAT_FIELDS,
    Object,
    mapping,
    reach,
    sequence,
    text,
)
from dragoman_toolkit.linting.validation.errors import Errors, Name
from dragoman_toolkit.linting.validation.names import (
    check_attribute_name,
    check_driver,
    check_label,
    check_label_name,
    check_labels,
    extended_resource_fault,
    label_value_fault,
    size,
    subdomain_fault,
)
from dragoman_toolkit.linting.validation.policies import amount

MAX_REQUESTS = 32
MAX_CONSTRAINTS = 32
MAX_CONFIGS = 32
MAX_SELECTORS = 32
MAX_ALTERNATIVES = 8
MAX_PARAMETERS = 10 * 1024
MAX_CAPACITIES = 32

_UNION = "exactly one of `exactly` or `firstAvailable` is required"
_REFERENCE = (
    "must be the name of a request in the claim or the name of a request and a subrequest"
    " separated by '/'"
)

Names = Mapping[str, frozenset[str]]
"""The alternatives' names of every request of a claim."""


def check_claim(errors: Errors, obj: Object) -> None:
    """Check a ResourceClaim or ResourceClaimTemplate."""
    steps = obj.claim_steps
    assert steps is not None
    if obj.kind == "ResourceClaimTemplate":
        metadata = mapping(reach(obj.tree, ("spec", "metadata")))
        check_labels(errors, ("spec", "metadata"), metadata)
        for name in metadata:
            if name not in ("labels", "annotations", "creationTimestamp") and metadata[name]:
                detail = "cannot be set: the claim gets only labels and annotations of a template"
                errors.forbidden(("spec", "metadata", name), detail)
    devices = obj.devices
    names = _names(devices)

    def request(at: Steps, value: Any) -> None:
        _check_request(errors, at, mapping(value), flat=obj.version == "v1beta1")

    def constraint(at: Steps, value: Any) -> None:
        _check_constraint(errors, at, mapping(value), names)

    def config(at: Steps, value: Any) -> None:
        _check_references(errors, (*at, "requests"), mapping(value).get("requests"), names)
        check_config(errors, at, value)

    requests = sequence(devices.get("requests"))
    errors.entries((*steps, "requests"), requests, MAX_REQUESTS, request, _name)
    constraints = sequence(devices.get("constraints"))
    errors.entries((*steps, "constraints"), constraints, MAX_CONSTRAINTS, constraint)
    errors.entries((*steps, "config"), sequence(devices.get("config")), MAX_CONFIGS, config)


def check_class(errors: Errors, obj: Object) -> None:
    """Check a DeviceClass."""
    spec = mapping(obj.tree.get("spec"))
    check_selectors(errors, ("spec", "selectors"), spec.get("selectors"))

    def config(at: Steps, value: Any) -> None:
        check_config(errors, at, value)

    errors.entries(("spec", "config"), sequence(spec.get("config")), MAX_CONFIGS, config)
    name = spec.get("extendedResourceName")
    if isinstance(name, str) and (fault := extended_resource_fault(name)):
        errors.invalid(("spec", "extendedResourceName"), name, fault)


def _name(value: Any) -> str:
    return text(mapping(value).get("name"))


def _names(devices: dict[str, Any]) -> Names:
    found: dict[str, frozenset[str]] = {}
    for request in sequence(devices.get("requests")):
        alternatives = sequence(mapping(request).get("firstAvailable"))
        found[_name(request)] = frozenset(map(_name, alternatives))
    return found


def _check_request(errors: Errors, steps: Steps, request: dict[str, Any], *, flat: bool) -> None:
    check_label(errors, (*steps, "name"), request.get("name"))
    alternatives = sequence(request.get("firstAvailable"))
    # v1beta1 has the fields of `exactly` beside the name; they count as that when one is set.
    body = request if flat else request.get("exactly")
    exact = isinstance(body, dict)
    if flat:
        # Its default makes allocationMode set where there are no alternatives.
        exact = not alternatives or any(request.get(name) for name in FLAT_FIELDS)
    if not flat and any(name in request for name in FLAT_FIELDS) and not exact:
        return  # reported as unknown fields, with the way to correct them
    if exact and alternatives:
        detail = f"{_UNION}, but multiple fields are set"
        errors.add(steps, f"Invalid value: {detail}")
    elif alternatives:
        place = (*steps, "firstAvailable")

        def alternative(at: Steps, value: Any) -> None:
            check_label(errors, (*at, "name"), mapping(value).get("name"))
            _check_body(errors, at, mapping(value))

        errors.entries(place, alternatives, MAX_ALTERNATIVES, alternative, _name)
    elif exact:
        _check_body(errors, steps if flat else (*steps, "exactly"), mapping(body))
    else:
        errors.required(steps, _UNION)


def _check_body(errors: Errors, steps: Steps, body: dict[str, Any]) -> None:
    name = text(body.get("deviceClassName"))
    if not name:
        errors.required((*steps, "deviceClassName"))
    elif fault := subdomain_fault(name):
        errors.invalid((*steps, "deviceClassName"), name, fault)
    check_selectors(errors, (*steps, "selectors"), body.get("selectors"))
    _check_count(errors, steps, body)
    # The documented limit of 16 tolerations is not enforced, neither in 1.34 nor in 1.36.
    for index, toleration in enumerate(sequence(body.get("tolerations"))):
        _check_toleration(errors, (*steps, "tolerations", index), mapping(toleration))
    wanted = mapping(mapping(body.get("capacity")).get("requests"))
    place = (*steps, "capacity", "requests")
    if errors.release.capacity_requests_checked:
        _check_capacity(errors, place, wanted)
        return
    for key in wanted:
        check_attribute_name(errors, (*place, key), key)


def _check_capacity(errors: Errors, place: Steps, wanted: dict[str, Any]) -> None:
    for key in wanted:
        check_attribute_name(errors, place, key)  # the API server leaves the key out
    if len(wanted) > MAX_CAPACITIES:
        errors.too_many(place, len(wanted), MAX_CAPACITIES)
        return
    for key, value in wanted.items():
        if amount(value) < 0:
            errors.invalid((*place, key), value, "must be greater than or equal to 0")


def _check_count(errors: Errors, steps: Steps, body: dict[str, Any]) -> None:
    mode, count = text(body.get("allocationMode")), body.get("count") or 0
    if mode not in ("", "All", "ExactCount") and not errors.release.modes_in_schema:
        supported = 'supported values: "All", "ExactCount"'
        errors.add((*steps, "allocationMode"), f'Unsupported value: "{mode}": {supported}')
    if type(count) not in (int, float):
        return
    if mode == "All" and count != 0:
        detail = "must not be specified when allocationMode is 'All'"
        errors.invalid((*steps, "count"), count, detail)
    elif mode in ("", "ExactCount") and count < 0:
        errors.invalid((*steps, "count"), count, "must be greater than zero")


def check_selectors(errors: Errors, steps: Steps, selectors: Any) -> None:
    """Check a list of selectors but for their expressions."""

    def selector(at: Steps, value: Any) -> None:
        if not isinstance(mapping(value).get("cel"), dict):
            errors.required((*at, "cel"))

    errors.entries(steps, sequence(selectors), MAX_SELECTORS, selector)


def _check_toleration(errors: Errors, steps: Steps, toleration: dict[str, Any]) -> None:
    key, value = text(toleration.get("key")), text(toleration.get("value"))
    operator = text(toleration.get("operator")) or "Equal"
    if key:
        check_label_name(errors, (*steps, "key"), key)
    if operator == "Exists" and value:
        errors.invalid((*steps, "value"), value, "must be empty for operator `Exists`")
    elif operator == "Equal" and (fault := label_value_fault(value)):
        errors.invalid((*steps, "value"), value, fault)


def _check_constraint(
    errors: Errors, steps: Steps, constraint: dict[str, Any], names: Names
) -> None:
    _check_references(errors, (*steps, "requests"), constraint.get("requests"), names)
    match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
    if isinstance(match, str):
        check_attribute_name(errors, (*steps, "matchAttribute"), match, full=True)
    elif isinstance(distinct, str):
        check_attribute_name(errors, (*steps, "distinctAttribute"), distinct, full=True)
    else:
        errors.required(steps, 'exactly one of "matchAttribute" or "distinctAttribute" is required')


def _check_references(errors: Errors, steps: Steps, requests: Any, names: Names) -> None:
    def reference(at: Steps, value: Any) -> None:
        name = text(value)
        main, slash, sub = name.partition("/")
        if name.count("/") > 1 or main not in names or (slash and sub not in names[main]):
            meant = Name(at, name, known.difference(map(text, sequence(requests))))
            errors.unknown(at, meant, f"Invalid value: {shorten(name)}: {_REFERENCE}")

    known = {*names, *(f"{main}/{one}" for main, subs in names.items() for one in subs)}
    errors.entries(steps, sequence(requests), MAX_REQUESTS, reference, text)


def check_config(errors: Errors, steps: Steps, value: Any) -> None:
    """Check an opaque config, but not what its parameters say."""
    opaque = mapping(value).get("opaque")
    if not isinstance(opaque, dict):
        errors.required((*steps, "opaque"))
        return
    check_driver(errors, (*steps, "opaque", "driver"), opaque.get("driver"))
    parameters, place = opaque.get("parameters"), (*steps, "opaque", "parameters")
    if parameters is None:
        errors.required(place)
    elif not isinstance(parameters, dict):
        errors.add(place, "Invalid value: must be a valid JSON object")
    elif size(json.dumps(parameters, separators=(",", ":"), default=str)) > MAX_PARAMETERS:
        errors.too_long(place, MAX_PARAMETERS)
