"""What is wrong in the cluster, as the page lists it first: the findings of `doctor`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.examination import examine
from dragoman.doctor.finding import FindingSubject, Severity
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.snapshot import Snapshot

SHOWN = 3
"""Problems of one kind that are written out."""
NAMED = 100
"""Objects of further problems of a kind that are named; `doctor` prints all of them."""
LINKED = frozenset(
    {"Pod", "Node", "ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule"}
)
"""Kinds of objects whose YAML and Events a followed page shows."""
_COMMAND = re.compile(r"(kubectl (?:[^;:]|:(?! ))+)")
_SEVERE = frozenset({Severity.ERROR, Severity.WARNING})


@dataclass(frozen=True, slots=True)
class PageProblem:
    """A finding."""

    severity: str  # `error` or `warning`
    id: str  # Of the finding
    about: str  # Its object
    message: str  # What is wrong
    remedy: str  # What to do about it
    since: str  # Since when, as an API timestamp; empty where that is unknown
    object: tuple[str, str, str] | None = None  # Kind, namespace, name, where the page links to it


@dataclass(frozen=True, slots=True)
class ProblemGroup:
    """Problems with the same finding."""

    id: str  # Of the finding
    first: tuple[PageProblem, ...]  # Problems that are written out
    more: tuple[str, ...]  # Objects of the others


def typed(remedy: str) -> tuple[tuple[str, bool], ...]:
    """Split a remedy into texts and the commands in it, which end before `; ` and `: `."""
    parts = _COMMAND.split(remedy)
    return tuple((part, bool(index % 2)) for index, part in enumerate(parts) if part)


def kinds(found: Iterable[PageProblem]) -> tuple[ProblemGroup, ...]:
    """Group problems by severity and finding, in the order of the first of each."""
    gathered: dict[tuple[str, str], list[PageProblem]] = {}
    for one in found:
        gathered.setdefault((one.severity, one.id), []).append(one)
    return tuple(
        ProblemGroup(name, tuple(all_[:SHOWN]), tuple(one.about for one in all_[SHOWN:]))
        for (_, name), all_ in gathered.items()
    )


def _object(subject: FindingSubject) -> tuple[str, str, str] | None:
    if subject.kind not in LINKED or not subject.name:
        return None
    return subject.kind, subject.namespace, subject.name


def problems(snapshot: Snapshot, inventory: Inventory) -> tuple[PageProblem, ...]:
    """Return the findings of a cluster that need something to be done, the worst first."""
    return tuple(
        PageProblem(
            str(one.severity),
            str(one.id),
            one.subject.text,
            one.message,
            one.remedy,
            one.since,
            _object(one.subject),
        )
        for one in examine(DoctorFacts(snapshot, inventory)).findings
        if one.severity in _SEVERE
    )
