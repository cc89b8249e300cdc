"""The audit's account: what stored objects have against the schemas in force; pure.

Counts take no memory per object, and what is kept by name is bounded. Texts carry paths and rules,
never values: status and Events are read by people who may not read the claims.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.driverconfigs.entries import configured
from dragoman.driverconfigs.fielderrors import Finding, clip
from dragoman.driverconfigs.registry import Registry
from dragoman.driverconfigs.validation import Memory, review

SAMPLE = 20
"""Objects with violations that a status names."""
MESSAGE = 1024
"""Characters of a message in a status or an Event."""
REPORTED = 1000
"""Hashes that a status keeps; objects beyond them get no Event."""
EVENTS = 20
"""Events of one pass."""


@dataclass(frozen=True, slots=True)
class Offender:
    """A stored object with violations of one schema.

    Attributes:
        kind: ResourceClaim, ResourceClaimTemplate or DeviceClass.
        namespace: Empty for classes.
        name: Its name.
        uid: Its UID.
        message: Paths and what is wrong there, without values.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    message: str

    @property
    def digest(self) -> str:
        """What makes it the same offence, so that it is told once."""
        return hashlib.sha256(f"{self.uid}\0{self.message}".encode()).hexdigest()[:32]

    def document(self) -> dict[str, str]:
        """Write it for `status.audit.sample`."""
        named = {"kind": self.kind, "namespace": self.namespace, "name": self.name}
        return {key: text for key, text in named.items() if text} | {"message": self.message}


@dataclass(slots=True)
class Tally:
    """The account of one schema.

    Attributes:
        known: Hashes of what was reported earlier.
        checked: Objects with configs of the driver.
        violations: What the driver would refuse in them, whatever the mode.
        sample: Some of the objects with violations.
        still: Hashes of `known` that are still true.
        fresh: Objects that were not reported yet, no more than Events of one pass.
    """

    known: frozenset[str] = frozenset()
    checked: int = 0
    violations: int = 0
    sample: list[Offender] = field(default_factory=list)
    still: list[str] = field(default_factory=list)
    fresh: list[Offender] = field(default_factory=list)

    def add(self, offender: Offender, violations: int) -> None:
        """Count an object with violations."""
        self.violations += violations
        if len(self.sample) < SAMPLE:
            self.sample.append(offender)
        if offender.digest in self.known:
            self.still.append(offender.digest)
        elif len(self.fresh) < EVENTS:
            self.fresh.append(offender)

    def told(self, room: int) -> list[Offender]:
        """Choose whom to send an Event about: at most `room`, and no more than can be kept."""
        return self.fresh[: max(0, min(room, REPORTED - len(self.still)))]

    def status(self, generation: int, told: Iterable[Offender], now: str) -> dict[str, Any]:
        """Make `status.audit`; `now` is RFC 3339."""
        return {
            "time": now,
            "observedGeneration": generation,
            "checked": self.checked,
            "violations": self.violations,
            "sample": [offender.document() for offender in self.sample],
            "reported": [*self.still, *(offender.digest for offender in told)],
        }


class Audit:
    """One pass over all stored objects.

    Args:
        registry: The schemas in force, the same for the whole pass.
        reported: `status.audit.reported` by schema.
        memory: Judgements to reuse.
    """

    def __init__(
        self,
        registry: Registry,
        reported: Mapping[str, Iterable[str]],
        memory: Memory | None = None,
    ) -> None:
        self._registry = registry
        self._memory = memory
        self.tallies = {
            name: Tally(frozenset(reported.get(name, ())))
            for name, installed in registry.objects.items()
            if installed.force is not None
        }
        self.checked: Counter[tuple[str, str]] = Counter()
        self.violations: Counter[tuple[str, str]] = Counter()

    def add(self, kind: str, document: Any) -> None:
        """Review one object; whatever JSON it is, this never raises."""
        drivers = {entry.driver for entry in configured(kind, document).entries}
        concerned = drivers & self._registry.drivers.keys()
        if not concerned:
            return
        for driver in concerned:
            self.checked[driver, kind] += 1
            for installed in self._registry.drivers[driver]:
                if tally := self.tallies.get(installed.parsed.name):
                    tally.checked += 1
        verdict = review(self._registry, kind, document, memory=self._memory)
        found: dict[str, list[Finding]] = {}
        for violation in verdict.violations:
            if not violation.harmless and violation.schema in self.tallies:
                self.violations[violation.driver, kind] += 1
                found.setdefault(violation.schema, []).append(violation.finding)
        for name, findings in found.items():
            self.tallies[name].add(_offender(kind, document, findings), len(findings))


def _offender(kind: str, document: Mapping[str, Any], findings: list[Finding]) -> Offender:
    metadata = document.get("metadata") or {}
    message = "; ".join(dict.fromkeys(finding.without_value() for finding in findings))
    return Offender(
        kind=kind,
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        uid=str(metadata.get("uid") or ""),
        message=clip(message, MESSAGE),
    )
