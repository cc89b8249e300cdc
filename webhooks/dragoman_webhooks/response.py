"""AdmissionResponses as JSON, complete but for the uid and the name of the object."""

from dataclasses import dataclass
from typing import Any, Self

import orjson

from dragoman_configs.fielderrors import INVALID
from dragoman_configs.review.verdict import Cause, Verdict

ALLOWED, WARNED, DENIED = "allowed", "warned", "denied"
_HEAD = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":'


@dataclass(frozen=True, slots=True)
class ReviewResponse:
    """The response to the reviews of all objects with the same configs."""

    verdict: str  # `allowed`, `warned` or `denied`
    drivers: tuple[str, ...]  # Drivers with a schema that reported errors or warnings, sorted
    # The fields of the AdmissionResponse beside `uid`, as JSON without braces. `status` of a denial
    # comes last, and so does `details` in it; `serialized` closes both.
    fields: bytes

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        """Return the response for a verdict."""
        warnings, annotations = verdict.warnings, verdict.annotations
        response: dict[str, Any] = {"allowed": verdict.allowed}
        if warnings:
            response["warnings"] = warnings
        if annotations:
            response["auditAnnotations"] = annotations
        drivers = tuple(sorted({one.driver for one in verdict.violations if one.schema}))
        if verdict.allowed:
            return cls(WARNED if warnings else ALLOWED, drivers, orjson.dumps(response)[1:-1])
        return cls(DENIED, drivers, _denial(response, verdict.message, verdict.causes))

    @classmethod
    def denial(cls, field: str, detail: str) -> Self:
        """Return a response that denies an object for one field, without a schema."""
        message = f"Invalid value: {detail}"
        causes = (Cause(INVALID, message, field),)
        return cls(DENIED, (), _denial({"allowed": False}, f"{field}: {message}", causes))

    def serialized(self, uid: str, name: str, group: str, kind: str) -> bytes:
        """Return the AdmissionReview that answers a request.

        Args:
            uid: Of the request.
            name: Of the object; empty before the API server has generated one.
            group: API group of the resource.
            kind: Of the object.
        """
        parts = [_HEAD, orjson.dumps(uid), b",", self.fields]
        if self.verdict == DENIED:
            details = {"name": name, "group": group, "kind": kind}
            parts += [b",", orjson.dumps(details)[1:], b"}"]
        return b"".join((*parts, b"}}"))


def _denial(response: dict[str, Any], message: str, causes: tuple[Cause, ...]) -> bytes:
    """Return the fields of a denial, with `status` and `details` left open."""
    status = {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": message,
        "details": {"causes": causes},
    }
    return orjson.dumps({**response, "status": status})[1:-3]
