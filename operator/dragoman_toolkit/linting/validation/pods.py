"""What pods say about claims and extended resources, beyond the schema; no more of a pod."""

import re
from fractions import Fraction
from typing import Any

from dragoman_configs.fielderrors import shorten
from dragoman_toolkit.linting.findings.finding import Steps
from dragoman_toolkit.linting.knowledge.api import is_quantity
from dragoman_toolkit.linting.manifests.manifestobjects import mapping, sequence, text
from dragoman_toolkit.linting.validation.errors import Errors, Name
from dragoman_toolkit.linting.validation.names import label_fault, qualified_fault, subdomain_fault
from dragoman_toolkit.workloads import PodSpec

_NATIVE = re.compile(r"(.*\.)?kubernetes\.io")
"""Domains of resources that are none of a device plugin or class."""
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_OTHERS = frozenset(
    {
        *("pods", "services", "replicationcontrollers", "secrets", "configmaps", "storage"),
        *("persistentvolumeclaims", "resourcequotas", "requests.storage"),
        *("services.nodeports", "services.loadbalancers"),
        *(f"{part}.{name}" for part in ("requests", "limits") for name in _STANDARD),
    }
)
"""Resources of quotas and nodes, which containers do not have."""
_AMOUNT = re.compile(r"([+-]?[0-9.]*)(.*)")
_NEGATIVE = re.compile(r"-[0.]*[1-9]")
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_MOST_POWERS = 400
_NAMES = ("resourceClaimName", "resourceClaimTemplateName")
_BOTH = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
_NEITHER = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"


def check_pods(errors: Errors, pods: PodSpec) -> None:
    """Check the claims of pods, and what they ask of extended resources."""
    check_pod_claims(errors, (*pods.steps, "resourceClaims"), pods.spec.get("resourceClaims"))
    if mapping(pods.spec.get("resources")).get("claims"):
        place = (*pods.steps, "resources", "claims")
        errors.forbidden(place, "a pod names claims in resourceClaims, its containers use them")
    for steps, container in pods.containers():
        resources = mapping(container.get("resources"))
        check_container_claims(
            errors, (*steps, "resources", "claims"), resources.get("claims"), pods
        )
        _check_resource_names(errors, (*steps, "resources"), resources)
        _check_extended(errors, (*steps, "resources"), resources)
    _check_machine(errors, pods)


def _check_machine(errors: Errors, pods: PodSpec) -> None:
    """Check the devices of a virtual machine, each of which names a claim of its pod."""
    for steps, uses in pods.uses():
        if steps[-1:] != ("claims",):
            check_container_claims(errors, steps, uses, pods)


def _check_resource_names(errors: Errors, steps: Steps, resources: dict[str, Any]) -> None:
    """Check the names of limits and requests (ValidateContainerResourceName)."""
    for part in ("limits", "requests"):
        for name in mapping(resources.get(part)):
            if name == "claims" or name in _STANDARD or name.startswith("hugepages-"):
                continue
            at = (*steps, part, name)
            if fault := qualified_fault(name):
                errors.invalid(at, name, fault)
            elif "/" not in name:
                detail = "must be a standard resource for containers"
                if name not in _OTHERS:
                    detail = "must be a standard resource type or fully qualified"
                errors.add(at, f"Invalid value: {shorten(name)}: {detail}", advice=_class(name))


def _class(name: str) -> str:
    """Return how to ask for a device of the class that was written as a resource."""
    if "." not in name or subdomain_fault(name):
        return "devices are asked for by a claim, or by domain and name, such as example.com/gpu"
    return f"a class is no resource: write deviceclass.resource.kubernetes.io/{name}, or a claim"


def _check_extended(errors: Errors, steps: Steps, resources: dict[str, Any]) -> None:
    """Check that an extended resource is asked for whole and in equal numbers: none is shared."""
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if is_quantity(amount) and _NEGATIVE.match(str(amount)):
                errors.invalid((*steps, part, name), amount, "must be greater than or equal to 0")
            if _is_extended(name) and is_quantity(amount) and not _is_whole(amount):
                errors.invalid((*steps, part, name), amount, "must be an integer")
    for name, amount in requests.items():
        if not _is_extended(name):
            continue
        place = (*steps, "requests", name)
        if name not in limits:
            detail = f"{name} needs a limit that equals the request"
            errors.required((*steps, "limits"), detail)
        elif is_quantity(amount) and is_quantity(limits[name]) and str(amount) != str(limits[name]):
            errors.invalid(place, amount, f"must be equal to {name} limit of {limits[name]}")


def _is_extended(name: str) -> bool:
    domain, slash, _ = name.partition("/")
    return bool(slash) and not _NATIVE.fullmatch(domain) and not name.startswith("requests.")


def _is_whole(amount: Any) -> bool:
    if isinstance(amount, int) or (isinstance(amount, str) and amount.isdecimal()):
        return True
    number, suffix = _AMOUNT.fullmatch(str(amount)).groups()  # type: ignore[union-attr]
    power = int(suffix[1:]) if suffix[:1] in ("e", "E") and suffix[1:] else _POWERS.get(suffix, 0)
    if abs(power) > _MOST_POWERS:
        return power > 0
    factor = 1 << 10 * _BINARY.index(suffix) if suffix in _BINARY else Fraction(10) ** power
    return (Fraction(number) * factor).denominator == 1


def check_pod_claims(errors: Errors, steps: Steps, claims: Any) -> None:
    """Check `resourceClaims` of a pod or pod group."""
    seen: set[str] = set()
    for index, claim in enumerate(map(mapping, sequence(claims))):
        at, name = (*steps, index), text(claim.get("name"))
        if not name:
            errors.required((*at, "name"))
        elif name in seen:
            errors.duplicate((*at, "name"), name)
        elif fault := label_fault(name):
            errors.invalid((*at, "name"), name, fault)
        seen.add(name)
        given = [one for one in _NAMES if claim.get(one) is not None]
        if len(given) == 2:
            errors.add(at, f"Invalid value: {_BOTH}")
        elif not given and "source" not in claim:
            errors.add(at, f"Invalid value: {_NEITHER}")
        for one in given:
            if fault := subdomain_fault(text(claim[one])):
                errors.invalid((*at, one), text(claim[one]), fault)


def check_container_claims(errors: Errors, steps: Steps, claims: Any, pods: PodSpec) -> None:
    """Check `resources.claims` of a container."""
    declared = [text(mapping(one).get("name")) for one in sequence(pods.spec.get("resourceClaims"))]
    whole: set[str] = set()
    parts: set[tuple[str, str]] = set()
    for index, claim in enumerate(map(mapping, sequence(claims))):
        at, name, request = (*steps, index), text(claim.get("name")), text(claim.get("request"))
        if not name:
            errors.required(at)
            continue
        if request and (fault := label_fault(request)):
            errors.invalid((*at, "request"), request, fault)
        overlaps = not request and any(name == one for one, _ in parts)
        if name in whole or (name, request) in parts or overlaps:
            errors.duplicate(at, f"{name}/{request}" if request and name not in whole else name)
        if request:
            parts.add((name, request))
        else:
            whole.add(name)
        if name not in declared:
            listed = ", ".join(sorted({one for one in declared if one})) or "none"
            detail = f"must be one of the names in pod.spec.resourceClaims: {listed}"
            used = {text(mapping(one).get("name")) for one in sequence(claims)}
            meant = Name((*at, "name"), name, {one for one in declared if one} - used)
            errors.unknown(at, meant, f'Not found: "{name}": {detail}', "dra/reference-missing")
