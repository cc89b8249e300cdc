"""What is wrong in the cluster, as the page lists it first: the findings of `doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dragoman.doctor.examination import examine
from dragoman.doctor.facts import Facts
from dragoman.doctor.finding import Severity
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.snapshot import Snapshot

SHOWN: Final = 100
"""Findings that the page lists; `doctor` prints all of them."""
_SEVERE: Final = frozenset({Severity.ERROR, Severity.WARNING})


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding.

    Attributes:
        severity: `error` or `warning`.
        id: Of the finding.
        about: Its object.
        message: What is the case.
        remedy: What to do about it.
        since: Since when, as an API timestamp; empty where that is unknown.
    """

    severity: str
    id: str
    about: str
    message: str
    remedy: str
    since: str


def problems(snapshot: Snapshot, inventory: Inventory) -> tuple[Problem, ...]:
    """Return the findings of a cluster that need something to be done, the worst first."""
    return tuple(
        Problem(
            str(one.severity), str(one.id), one.subject.text, one.message, one.remedy, one.since
        )
        for one in examine(Facts(snapshot, inventory)).findings
        if one.severity in _SEVERE
    )
