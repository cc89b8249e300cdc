"""Audit stored objects against the active schemas; pure.

Counts take no memory per object, and lists of objects are bounded. Messages carry paths and rules,
never values, because more people read status and Events than may read the claims.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman_configs.compile.registry import Registry
from dragoman_configs.fielderrors import ConfigFieldError, clip
from dragoman_configs.objects.entries import configured
from dragoman_configs.review.validation import ResultCache, validate_configs

SAMPLE = 20
"""Objects with violations that a status names."""
MESSAGE = 1024
"""Characters of a message in a status or an Event."""
REPORTED = 1000
"""Hashes that a status keeps; objects beyond them get no Event."""
EVENTS = 20
"""Events of one pass."""


@dataclass(frozen=True, slots=True)
class ViolatingObject:
    """A stored object with violations of one schema."""

    kind: str  # ResourceClaim, ResourceClaimTemplate or DeviceClass
    namespace: str  # Empty for classes
    name: str  # Its name
    uid: str  # Its UID
    message: str  # The field errors, without values

    @property
    def digest(self) -> str:
        """Identify the object with its errors, so that each state gets one Event."""
        return hashlib.sha256(f"{self.uid}\0{self.message}".encode()).hexdigest()[:32]

    def document(self) -> dict[str, str]:
        """Write it for `status.audit.sample`."""
        named = {"kind": self.kind, "namespace": self.namespace, "name": self.name}
        return {key: text for key, text in named.items() if text} | {"message": self.message}


@dataclass(slots=True)
class SchemaAudit:
    """The audit of one schema."""

    # Hashes of the objects that earlier passes reported
    reported_before: frozenset[str] = frozenset()
    checked: int = 0  # Objects with configs of the driver
    violations: int = 0  # Their field errors that the driver refuses, in any mode
    sample: list[ViolatingObject] = field(default_factory=list)  # Some of the violating objects
    # Hashes of `reported_before` that are still violating
    unchanged: list[str] = field(default_factory=list)
    # Objects without an Event yet, at most `EVENTS`
    unreported: list[ViolatingObject] = field(default_factory=list)

    def add(self, violating: ViolatingObject, violations: int) -> None:
        """Count an object with violations."""
        self.violations += violations
        if len(self.sample) < SAMPLE:
            self.sample.append(violating)
        if violating.digest in self.reported_before:
            self.unchanged.append(violating.digest)
        elif len(self.unreported) < EVENTS:
            self.unreported.append(violating)

    def to_report(self, room: int) -> list[ViolatingObject]:
        """List the objects to send an Event for: at most `room`, and no more than status keeps."""
        return self.unreported[: max(0, min(room, REPORTED - len(self.unchanged)))]

    def status(
        self, generation: int, reported: Iterable[ViolatingObject], now: str
    ) -> dict[str, Any]:
        """Make `status.audit`; `now` is RFC 3339."""
        return {
            "time": now,
            "observedGeneration": generation,
            "checked": self.checked,
            "violations": self.violations,
            "sample": [violating.document() for violating in self.sample],
            "reported": [*self.unchanged, *(violating.digest for violating in reported)],
        }


class Audit:
    """One pass over all stored objects.

    Args:
        registry: The active schemas, the same for the whole pass.
        reported: `status.audit.reported` by schema.
        cache: Validation results to reuse.
    """

    def __init__(
        self,
        registry: Registry,
        reported: Mapping[str, Iterable[str]],
        cache: ResultCache | None = None,
    ) -> None:
        self._registry = registry
        self._cache = cache
        self.schemas = {
            name: SchemaAudit(frozenset(reported.get(name, ())))
            for name, registered in registry.objects.items()
            if registered.active is not None
        }
        self.checked: Counter[tuple[str, str]] = Counter()
        self.violations: Counter[tuple[str, str]] = Counter()

    def add(self, kind: str, document: Any) -> None:
        """Validate one object of any JSON type; never raises."""
        drivers = {entry.driver for entry in configured(kind, document).entries}
        concerned = drivers & self._registry.drivers.keys()
        if not concerned:
            return
        for driver in concerned:
            self.checked[driver, kind] += 1
            for registered in self._registry.drivers[driver]:
                if audit := self.schemas.get(registered.parsed.name):
                    audit.checked += 1
        verdict = validate_configs(self._registry, kind, document, cache=self._cache)
        found: dict[str, list[ConfigFieldError]] = {}
        for violation in verdict.violations:
            if not violation.harmless and violation.schema in self.schemas:
                self.violations[violation.driver, kind] += 1
                found.setdefault(violation.schema, []).append(violation.error)
        for name, errors in found.items():
            self.schemas[name].add(_violating(kind, document, errors), len(errors))


def _violating(
    kind: str, document: Mapping[str, Any], errors: list[ConfigFieldError]
) -> ViolatingObject:
    metadata = document.get("metadata") or {}
    message = "; ".join(dict.fromkeys(str(error.redacted()) for error in errors))
    return ViolatingObject(
        kind=kind,
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        uid=str(metadata.get("uid") or ""),
        message=clip(message, MESSAGE),
    )
