"""What `kubectl dra doctor` reads, and its report."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dragoman.doctor import over_time
from dragoman.doctor.doctorfacts import DoctorFacts, Reading, Thresholds
from dragoman.doctor.examination import Diagnosis, examine
from dragoman.doctor.finding import ORDER, Finding, Id, Severity
from dragoman.inventory.ages import age
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.documents import KINDS, PLANNING
from dragoman_base.words import listed
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster.source import with_queues
from dragoman_toolkit.dra.doctor.dryrunpods import dry_run
from dragoman_toolkit.dra.doctor.neverfits import never_fitting
from dragoman_toolkit.dra.output import Cell, Exit, Report, Table
from dragoman_toolkit.dra.reports import Nothing
from dragoman_toolkit.queues.findings import queue_findings
from dragoman_toolkit.shapes.differs import differing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dragoman.inventory.facts.world import World
    from dragoman_base.versions import Version
    from dragoman_toolkit.dra.cluster.source import Source

__all__ = ["HEADERS", "STACKED", "Examiner", "Thresholds"]

HEADERS = ("SEV", "FINDING", "OBJECT", "SINCE", "WHAT IS WRONG, AND -> WHAT TO DO")


STACKED = 120
"""Columns below which each finding is a block: its sentences would fold into a narrow column."""


_NAMED = 3
"""Objects of equal findings that are named."""
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: ""}


_SHORT = {Severity.ERROR: "error", Severity.WARNING: "warn", Severity.INFO: "info"}


@dataclass
class Examiner:
    """Answers `doctor`, again and again with --watch."""

    only: tuple[Id, ...]  # Rules to run; empty for all but those that must be named
    severity: Severity  # The least that is shown
    thresholds: Thresholds  # What counts as late
    observe: float  # Seconds between two readings; 0 for one reading
    target: Version | None  # Version that the cluster is upgraded to
    audit_log: Path | None  # Names who asks for what it removes
    dry_run_pods: bool = False  # Whether pods of workloads are tried
    wide: bool = False  # Whether the rules are named that did not see everything
    first: Reading | None = None  # The first of two readings

    def __call__(self, source: Source) -> Report:
        """Read the cluster, and report what is wrong."""
        if self.observe and self.first is None:
            self.first = over_time.reading(_facts(source, self.thresholds))
            time.sleep(self.observe)
        # With --watch each reading is compared with the first one.
        facts = _facts(source, self.thresholds, self.first)
        if Id.DRIVER_RIGHTS in self.only:
            from dragoman_toolkit.dra.doctor.driverrights import tried  # noqa: PLC0415 — seldom wanted

            facts = _with(facts, tried(source, facts))
        if self.dry_run_pods:
            dry_runs, why = dry_run(source)
            facts = _with(facts, dry_runs, Id.POD_REJECTED, why)
        if not self.only or Id.POD_NEVER_FITS in self.only:
            answers, why = never_fitting(facts)
            facts = _with(facts, answers, Id.POD_NEVER_FITS, why)
        facts = _with(facts, (*queue_findings(facts), *differing(facts)))
        if self.target is not None:
            from dragoman_toolkit.dra.doctor.upgrade import upgrade  # noqa: PLC0415 — as above

            facts = replace(facts, upgrade=upgrade(source, self.target, self.audit_log))
        return _answer(source, facts, self)


def _with(
    facts: DoctorFacts, found: Iterable[Finding], key: Id = Id.POD_UNSEEN, why: str = ""
) -> DoctorFacts:
    """Return facts with findings of a command, and what it left out; an empty text for nothing."""
    cut = {**facts.cut, **({key: why} if why else {})}
    return replace(facts, found=(*facts.found, *found), cut=cut)


def _facts(source: Source, thresholds: Thresholds, before: Reading | None = None) -> DoctorFacts:
    needed = [one for one in KINDS.values() if one not in {"resourcequotas", *PLANNING}]
    snapshot = with_queues(source, source.read(needed))
    world = parse(snapshot)
    return DoctorFacts(snapshot, take(world, source.profile(world)), thresholds, before)


def _answer(source: Source, facts: DoctorFacts, wanted: Examiner) -> Report:
    diagnosis = examine(facts, wanted.only)
    least = ORDER.index(wanted.severity)
    shown = [
        one
        for one in diagnosis.findings
        if ORDER.index(one.severity) <= least
        and source.namespace_option in ("", one.subject.namespace)
    ]
    return _report(facts.inventory.world, diagnosis, shown, wide=wanted.wide)


def _report(world: World, diagnosis: Diagnosis, shown: list[Finding], *, wide: bool) -> Report:
    counts = {level: sum(one.severity is level for one in shown) for level in ORDER}
    judged = diagnosis.whole or not world.unseen
    document = {
        **notes.header(world),
        "findings": [_document(one) for one in shown],
        "summary": {
            "errors": counts[Severity.ERROR],
            "warnings": counts[Severity.WARNING],
            "infos": counts[Severity.INFO],
        },
        "partial": {
            str(key): [*diagnosis.partial.get(key, ()), *filter(None, [diagnosis.cut.get(key)])]
            for key in (*diagnosis.partial, *diagnosis.cut)
        },
        "notJudged": [*map(str, diagnosis.unjudged)],
        "versionUnknown": [*diagnosis.unknown],
    }
    return Report(
        "Diagnosis",
        document,
        tuple(_blocks(world, shown)),
        _status(counts, diagnosis),
        # Who can list nothing needs one line, which says so.
        (*notes.common(world), *(_partial(diagnosis, wide=wide) if judged else ())),
    )


def _status(counts: dict[Severity, int], diagnosis: Diagnosis) -> Exit:
    if counts[Severity.ERROR]:
        return Exit.OBSTACLE
    return Exit.UNKNOWN if diagnosis.partial or diagnosis.cut else Exit.CLEAR


def _blocks(world: World, shown: Iterable[Finding]) -> Iterator[Table | Cell]:
    rows = tuple(
        (
            Cell(_SHORT[first.severity], _STYLES[first.severity]),
            str(first.id),
            listed([one.subject.text for one in alike], _NAMED),
            age(world.now, min(one.since for one in alike)),
            f"{first.message}\n-> {first.remedy}"
            + (f" (likewise for {len(alike) - 1} more)" if _differ(alike) else ""),
        )
        for alike in _alike(shown)
        for first in alike[:1]
    )
    if rows:
        yield Table(HEADERS, rows, stack_below=STACKED)
    else:
        yield Nothing("No findings.")


def _alike(shown: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Yield findings that say the same of several objects together, in the order of the first."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in shown:
        own = f"{one.subject.name} -n {one.subject.namespace}"
        said = (
            part.replace(one.subject.text, "").replace(own, "")
            for part in (one.message, one.remedy)
        )
        groups.setdefault((one.id, one.severity, *said), []).append(one)
    yield from groups.values()


def _differ(alike: list[Finding]) -> bool:
    """Whether each of several findings has a remedy of its own."""
    return len({one.remedy for one in alike}) > 1


def _partial(diagnosis: Diagnosis, *, wide: bool) -> Iterator[str]:
    missing = sorted({plural for found in diagnosis.partial.values() for plural in found})
    if missing:
        rules = ", ".join(str(key) for key in diagnosis.partial)
        if len(diagnosis.partial) > _NAMED and not wide:
            rules = f"{len(diagnosis.partial)} rules of {diagnosis.whole + len(diagnosis.partial)}"
            rules += " (-o wide names them)"
        yield f"{', '.join(missing)} could not be read: {rules} did not see everything"
    for key, why in diagnosis.cut.items():
        yield f"{key}: {why}"
    if diagnosis.unjudged:
        rules = " and ".join(map(str, diagnosis.unjudged))
        yield f"{rules}: not judged, they compare two readings of a cluster: --for 30s"
    if diagnosis.unknown:
        one = len(diagnosis.unknown) == 1
        runs, them = ("runs in a version", "it") if one else ("run in versions", "them")
        names, rule = ", ".join(diagnosis.unknown), Id.DRIVER_NOT_CONFORMANT
        yield f"{names} {runs} without a verdict: {rule} does not judge {them}"


def _document(finding: Finding) -> dict[str, Any]:
    subject = finding.subject
    return {
        "id": str(finding.id),
        "severity": str(finding.severity),
        "object": {
            "text": subject.text,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
        },
        "since": finding.since or None,
        "message": finding.message,
        "remedy": finding.remedy,
    }
