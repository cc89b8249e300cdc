"""Verdicts: the violations of one object, and the parts of an admission response.

How an object gets its verdict: `validation` finds the entries of driver configs in a claim,
template or class (`objects.entries`), and leaves out what an update did not change. `lookup` finds
the schema of each entry by driver and by the kind that the parameters name, `parameters_validation`
checks values and rules, and `precedence` checks what the driver's entries say together. Each
finding is a `Violation`: a field error, with the schema that raised it and that schema's mode. The
`Verdict` holds those of one object, and nothing is decided twice: whether it is allowed, and every
text about it, is a property of the verdict. The webhook, `dragoman check` and the report of stored
objects therefore agree.

Who reads which part:

* `message` and `causes`: the user who ran `kubectl apply`, of denials only, with users' values;
* `warnings`: the same user, of violations that do not deny: modes Warn and Enforce where a driver
  ignores the field; mode Audit is silent;
* `annotations`: auditors. More people read audit logs than may read claims, so user values are left
  out (`redacted`), as they are in Events and in the status of a schema.

All texts have limits, because the API server has them. Errors that are left out are counted, and
an ellipsis marks a text that is cut.

A verdict depends on schemas, object and stored object alone: not on time, replica or cache. Only
one that is `exhausted` (its step budget ended) depends on the budget: it allows nothing by
omission, since the entry that was not validated to its end is a violation in itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from dragoman_configs.fielderrors import ConfigFieldError, clip
from dragoman_configs.objects.driverconfigschema import AUDIT, ENFORCE

MAX_LISTED = 20
"""Errors that a response spells out; the rest is counted."""

MAX_MESSAGE = 4096
"""Bytes of a message."""

MAX_WARNING = 256
"""Characters of one warning; the API server cuts longer ones when there are many."""

MAX_WARNINGS = 15
"""Warnings of one response: 15 of 256 characters stay below the API server's 4096 in total."""

MAX_ANNOTATION = 2048
"""Characters of one audit annotation."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A field error of an object, raised by one schema."""

    error: ConfigFieldError  # The field error, with its path from the object's root
    schema: str  # Name of the DriverConfigSchema that raised it; empty for unknown drivers
    generation: int  # The schema's active generation
    driver: str  # The driver of the config entry
    mode: str  # Enforce, Warn or Audit, from the schema
    harmless: bool = False  # The driver ignores the field and does not fail

    @property
    def denies(self) -> bool:
        """Tell whether the violation makes the webhook deny the object."""
        return self.mode == ENFORCE and not self.harmless


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of `details.causes` of a metav1 Status."""

    reason: str  # A metav1 cause type
    message: str  # The error without its path
    field: str  # The path


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of validating one object."""

    violations: tuple[Violation, ...] = ()  # Every violation, in the object's order
    # The schemas that took part, each once, as `NAME@GENERATION (MODE)`
    schemas: tuple[str, ...] = ()
    unknown_drivers: tuple[str, ...] = ()  # Drivers of entries that no schema describes
    exhausted: bool = False  # The step budget ended a validation before it was complete

    @property
    def allowed(self) -> bool:
        """Tell whether the object may be stored."""
        return not any(violation.denies for violation in self.violations)

    @property
    def denials(self) -> tuple[Violation, ...]:
        """List the violations that deny the object."""
        return tuple(violation for violation in self.violations if violation.denies)

    def redacted(self) -> Self:
        """Return a copy without user values, for readers other than the object's author."""
        violations = (replace(v, error=v.error.redacted()) for v in self.violations)
        return replace(self, violations=tuple(violations))

    @property
    def message(self) -> str:
        """Format the denials: at most 20 errors and 4 KiB; empty when the object is allowed."""
        denials = self.denials
        texts = [str(violation.error) for violation in denials[:MAX_LISTED]]
        return aggregate(texts, len(denials)) if texts else ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """List the first denials as `details.causes`."""
        return tuple(
            Cause(v.error.reason, _without_path(v.error), v.error.path)
            for v in self.denials[:MAX_LISTED]
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """List the other violations for the user, except those of schemas in mode Audit."""
        shown = [v for v in self.violations if not v.denies and v.mode != AUDIT]
        texts = [clip(str(v.error), MAX_WARNING) for v in shown[:MAX_WARNINGS]]
        if len(shown) > MAX_WARNINGS:
            more = len(shown) - (MAX_WARNINGS - 1)
            texts[-1] = f"and {more} more warnings about driver configs"
        return tuple(dict.fromkeys(texts))

    @property
    def annotations(self) -> Mapping[str, str]:
        """Return the audit annotations, without user values: audit logs have more readers."""
        if not (self.schemas or self.unknown_drivers):
            return {}
        verdict = "denied" if not self.allowed else "violations" if self.violations else "clean"
        found = {"verdict": verdict}
        if self.schemas:
            found["schemas"] = ", ".join(self.schemas)
        if self.unknown_drivers:
            found["unknown-drivers"] = ", ".join(self.unknown_drivers)
        if self.violations:
            texts = [str(v.error.redacted()) for v in self.violations[:MAX_LISTED]]
            found["violations"] = aggregate(texts, len(self.violations))
        return {name: clip(text, MAX_ANNOTATION) for name, text in found.items()}


def aggregate(texts: Sequence[str], count: int) -> str:
    """Join errors to one line: as many as fit, and the number of all.

    Args:
        texts: The first errors, at most `MAX_LISTED`.
        count: The number of all errors.
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


def _without_path(error: ConfigFieldError) -> str:
    return str(error)[len(error.path) + 2 :]
