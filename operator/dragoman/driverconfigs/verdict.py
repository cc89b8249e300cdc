"""Verdicts: what is wrong with an object, who says so, and what to answer.

`Violation` is one complaint in the name of one schema. `Verdict` collects them for one object and
turns them into what an admission response carries: message, causes, warnings, audit annotations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dragoman.driverconfigs.driverconfigschema import AUDIT, ENFORCE
from dragoman.driverconfigs.fielderrors import Finding, clip

MAX_LISTED: Final = 20
"""Complaints that an answer spells out; the rest is counted."""

MAX_MESSAGE: Final = 4096
"""Bytes of a message."""

MAX_WARNING: Final = 256
"""Characters of one warning; the API server cuts longer ones when there are many."""

MAX_WARNINGS: Final = 15
"""Warnings of one answer: so many of the longest stay below the API server's 4096 in total."""

MAX_ANNOTATION: Final = 2048
"""Characters of one audit annotation."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One complaint about an object.

    Attributes:
        finding: what and where, with its full path.
        schema: name of the DriverConfigSchema that says so; empty for unknown drivers.
        generation: the generation of it that is in force.
        driver: the driver of the entry.
        mode: Enforce, Warn or Audit, from the schema.
        harmless: the driver would not refuse it, only ignore something.
    """

    finding: Finding
    schema: str
    generation: int
    driver: str
    mode: str
    harmless: bool = False

    @property
    def denies(self) -> bool:
        """Tell whether the object must be refused for it."""
        return self.mode == ENFORCE and not self.harmless


@dataclass(frozen=True, slots=True)
class Consulted:
    """A schema that was asked about an object.

    Attributes:
        name: the DriverConfigSchema's name.
        generation: the generation in force.
        mode: Enforce, Warn or Audit.
    """

    name: str
    generation: int
    mode: str

    def __str__(self) -> str:
        return f"{self.name}@{self.generation} ({self.mode})"


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of `details.causes` of a metav1 Status.

    Attributes:
        reason: a metav1 cause type.
        message: what is wrong, without the path.
        field: the path.
    """

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one review.

    Attributes:
        violations: everything found, in the object's order.
        schemas: the schemas that were asked, each once.
        unknown_drivers: drivers of entries that no schema describes.
        exhausted: a judgement ended because the steps were used up.
    """

    violations: tuple[Violation, ...] = ()
    schemas: tuple[Consulted, ...] = ()
    unknown_drivers: tuple[str, ...] = ()
    exhausted: bool = False

    @property
    def allowed(self) -> bool:
        """Tell whether the object may be stored."""
        return not any(violation.denies for violation in self.violations)

    @property
    def denials(self) -> tuple[Violation, ...]:
        """List what the object is refused for."""
        return tuple(violation for violation in self.violations if violation.denies)

    def discreet(self) -> Verdict:
        """Return the verdict for others than who wrote the values: none of them is in it."""
        violations = (replace(v, finding=v.finding.discreet()) for v in self.violations)
        return replace(self, violations=tuple(violations))

    @property
    def message(self) -> str:
        """Say why the object is refused: at most 20 complaints and 4 KiB; empty when allowed."""
        denials = self.denials
        texts = [str(violation.finding) for violation in denials[:MAX_LISTED]]
        return enumerate_complaints(texts, len(denials)) if texts else ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """List the first refusals for machines, as `details.causes`."""
        return tuple(
            Cause(v.finding.reason, _without_path(v.finding), v.finding.path)
            for v in self.denials[:MAX_LISTED]
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say to the user what is not refused: findings in Warn mode, and what has no effect."""
        shown = [v for v in self.violations if not v.denies and v.mode != AUDIT]
        texts = [clip(str(v.finding), MAX_WARNING) for v in shown[:MAX_WARNINGS]]
        if len(shown) > MAX_WARNINGS:
            more = len(shown) - (MAX_WARNINGS - 1)
            texts[-1] = f"and {more} more warnings about driver configs"
        return tuple(dict.fromkeys(texts))

    @property
    def annotations(self) -> Mapping[str, str]:
        """Give the audit annotations; never with values, since audit logs go elsewhere."""
        if not (self.schemas or self.unknown_drivers):
            return {}
        verdict = "denied" if not self.allowed else "violations" if self.violations else "clean"
        found = {"verdict": verdict}
        if self.schemas:
            found["schemas"] = ", ".join(map(str, self.schemas))
        if self.unknown_drivers:
            found["unknown-drivers"] = ", ".join(self.unknown_drivers)
        if self.violations:
            texts = [v.finding.without_value() for v in self.violations[:MAX_LISTED]]
            found["violations"] = enumerate_complaints(texts, len(self.violations))
        return {name: clip(text, MAX_ANNOTATION) for name, text in found.items()}


def enumerate_complaints(texts: Sequence[str], count: int) -> str:
    """Join complaints to one line: as many as fit, and how many there are in all.

    Args:
        texts: the first complaints, at most `MAX_LISTED`.
        count: the number of all complaints.
    """
    listed: list[str] = []
    room = MAX_MESSAGE - 64  # for the count in front and the rest behind
    for text in texts:
        room -= len(text.encode("utf-8", "replace")) + 2
        if room < 0:
            break
        listed.append(text)
    if len(listed) < count:
        listed.append(f"and {count - len(listed)} more")
    head = f"{count} problems in driver configs: " if count > 1 else ""
    return head + "; ".join(listed)


def _without_path(finding: Finding) -> str:
    return str(finding)[len(finding.path) + 2 :]
