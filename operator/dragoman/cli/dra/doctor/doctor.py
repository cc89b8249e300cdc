"""`kubectl dra doctor`: what is wrong in the cluster now, and what to do about it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from dragoman.cli.dra.cluster import watching
from dragoman.cli.dra.cluster.options import connected, output_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.cluster.watching import watched
from dragoman.cli.dra.formats import Output
from dragoman.cli.dra.output import Cell, Exit, Report, Table
from dragoman.cli.dra.reports import Nothing
from dragoman.doctor.finding import ORDER, Id, Severity

if TYPE_CHECKING:
    from dragoman.doctor.examination import Diagnosis
    from dragoman.doctor.facts import Facts, Reading, Thresholds
    from dragoman.doctor.finding import Finding
    from dragoman.inventory.facts.objects import World
    from dragoman.versions import Version

_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra doctor
  kubectl dra doctor -n ml                      # findings about objects of one namespace
  kubectl dra doctor --severity error           # only what needs to be repaired
  kubectl dra doctor --only ClaimIdle --idle-after 86400
  kubectl dra doctor --for 30s                  # what needs two readings, too
  kubectl dra doctor --only DriverRights        # dry runs as each driver: needs impersonate
  kubectl dra doctor --target 1.38              # what that version does not serve any more
  kubectl dra doctor -o json | jq -r '.findings[] | select(.id == "ClaimIdle") | .object.text'

\b
Exit status:
  0  no errors
  1  at least one finding of severity error
  2  no errors were found, but something could not be read; or bad input
"""
HEADERS: Final = ("SEV", "FINDING", "OBJECT", "SINCE", "WHAT IS WRONG, AND -> WHAT TO DO")
STACKED: Final = 120
"""Columns below which each finding is a block: its sentences would fold into a narrow column."""
_STYLES: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: ""}
_SHORT: Final = {Severity.ERROR: "error", Severity.WARNING: "warn", Severity.INFO: "info"}


_DURATION: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(s|m|h)?", re.ASCII)


def observation(_: click.Context, __: click.Parameter, text: str) -> float:
    """Return the seconds of a duration; raise BadParameter saying what was found."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"expected a time such as 30s or 2m, found {text!r}")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, None: 1}[found[2]]


def _target(_: click.Context, __: click.Parameter, text: str) -> Version | None:
    """Read --target; raise BadParameter naming the versions that are known."""
    from dragoman.versions import target  # noqa: PLC0415 — only where it is given

    try:
        return target(text) if text else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(epilog=_EXAMPLES)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*map(str, Id)], case_sensitive=False),
    metavar="FINDING",
    help="Run only this rule; repeatable. docs/toolkit/doctor.md lists them.",
)
@click.option(
    "--severity",
    type=click.Choice([*map(str, ORDER)]),
    default=str(Severity.INFO),
    show_default=True,
    help="Minimum severity to show.",
)
@click.option(
    "--idle-after",
    type=click.FloatRange(0),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a claim may hold devices while no pod reserves it.",
)
@click.option(
    "--settle-after",
    type=click.FloatRange(0),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long drivers may take to publish a pool, and controllers to release a claim.",
)
@click.option(
    "--for",
    "observe",
    default="0s",
    metavar="DURATION",
    callback=observation,
    help="Read the cluster a second time after this time, as 30s or 2m: SliceWriteStorm and "
    "SlicesMissing compare two readings.",
)
@click.option(
    "--target",
    default="",
    metavar="VERSION",
    callback=_target,
    help="Version that the cluster is upgraded to, as 1.38: find requests and drivers that use "
    "what it does not serve, and feature gates that it does not know.",
)
@click.option(
    "--audit-log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Audit log of the API server, which names the clients; with --target.",
)
@watched
@connected
@output_option
def doctor(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    only: tuple[str, ...],
    severity: str,
    idle_after: float,
    settle_after: float,
    observe: float,
    target: Version | None,
    audit_log: Path | None,
    every: float,
    output: Output,
) -> None:
    """Find lost, idle and double-booked devices, broken pools, stuck claims, and silent drivers.

    Nothing is changed. `release` and `adopt` repair one claim each. DriverRights runs only where it
    is named: it sends dry runs as the drivers' ServiceAccounts.
    """
    from dragoman.doctor import over_time  # noqa: PLC0415 — heavy, not for --help
    from dragoman.doctor.facts import Thresholds  # noqa: PLC0415 — as above

    thresholds = Thresholds(settle=settle_after, idle=idle_after)

    if audit_log and target is None:
        raise click.UsageError("--audit-log says who asks for what --target removes: give both")
    if observe and source.snapshot:
        raise click.UsageError("--for has nothing to wait for in a snapshot")
    chosen = [Id(one) for one in only]
    readings: list[Reading] = []

    def answer(source: Source) -> Report:
        if observe and not readings:
            readings.append(over_time.reading(_facts(source, thresholds)))
            time.sleep(observe)
        # With --watch each reading is compared with the first one.
        facts = _facts(source, thresholds, *readings)
        if Id.DRIVER_RIGHTS in chosen:
            from dragoman.cli.dra.doctor.driverrights import tried  # noqa: PLC0415 — as above

            facts = replace(facts, rights=tried(source, facts))
        if target is not None:
            from dragoman.cli.dra.doctor.upgrade import upgrade  # noqa: PLC0415 — as above

            facts = replace(facts, upgrade=upgrade(source, target, audit_log))
        return _answer(source, facts, chosen, severity)

    watching.answer(source, answer, output, every)


def _facts(source: Source, thresholds: Thresholds, before: Reading | None = None) -> Facts:
    from dragoman.doctor.facts import Facts  # noqa: PLC0415 — heavy, not for --help
    from dragoman.inventory.facts.parser import parse  # noqa: PLC0415 — as above
    from dragoman.inventory.inventory import take  # noqa: PLC0415 — as above
    from dragoman.inventory.snapshots.documents import KINDS, PLANNING  # noqa: PLC0415 — as above

    needed = [one for one in KINDS.values() if one not in {"resourcequotas", *PLANNING}]
    snapshot = source.read(needed)
    world = parse(snapshot)
    return Facts(snapshot, take(world, source.profile(world)), thresholds, before)


def _answer(source: Source, facts: Facts, only: list[Id], severity: str) -> Report:
    from dragoman.doctor.examination import examine  # noqa: PLC0415 — heavy, not for --help

    diagnosis = examine(facts, only)
    least = ORDER.index(Severity(severity))
    shown = [
        one
        for one in diagnosis.findings
        if ORDER.index(one.severity) <= least
        and source.namespace_option in ("", one.subject.namespace)
    ]
    return _report(facts.inventory.world, diagnosis, shown)


def _report(world: World, diagnosis: Diagnosis, shown: list[Finding]) -> Report:
    from dragoman.cli.dra import notes  # noqa: PLC0415 — heavy, not for --help

    counts = {level: sum(one.severity is level for one in shown) for level in ORDER}
    document = {
        **notes.header(world),
        "findings": [_document(one) for one in shown],
        "summary": {
            "errors": counts[Severity.ERROR],
            "warnings": counts[Severity.WARNING],
            "infos": counts[Severity.INFO],
        },
        "partial": {str(key): list(missing) for key, missing in diagnosis.partial.items()},
        "notJudged": [*map(str, diagnosis.unjudged)],
        "versionUnknown": [*diagnosis.unknown],
    }
    return Report(
        "Diagnosis",
        document,
        tuple(_blocks(world, shown)),
        _status(counts, diagnosis),
        (*notes.common(world), *_partial(diagnosis)),
    )


def _status(counts: dict[Severity, int], diagnosis: Diagnosis) -> Exit:
    if counts[Severity.ERROR]:
        return Exit.OBSTACLE
    return Exit.UNKNOWN if diagnosis.partial else Exit.CLEAR


def _blocks(world: World, shown: Iterable[Finding]) -> Iterator[Table | Cell]:
    from dragoman.inventory.ages import age  # noqa: PLC0415 — heavy, not for --help

    rows = tuple(
        (
            Cell(_SHORT[one.severity], _STYLES[one.severity]),
            str(one.id),
            one.subject.text,
            age(world.now, one.since),
            f"{one.message}\n-> {one.remedy}",
        )
        for one in shown
    )
    if rows:
        yield Table(HEADERS, rows, stack_below=STACKED)
    else:
        yield Nothing("No findings.")


def _partial(diagnosis: Diagnosis) -> Iterator[str]:
    missing = sorted({plural for found in diagnosis.partial.values() for plural in found})
    if missing:
        rules = ", ".join(str(key) for key in diagnosis.partial)
        yield f"{', '.join(missing)} could not be read: {rules} did not see everything"
    if diagnosis.unjudged:
        rules = " and ".join(map(str, diagnosis.unjudged))
        yield f"{rules}: not judged, they compare two readings of a cluster: --for 30s"
    if diagnosis.unknown:
        yield f"version unknown: {', '.join(diagnosis.unknown)}: no verdict on a driver counts"


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
