"""AdmissionRequests: what a review reads from an AdmissionReview; pure.

API: admission.k8s.io/v1 AdmissionReview.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from dragoman_base.files.unreadable import DuplicateKeys
from dragoman_configs import strictjson
from dragoman_configs.fielderrors import clip

API_VERSION = "admission.k8s.io/v1"
REVIEWED_OPERATIONS = frozenset({"CREATE", "UPDATE"})
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
CLAIM, SCHEMA = "ResourceClaim", "DriverConfigSchema"
MAINTENANCE, TAINT_RULE = "DeviceMaintenance", "DeviceTaintRule"
KINDS: Mapping[tuple[str, str], str] = {
    ("resource.k8s.io", "resourceclaims"): CLAIM,
    ("resource.k8s.io", "resourceclaimtemplates"): "ResourceClaimTemplate",
    ("resource.k8s.io", "deviceclasses"): "DeviceClass",
    ("dragoman.dev", "clusterresourceclaimtemplates"): "ClusterResourceClaimTemplate",
    ("dragoman.dev", "driverconfigschemas"): SCHEMA,
    ("dragoman.dev", "devicemaintenances"): MAINTENANCE,
    ("resource.k8s.io", "devicetaintrules"): TAINT_RULE,
}
"""Reviewed kinds, by group and resource."""


class UnreviewableError(Exception):
    """The body is no AdmissionReview of a reviewed resource; the message says what was expected.

    It becomes an HTTP error, never `allowed: true`; failurePolicy then decides.
    """


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """The fields of an AdmissionRequest that a review needs."""

    uid: str  # Of the request
    operation: str  # One of `OPERATIONS`
    group: str  # API group of the resource
    resource: str  # Plural of the resource
    kind: str  # Of the resource, one of `KINDS`
    name: str  # Of the object; empty before the API server has generated one
    object_kind: str  # Of the object, as the request names it; may be empty
    object: dict[str, Any]  # To be stored; empty for a deletion
    old_object: dict[str, Any] | None  # The stored object on updates and deletions
    too_large: str = ""  # Why the objects were not parsed; empty if they were

    @property
    def reviewed(self) -> bool:
        """Whether the operation stores an object."""
        return self.operation in REVIEWED_OPERATIONS


def parse_request(body: bytes) -> AdmissionRequest:
    """Parse an AdmissionReview; raise UnreviewableError."""
    try:
        return _request(strictjson.parse(body))
    except strictjson.TooLargeError as error:
        return replace(_request(_envelope(body)), too_large=str(error))
    except strictjson.InvalidJSONError as error:
        raise UnreviewableError(f"expected a JSON AdmissionReview: {error}") from error


def _envelope(body: bytes) -> Any:
    """Parse an AdmissionReview without the objects in it; return None if that is impossible.

    The API server writes `object` behind the fields of the request. The separator is in no string
    before it, because JSON escapes quotes.
    """
    head, _, _ = body.partition(b'"object":')
    try:
        return orjson.loads(head.rstrip().removesuffix(b",") + b',"object":{}}}')
    except orjson.JSONDecodeError:
        return None


def _request(document: Any) -> AdmissionRequest:
    """Read the fields of an AdmissionReview; raise UnreviewableError."""
    if not isinstance(document, dict) or document.get("apiVersion") != API_VERSION:
        raise UnreviewableError(f"apiVersion: expected {API_VERSION}")
    _check_keys("", document)
    request = document.get("request")
    if document.get("kind") != "AdmissionReview" or not isinstance(request, dict):
        raise UnreviewableError("expected an AdmissionReview with a request")
    _check(request)
    group, resource = request["resource"]["group"], request["resource"]["resource"]
    kind = KINDS.get((group, resource))
    if kind is None:
        known = ", ".join(sorted(name for _, name in KINDS))
        found = clip(resource, 64)
        raise UnreviewableError(f"request.resource: expected one of {known}, found {found!r}")
    # `name` and `kind` are optional; leave them out unless they are strings.
    name, gvk = request.get("name"), request.get("kind")
    object_kind = gvk.get("kind") if isinstance(gvk, dict) else None
    return AdmissionRequest(
        uid=request["uid"],
        operation=request["operation"],
        group=group,
        resource=resource,
        kind=kind,
        name=name if isinstance(name, str) else "",
        object_kind=object_kind if isinstance(object_kind, str) else "",
        object=request.get("object") or {},
        old_object=request.get("oldObject"),
    )


def _check_keys(place: str, value: Any) -> None:
    """Raise UnreviewableError where an object repeats a key: which value counts is ambiguous."""
    if isinstance(value, DuplicateKeys):
        key = clip(value.duplicate_keys[0], 64)
        raise UnreviewableError(f"{place}{key}: expected the key once, found it repeated")


def _check(request: Mapping[str, Any]) -> None:
    """Raise UnreviewableError unless the request has every field that a review needs."""
    _check_keys("request.", request)
    for field in ("uid", "operation"):
        if not isinstance(request.get(field), str):
            raise UnreviewableError(f"request.{field}: expected a string")
    if request["operation"] not in OPERATIONS:
        raise UnreviewableError(f"request.operation: expected one of {', '.join(OPERATIONS)}")
    resource = request.get("resource")
    if not isinstance(resource, dict) or not all(
        isinstance(resource.get(field), str) for field in ("group", "resource")
    ):
        raise UnreviewableError("request.resource: expected group, version and resource")
    _check_keys("request.resource.", resource)
    for field in ("object", "oldObject"):
        _check_keys(f"request.{field}.", request.get(field))
        if not isinstance(request.get(field), dict | None):
            raise UnreviewableError(f"request.{field}: expected an object or null")
    if request["operation"] in REVIEWED_OPERATIONS and request.get("object") is None:
        raise UnreviewableError("request.object: expected the object to store, found null")
