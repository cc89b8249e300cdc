"""AdmissionReview in, AdmissionReview out; pure.

API: admission.k8s.io/v1 AdmissionReview. `dragoman_configs.review.validation` validates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from dragoman_configs import strictjson
from dragoman_configs.compile.registry import Registry
from dragoman_configs.objects.places import holder_of
from dragoman_configs.review.validation import MAX_STEPS, validate_configs, validate_schema
from dragoman_configs.review.verdict import Verdict
from dragoman_webhooks.cache import Caches
from dragoman_webhooks.request import CLAIM, SCHEMA, AdmissionRequest, parse_request
from dragoman_webhooks.response import ReviewResponse
from dragoman_webhooks.targets import TARGETED, review_target, review_text

_UNREVIEWED = ReviewResponse.of(Verdict())


class TooExpensiveError(Exception):
    """The review takes more steps than it was given."""


class Costly(Enum):
    """Reviews whose steps are not counted, so that they need a thread of their own."""

    SCHEMA = auto()
    """Of a DriverConfigSchema, which is compiled."""
    TARGET = auto()
    """Of a target of devices, which are counted."""


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """The result of one review."""

    body: bytes  # The AdmissionReview to send back, as JSON
    resource: str  # Plural of the reviewed resource, for metrics
    verdict: str  # `allowed`, `warned` or `denied`, for metrics
    drivers: tuple[str, ...]  # Drivers with a schema that reported errors or warnings


def review(body: bytes, registry: Registry, caches: Caches | None = None) -> ReviewResult:
    """Review an AdmissionReview with all steps, whatever it holds and however long it takes.

    Args:
        body: JSON as the API server sent it; drivers decode parameters literally, so the literal
            text is reviewed.
        registry: The active schemas.
        caches: Results to reuse and to add to.

    Raises:
        UnreviewableError: The body is no AdmissionReview of a reviewed resource.
    """
    caches = caches or Caches()
    result = review_configs(body, registry, caches)
    return result if isinstance(result, ReviewResult) else review_costly(body, registry, caches)


def review_configs(
    body: bytes, registry: Registry, caches: Caches, max_steps: int = MAX_STEPS
) -> ReviewResult | Costly:
    """Review the configs of a claim, template or class, and whatever else costs little.

    Args:
        body: As for `review`.
        registry: As for `review`.
        caches: As for `review`.
        max_steps: Steps after which the review gives up.

    Returns:
        What makes the review costly where `review_costly` must do it.

    Raises:
        TooExpensiveError: `max_steps` did not suffice.
        UnreviewableError: As for `review`.
    """
    request = parse_request(body)
    if not request.reviewed:
        return _result(request, _UNREVIEWED)
    if request.too_large:
        return _result(request, ReviewResponse.denial("object", request.too_large))
    if request.kind == SCHEMA:
        return Costly.SCHEMA
    if request.kind in TARGETED:
        response = review_text(request, counted=caches.count_devices is not None)
        return Costly.TARGET if response is None else _result(request, response)
    return _result(request, _validated(request, registry, caches, max_steps))


def review_costly(body: bytes, registry: Registry, caches: Caches) -> ReviewResult:
    """Review a DriverConfigSchema, or a target of devices.

    Args:
        body: As for `review`.
        registry: As for `review`.
        caches: As for `review`.

    Raises:
        UnreviewableError: As for `review`.
    """
    request = parse_request(body)
    if request.kind in TARGETED:
        return _result(request, review_target(request, caches.count_devices))
    verdict = validate_schema(registry, request.object, old=request.old_object or {})
    return _result(request, ReviewResponse.of(verdict))


def _validated(
    request: AdmissionRequest, registry: Registry, caches: Caches, max_steps: int
) -> ReviewResponse:
    """Return the response for an object with configs, from the cache where possible."""
    # A controller puts the denial into Events and logs, which must not show users' values.
    generated = request.kind == CLAIM and _is_generated(request.object)
    kind = f"generated {CLAIM}" if generated else request.kind
    configs = None
    if not request.old_object:
        configs = strictjson.canonical(holder_of(request.kind, request.object))
    responses = caches.responses(registry)
    cached = responses.get((kind, configs)) if configs is not None else None
    if cached is not None:
        return cached
    verdict = validate_configs(
        registry,
        request.kind,
        request.object,
        old=request.old_object or {},
        cache=caches.results,
        max_steps=max_steps,
    )
    if verdict.exhausted and max_steps < MAX_STEPS:
        raise TooExpensiveError
    response = ReviewResponse.of(verdict.redacted() if generated else verdict)
    if configs is not None:
        responses[kind, configs] = response
    return response


def _is_generated(document: Mapping[str, Any]) -> bool:
    """Whether a controller made the object."""
    metadata = document.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    listed = owners if isinstance(owners, list) else []
    return any(isinstance(owner, dict) and owner.get("controller") is True for owner in listed)


def _result(request: AdmissionRequest, response: ReviewResponse) -> ReviewResult:
    body = response.serialized(request.uid, request.name, request.group, request.object_kind)
    return ReviewResult(body, request.resource, response.verdict, response.drivers)
