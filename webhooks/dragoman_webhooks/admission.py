"""From an AdmissionReview to its response; pure.

API: admission.k8s.io/v1 AdmissionReview. Verdicts are those of `dragoman.driverconfigs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.driverconfigs import strictjson
from dragoman.driverconfigs.entries import holder_of
from dragoman.driverconfigs.fielderrors import clip
from dragoman.driverconfigs.registry import Registry
from dragoman.driverconfigs.validation import (
    MAX_STEPS,
    being_deleted,
    validate_configs,
    validate_schema,
)
from dragoman.driverconfigs.verdict import Verdict
from dragoman_webhooks.cache import Memories
from dragoman_webhooks.response import Opinion

API_VERSION = "admission.k8s.io/v1"
REVIEWED_OPERATIONS = frozenset({"CREATE", "UPDATE"})
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
QUICK_STEPS = 10_000
"""Steps of a review that others wait for: some milliseconds. An ordinary config takes 100."""

CLAIMS = ("resource.k8s.io", "resourceclaims")
SCHEMAS = ("dragoman.dev", "driverconfigschemas")
KINDS: Mapping[tuple[str, str], str] = {
    CLAIMS: "ResourceClaim",
    ("resource.k8s.io", "resourceclaimtemplates"): "ResourceClaimTemplate",
    ("resource.k8s.io", "deviceclasses"): "DeviceClass",
    SCHEMAS: "DriverConfigSchema",
}
"""Kinds that are reviewed, by group and resource."""

_NOTHING = Opinion.of(Verdict())


class UnreviewableError(Exception):
    """A request that is no review of something known here.

    The message says what was expected. Nobody may be let in because of it: it becomes an HTTP
    error, and the webhook's failurePolicy decides.
    """


class TooDear(Exception):  # noqa: N818 — says what the review is
    """A review that takes more steps than it was allowed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a review.

    Attributes:
        body: The AdmissionReview to send back, as JSON.
        resource: Plural of what was reviewed, for metrics.
        verdict: `allowed`, `warned` or `denied`, for metrics.
        drivers: Drivers whose schemas had something to say.
    """

    body: bytes
    resource: str
    verdict: str
    drivers: tuple[str, ...]


def answer(body: bytes, registry: Registry, memories: Memories | None = None) -> Answer:
    """Review an AdmissionReview as it came; raise UnreviewableError where it is none.

    Args:
        body: JSON, as the API server sent it: what drivers see literally is judged literally.
        registry: The schemas in force.
        memories: What to reuse and to add to.
    """
    given = quick_answer(body, registry, memories or Memories(), MAX_STEPS, compiles=True)
    assert given is not None, "with all steps there is always an answer"
    return given


def quick_answer(
    body: bytes,
    registry: Registry,
    memories: Memories,
    allowance: int = QUICK_STEPS,
    *,
    compiles: bool = False,
) -> Answer | None:
    """Review as `answer` does, if that takes few steps.

    Args:
        body: As there.
        registry: As there.
        memories: As there.
        allowance: Steps after which to give up.
        compiles: Take on DriverConfigSchemas: compiling is not counted, and takes up to a second.

    Returns:
        None for DriverConfigSchemas that are not taken on.

    Raises:
        TooDear: The steps did not suffice.
        UnreviewableError: As there.
    """
    request = _request(body)
    group, resource = request["resource"]["group"], request["resource"]["resource"]
    kind = KINDS.get((group, resource))
    if kind is None:
        known = ", ".join(sorted(name for _, name in KINDS))
        found = clip(resource, 64)
        raise UnreviewableError(f"request.resource: expected one of {known}, found {found!r}")
    opinion = _NOTHING
    if request["operation"] in REVIEWED_OPERATIONS:
        if kind != KINDS[SCHEMAS]:
            opinion = _opinion(kind, request, registry, memories, allowance)
        elif not compiles:
            return None
        else:
            document, old = request["object"], request.get("oldObject")
            opinion = Opinion.of(validate_schema(registry, document, old=old))
    # Kind and name are nobody's promise; where they are odd, the answer does without.
    told = request.get("kind")
    told_kind = told.get("kind") if isinstance(told, dict) else None
    words = [one if isinstance(one, str) else "" for one in (request.get("name"), told_kind)]
    written = opinion.about(request["uid"], words[0], group, words[1])
    return Answer(written, resource, opinion.verdict, opinion.drivers)


def _opinion(
    kind: str, request: Mapping[str, Any], registry: Registry, memories: Memories, allowance: int
) -> Opinion:
    """Form an opinion, or remember one of the same configs."""
    document, old = request["object"], request.get("oldObject")
    remembered = memories.opinions(registry)
    # Who generates claims puts the refusal into Events and logs, where values do not belong.
    generated = kind == KINDS[CLAIMS] and _is_generated(document)
    subject = f"generated {kind}" if generated else kind
    written = None
    if not old and not being_deleted(document):
        written = strictjson.canonical(holder_of(kind, document))
    known = remembered.get((subject, written)) if written is not None else None
    if known is not None:
        return known
    judgements = memories.judgements
    verdict = validate_configs(
        registry, kind, document, old=old, cache=judgements, max_steps=allowance
    )
    if verdict.exhausted and allowance < MAX_STEPS:
        raise TooDear
    opinion = Opinion.of(verdict.redacted() if generated else verdict)
    if written is not None:
        remembered[subject, written] = opinion
    return opinion


def _is_generated(document: Mapping[str, Any]) -> bool:
    """Whether a controller made the object, so that nobody reads the answer at a prompt."""
    metadata = document.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    listed = owners if isinstance(owners, list) else []
    return any(isinstance(owner, dict) and owner.get("controller") is True for owner in listed)


def _request(body: bytes) -> Mapping[str, Any]:
    try:
        document = strictjson.parse(body)
    except strictjson.InvalidJSONError as error:
        raise UnreviewableError(f"expected a JSON AdmissionReview: {error}") from error
    if not isinstance(document, dict) or document.get("apiVersion") != API_VERSION:
        raise UnreviewableError(f"apiVersion: expected {API_VERSION}")
    request = document.get("request")
    if document.get("kind") != "AdmissionReview" or not isinstance(request, dict):
        raise UnreviewableError("expected an AdmissionReview with a request")
    _check(request)
    return request


def _check(request: Mapping[str, Any]) -> None:
    """Raise UnreviewableError unless everything is there that a review needs."""
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
    for field in ("object", "oldObject"):
        if not isinstance(request.get(field), dict | None):
            raise UnreviewableError(f"request.{field}: expected an object or null")
    if request["operation"] in REVIEWED_OPERATIONS and request.get("object") is None:
        raise UnreviewableError("request.object: expected an object, for there is one to store")
