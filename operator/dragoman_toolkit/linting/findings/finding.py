"""What a rule reports, and what the check prints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_base.words import counted
from dragoman_configs import fielderrors
from dragoman_toolkit.linting.findings.edits import Edit

ERROR = "error"
WARNING = "warning"
OFF = "off"
SEVERITIES = (ERROR, WARNING, OFF)

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule found in one object.

    Attributes:
        id: The rule, such as `dra/invalid`.
        steps: Path of the value within the object.
        message: What is wrong, one line.
        suggestion: What to write instead; empty without one.
        severity: Where it differs from the rule's own.
        edits: Changes that correct it; empty where `--fix` cannot.
        offset: Line and column inside a multi-line string, both from 0.
        at_key: Whether the position is that of the key instead of its value.
    """

    id: str
    steps: Steps
    message: str
    suggestion: str = ""
    severity: str = ""
    edits: tuple[Edit, ...] = ()
    offset: tuple[int, int] = (0, 0)
    at_key: bool = True


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding with its place; the order of fields is the order of findings.

    Attributes:
        file: Name of the file, `-` for standard input.
        line: From 1.
        column: From 1, in characters.
        id: The rule.
        path: Path within the object, such as `spec.devices.requests[0].name`.
        message: What is wrong.
        severity: `error` or `warning`.
        object: Kind, namespace and name.
        suggestion: What to write instead; empty without one.
        fixable: Whether `--fix` corrects it.
    """

    file: str
    line: int
    column: int
    id: str
    path: str
    message: str
    severity: str
    object: str
    suggestion: str = ""
    fixable: bool = False

    def document(self) -> dict[str, Any]:
        """Return the stable JSON form."""
        return {
            "id": self.id,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "object": self.object,
            "message": self.message,
            "suggestion": self.suggestion,
        }


@dataclass(frozen=True, slots=True, order=True)
class UnreadableFile:
    """A file that could not be read.

    Attributes:
        file: Its name.
        line: From 1; 0 where the file as a whole is meant.
        column: From 1; 0 as above.
        message: Why.
    """

    file: str
    line: int
    column: int
    message: str

    @property
    def place(self) -> str:
        """The file with line and column, as far as they are known."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"

    def document(self) -> dict[str, Any]:
        """Return the stable JSON form."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The outcome of a check.

    Attributes:
        findings: In the order of files, lines and columns.
        failures: Files that could not be read.
        objects: Objects that were checked.
        configs: Driver configs that a schema judged.
        skipped: Reasons why something was not checked, with their number.
        ignored: Findings that a comment or annotation with a reason suppresses.
        left_alone: Objects of kinds that no rule looks at.
        files: Files that were read.
        fixed: Findings that `--fix` corrected; they are none any more.
    """

    findings: tuple[Finding, ...] = ()
    failures: tuple[UnreadableFile, ...] = ()
    objects: int = 0
    configs: int = 0
    skipped: Mapping[str, int] | None = None
    ignored: int = 0
    left_alone: int = 0
    files: tuple[str, ...] = ()
    fixed: tuple[Finding, ...] = ()

    @property
    def errors(self) -> int:
        """Count the errors."""
        return sum(finding.severity == ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        """Count the warnings."""
        return len(self.findings) - self.errors

    def summary(self) -> str:
        """Say in one line what was checked."""
        skipped = self.skipped or {}
        parts = [f"checked {counted(self.objects, 'object')}, {counted(self.configs, 'config')}"]
        if self.left_alone:
            parts[0] += f", left {self.left_alone} of other kinds alone"
        if skipped:
            reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(skipped.items()))
            parts.append(f"skipped {sum(skipped.values())}: {reasons}")
        found = [counted(self.errors, "error"), counted(self.warnings, "warning")]
        if self.ignored:
            found.append(f"{self.ignored} ignored")
        if unread := len({one.file for one in self.failures}):
            found.append(f"{counted(unread, 'file')} failed")
        return "; ".join([*parts, ", ".join(found)])

    def document(self) -> dict[str, Any]:
        """Return the stable JSON form."""
        return {
            "findings": [finding.document() for finding in self.findings],
            "failures": [failure.document() for failure in self.failures],
            "fixed": [finding.document() for finding in self.fixed],
            "summary": {
                "objects": self.objects,
                "configs": self.configs,
                "errors": self.errors,
                "warnings": self.warnings,
                "ignored": self.ignored,
                "leftAlone": self.left_alone,
                "skipped": dict(sorted((self.skipped or {}).items())),
            },
        }


def render(steps: Steps) -> str:
    """Write `("spec", "requests", 0)` as `spec.requests[0]`."""
    return fielderrors.render(steps).removeprefix(".")
