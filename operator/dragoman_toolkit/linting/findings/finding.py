"""What a rule reports, and what the check prints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman_base.words import counted
from dragoman_configs import fielderrors
from dragoman_toolkit.linting.findings.edits import Edit

ERROR = "error"
WARNING = "warning"
OFF = "off"
SEVERITIES = (ERROR, WARNING, OFF)

SAFE, UNSAFE = "--fix", "--unsafe-fixes"
"""Options that correct findings."""

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule found in one object."""

    id: str  # The rule, such as `dra/invalid`
    steps: Steps  # Path of the value within the object
    message: str  # What is wrong, one line
    suggestion: str = ""  # What to write instead; empty without one
    severity: str = ""  # Where it differs from the rule's own
    edits: tuple[Edit, ...] = ()  # Changes that correct it; empty where `--fix` cannot
    # Whether the edits keep what the author says; others write what can only be meant
    safe: bool = True
    offset: tuple[int, int] = (0, 0)  # Line and column inside a multi-line string, both from 0
    at_key: bool = True  # Whether the position is that of the key instead of its value


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding with its place; the order of fields is the order of findings."""

    file: str  # Name of the file, `-` for standard input
    line: int  # From 1
    column: int  # From 1, in characters
    id: str  # The rule
    path: str  # Path within the object, such as `spec.devices.requests[0].name`.
    message: str  # What is wrong
    severity: str  # `error` or `warning`
    object: str  # Kind, namespace and name
    suggestion: str = ""  # What to write instead; empty without one
    fixable: str = ""  # Which option corrects it: `--fix`, `--unsafe-fixes`, or none

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
            "fixable": self.fixable,
        }


@dataclass(frozen=True, slots=True, order=True)
class UnreadableFile:
    """A file that could not be read."""

    file: str  # Its name
    line: int  # From 1; 0 where the file as a whole is meant
    column: int  # From 1; 0 as above
    message: str  # Why

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
    """The outcome of a check."""

    findings: tuple[Finding, ...] = ()  # In the order of files, lines and columns
    failures: tuple[UnreadableFile, ...] = ()  # Files that could not be read
    objects: int = 0  # Objects that were checked
    configs: int = 0  # Driver configs that a schema judged
    # Reasons why something was not checked, with their number
    skipped: Mapping[str, int] | None = None
    ignored: int = 0  # Findings that a comment or annotation with a reason suppresses
    # What no rule looks at, by the noun of it, with its number
    left_alone: Mapping[str, int] = field(default_factory=dict)
    files: tuple[str, ...] = ()  # Files that were read
    notes: tuple[str, ...] = ()  # What the user may want to know, and is no finding
    fixed: tuple[Finding, ...] = ()  # Findings that `--fix` corrected; they are none any more

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
            parts[0] += f", left {_enumerated(self.left_alone)} alone"
        if skipped:
            reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(skipped.items()))
            parts.append(f"skipped {sum(skipped.values())}: {reasons}")
        found = [counted(self.errors, "error"), counted(self.warnings, "warning")]
        if self.ignored:
            found.append(f"{self.ignored} ignored")
        if unread := len({one.file for one in self.failures}):
            found.append(f"{counted(unread, 'file')} failed")
        parts.append(", ".join(found))
        safe, unsafe = (
            sum(one.fixable == option for one in self.findings) for option in (SAFE, UNSAFE)
        )
        fixable = [f"{safe} with {SAFE}"] if safe else []
        if unsafe:
            fixable.append(f"{unsafe}{' more' if safe else ''} with {UNSAFE}")
        if fixable:
            parts.append(f"fixable: {', '.join(fixable)}")
        return "; ".join(parts)

    def document(self) -> dict[str, Any]:
        """Return the stable JSON form."""
        return {
            "findings": [finding.document() for finding in self.findings],
            "failures": [failure.document() for failure in self.failures],
            "fixed": [finding.document() for finding in self.fixed],
            "notes": list(self.notes),
            "summary": {
                "objects": self.objects,
                "configs": self.configs,
                "errors": self.errors,
                "warnings": self.warnings,
                "ignored": self.ignored,
                "fixable": {
                    "safe": sum(one.fixable == SAFE for one in self.findings),
                    "unsafe": sum(one.fixable == UNSAFE for one in self.findings),
                },
                "leftAlone": sum(self.left_alone.values()),
                "leftAloneBy": dict(sorted(self.left_alone.items())),
                "skipped": dict(sorted((self.skipped or {}).items())),
            },
        }


def _enumerated(left: Mapping[str, int]) -> str:
    """Write `2 of other kinds and 1 kustomize patch`."""
    parts = [
        f"{count} {_PLURALS.get(noun, f'{noun}s') if count > 1 else noun}"
        for noun, count in sorted(left.items(), key=lambda one: (one[0] not in _PLURALS, one[0]))
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


_PLURALS = {
    "of other kinds": "of other kinds",
    "that is no manifest": "that are no manifests",
    "kustomize patch": "kustomize patches",
    "value with a placeholder": "values with placeholders",
    "file of a kustomization": "files of kustomizations",
    "value that a patch may complete": "values that patches may complete",
    "assertion of a test": "assertions of tests",
    "object encrypted by SOPS": "objects encrypted by SOPS",
    "file of a kustomize component": "files of kustomize components",
}


def render(steps: Steps) -> str:
    """Write `("spec", "requests", 0)` as `spec.requests[0]`."""
    return fielderrors.render(steps).removeprefix(".")
