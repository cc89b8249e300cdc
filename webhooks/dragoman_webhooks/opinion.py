"""Opinions: verdicts in the words of an admission response, ready to be sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from dragoman.configs.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Opinion:
    """What there is to say about an object, whatever its name is.

    Attributes:
        verdict: `allowed`, `warned` or `denied`.
        drivers: Drivers whose schemas had something to say, in order.
        fields: The response's fields beside `uid` and `status`, as JSON without braces.
        status: Why the object is refused; None where it is not.
    """

    verdict: str
    drivers: tuple[str, ...]
    fields: bytes
    status: Mapping[str, Any] | None

    @classmethod
    def of(cls, verdict: Verdict) -> "Opinion":
        """Put a verdict into words."""
        warnings, annotations = verdict.warnings, verdict.annotations
        response: dict[str, Any] = {"allowed": verdict.allowed}
        if warnings:
            response["warnings"] = warnings
        if annotations:
            response["auditAnnotations"] = annotations
        return cls(
            verdict="denied" if not verdict.allowed else "warned" if warnings else "allowed",
            drivers=tuple(sorted({one.driver for one in verdict.violations if one.schema})),
            fields=orjson.dumps(response)[1:-1],
            status=None if verdict.allowed else _status(verdict),
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
        if self.status is not None:
            details = {"name": name, "group": group, "kind": kind, **self.status["details"]}
            parts += [b',"status":', orjson.dumps({**self.status, "details": details})]
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
