"""Opinions: verdicts in the words of an admission response, ready to be sent."""

from dataclasses import dataclass
from typing import Any

import orjson

from dragoman.driverconfigs.verdict import Verdict

DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What there is to say about an object, whatever its name is.

    Attributes:
        verdict: `allowed`, `warned` or `denied`.
        drivers: Drivers whose schemas had something to say, in order.
        fields: The response's fields beside `uid`, as JSON without braces. Of a refusal `status` is
            the last one, and `details` the last one in it; both are left open.
    """

    verdict: str
    drivers: tuple[str, ...]
    fields: bytes

    @classmethod
    def of(cls, verdict: Verdict) -> "Opinion":
        """Put a verdict into words."""
        warnings, annotations = verdict.warnings, verdict.annotations
        response: dict[str, Any] = {"allowed": verdict.allowed}
        if warnings:
            response["warnings"] = warnings
        if annotations:
            response["auditAnnotations"] = annotations
        if not verdict.allowed:
            response["status"] = _status(verdict)
        return cls(
            verdict=DENIED if not verdict.allowed else "warned" if warnings else "allowed",
            drivers=tuple(sorted({one.driver for one in verdict.violations if one.schema})),
            fields=orjson.dumps(response)[1 : -1 if verdict.allowed else -3],
        )

    def about(self, uid: str, name: str, group: str, kind: str) -> bytes:
        """Write the AdmissionReview that answers a request.

        Args:
            uid: Of the request.
            name: Of the object; empty where it has none yet.
            group: Of its resource.
            kind: Of the object.
        """
        parts = [_BEGIN, orjson.dumps(uid), b",", self.fields]
        if self.verdict == DENIED:
            about = {"name": name, "group": group, "kind": kind}
            parts += [b",", orjson.dumps(about)[1:], b"}"]
        return b"".join((*parts, b"}}"))


_BEGIN = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":'


def _status(verdict: Verdict) -> dict[str, Any]:
    causes = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field}
        for cause in verdict.causes
    ]
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": verdict.message,
        "details": {"causes": causes},
    }
