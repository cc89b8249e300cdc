"""Reviews of targets: DeviceMaintenances and DeviceTaintRules that mean nothing, or everything.

An empty selector of a DeviceTaintRule taints every device of the cluster (KEP-5055), and the API
server accepts it without an error; a DeviceMaintenance would drain them all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_configs import strictjson
from dragoman_configs.review.verdict import Verdict
from dragoman_webhooks.request import MAINTENANCE, TAINT_RULE, AdmissionRequest
from dragoman_webhooks.response import ReviewResponse

ANNOTATION = "dragoman.dev/allow-any-target"
"""With the value `true`, the target is accepted whatever it matches."""
MAX_EXPRESSION = 10 * 1024
"""Characters of `where`, as of a selector in a DeviceClass and as in the CRD."""
TARGETED = frozenset({MAINTENANCE, TAINT_RULE})
_ALLOWED = ReviewResponse.of(Verdict())
_REMEDY = f'annotate the object with {ANNOTATION}: "true" if that is meant'


@dataclass(frozen=True, slots=True)
class Matches:
    """What a target matches in the cluster."""

    some: bool  # Whether a device meets it
    every: bool  # Whether all devices meet it
    published: int  # Devices of the cluster
    # Why its expression does not compile, takes too long, or fails on each device; empty otherwise
    problem: str = ""


CountDevices = Callable[[Mapping[str, Any]], Matches | None]
"""Returns what `spec.target` matches; None while the devices are not known."""


def review_target(request: AdmissionRequest, count_devices: CountDevices | None) -> ReviewResponse:
    """Return the response for a DeviceMaintenance or a DeviceTaintRule."""
    response = review_text(request, counted=count_devices is not None)
    if response is not None or count_devices is None:
        return response or _ALLOWED
    return _counted(count_devices(_mapping(_mapping(request.object, "spec"), "target")))


def review_text(request: AdmissionRequest, *, counted: bool) -> ReviewResponse | None:
    """Return the response as far as the object decides; None where devices must be counted.

    A target that is stored already passes, so that labels and finalizers can be changed later.

    Args:
        request: About a DeviceMaintenance or a DeviceTaintRule.
        counted: Whether the devices of the cluster are known.
    """
    document = request.object
    field = "target" if request.kind == MAINTENANCE else "deviceSelector"
    selector = _mapping(document, "spec").get(field)
    old = request.old_object
    if old is not None:
        stored = _mapping(old, "spec").get(field)
        if strictjson.identity(stored) == strictjson.identity(selector):
            return _ALLOWED
    annotations = _mapping(_mapping(document, "metadata"), "annotations")
    if annotations.get(ANNOTATION) == "true":
        return _ALLOWED
    wanted = selector if isinstance(selector, dict) else {}
    if not any(wanted.values()):
        return ReviewResponse.denial(
            f"spec.{field}", f"it is empty and matches every device of the cluster: {_REMEDY}"
        )
    if request.kind == TAINT_RULE or not counted:
        return _ALLOWED
    where = wanted.get("where")
    if isinstance(where, str) and len(where) > MAX_EXPRESSION:
        return ReviewResponse.denial(
            "spec.target.where", f"it has more than {MAX_EXPRESSION} characters"
        )
    return None


def _counted(matches: Matches | None) -> ReviewResponse:
    if matches is None:
        return _ALLOWED
    if not matches.some and matches.problem:
        return ReviewResponse.denial("spec.target.where", matches.problem)
    if not matches.some:
        return ReviewResponse.denial(
            "spec.target", f"it matches none of {matches.published} devices: {_REMEDY}"
        )
    if matches.every and matches.published > 1:
        return ReviewResponse.denial(
            "spec.target", f"it matches all {matches.published} devices of the cluster: {_REMEDY}"
        )
    return _ALLOWED


def _mapping(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}
