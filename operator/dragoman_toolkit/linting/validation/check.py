"""`dra/invalid`: everything beyond the schema that makes the API server refuse an object."""

from collections.abc import Callable, Mapping
from typing import Any

from dragoman_base.files.unreadable import DuplicateKeys
from dragoman_base.versions import NEWEST, Release, Version
from dragoman_toolkit.linting.findings.finding import Problem, Steps
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping, reach, sequence
from dragoman_toolkit.linting.validation.claims import check_claim, check_class
from dragoman_toolkit.linting.validation.errors import Errors
from dragoman_toolkit.linting.validation.names import check_driver, check_metadata
from dragoman_toolkit.linting.validation.pods import check_pod_claims, check_pods
from dragoman_toolkit.linting.validation.slices import check_slice, check_taint_rule

_MAX_POOLS = 1000
_MAX_GROUP_CLAIMS = 4


def invalid(obj: Object, version: Version = NEWEST) -> list[Problem]:
    """Find what the validation of an API server of some version refuses."""
    errors = Errors(Release(version))
    check_metadata(errors, obj)
    if obj.in_group:
        if check := _CHECKS.get(obj.kind):
            check(errors, obj)
    elif obj.pod_specs:
        for pods in obj.pod_specs:
            check_pods(errors, pods)
    elif obj.kind == "PodGroup":
        claims = reach(obj.tree, ("spec", "resourceClaims"))
        check_pod_claims(errors, ("spec", "resourceClaims"), claims)
        if len(sequence(claims)) > _MAX_GROUP_CLAIMS:
            errors.too_many(("spec", "resourceClaims"), len(claims), _MAX_GROUP_CLAIMS)
    _check_repeated(errors, (), obj.tree)
    return errors.problems


def _check_pool_request(errors: Errors, obj: Object) -> None:
    spec = mapping(obj.tree.get("spec"))
    check_driver(errors, ("spec", "driver"), spec.get("driver"))
    limit = spec.get("limit")
    if type(limit) is int and not 1 <= limit <= _MAX_POOLS:
        detail = f"must be between 1 and {_MAX_POOLS}"
        errors.invalid(("spec", "limit"), limit, detail)


def _check_repeated(errors: Errors, steps: Steps, value: Any) -> None:
    """Report keys that occur twice: strict validation refuses them, a lax one keeps the last."""
    if isinstance(value, DuplicateKeys):
        for key in value.duplicate_keys:
            errors.add((*steps, key), "duplicate field")
    if isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, dict | list):
                _check_repeated(errors, (*steps, key), member)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            if isinstance(member, dict | list):
                _check_repeated(errors, (*steps, index), member)


_CHECKS: Mapping[str, Callable[[Errors, Object], None]] = {
    "ResourceClaim": check_claim,
    "ResourceClaimTemplate": check_claim,
    "DeviceClass": check_class,
    "ResourceSlice": check_slice,
    "DeviceTaintRule": check_taint_rule,
    "ResourcePoolStatusRequest": _check_pool_request,
}
