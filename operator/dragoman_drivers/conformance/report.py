"""Reports as JSON, JUnit, Markdown and as text. Pure."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dragoman_drivers.conformance.checks import (
    FAIL,
    GROUPS,
    NOT_RUN,
    PASS,
    STATUSES,
    UNDECIDED,
    CheckOutcome,
    ConformanceReport,
)
from dragoman_toolkit import junit

LOG = "the driver's log"
"""How the step begins that quotes it."""
NAMED = 8
"""Ids of musts in one sentence."""


def printable(text: str) -> str:
    """Return a driver's text in one line without control characters."""
    return "".join(one if one.isprintable() else " " for one in text)


def as_tree(report: ConformanceReport) -> dict[str, Any]:
    """Return a report as a JSON tree."""
    return {
        "kind": "DriverConformanceReport",
        "driver": printable(report.driver),
        "version": printable(report.version),
        "verdict": report.verdict,
        "facts": dict(report.facts),
        "checks": [
            {
                "id": one.check.id,
                "level": one.check.level,
                "title": one.check.title,
                "status": one.status,
                "reason": printable(one.reason),
                "seconds": round(one.seconds, 2),
                **(
                    {
                        "change": one.check.change,
                        "steps": [printable(step) for step in one.steps],
                    }
                    if one.status == FAIL
                    else {}
                ),
            }
            for one in report.outcomes
        ],
    }


def as_json(report: ConformanceReport) -> str:
    """Return a report as JSON."""
    return json.dumps(as_tree(report), indent=1, ensure_ascii=False) + "\n"


def as_junit(report: ConformanceReport) -> str:
    """Return a report as JUnit XML: a must that fails is a failure, others are skipped with why."""
    name = f"dragoman conformance of {printable(report.driver)}"
    return junit.document(name, [_case(one) for one in report.outcomes])


def _case(one: CheckOutcome) -> junit.Case:
    outcomes: dict[str, junit.Outcome] = {FAIL: "failure", NOT_RUN: "skipped"}
    return junit.Case(
        one.check.group,
        f"{one.check.id} {printable(one.check.title)}",
        outcomes.get(one.status),
        printable(one.reason),
        "\n".join((change(one), *map(printable, one.steps))) if one.status == FAIL else "",
        one.seconds,
    )


def as_markdown(report: ConformanceReport) -> str:
    """Return a report as Markdown."""
    lines = [
        f"# Conformance of {_cell(report.driver) or 'a driver'} {_cell(report.version)}".rstrip(),
        "",
        f"Verdict: **{report.verdict}**. {summary(report)}.",
        "",
        "| check | level | status | what |",
        "|---|---|---|---|",
    ]
    for one in report.outcomes:
        text = _cell(one.reason or one.check.title)
        lines.append(f"| {one.check.id} | {one.check.level} | {one.status} | {text} |")
    for one in report.failed:
        lines += ["", f"## {one.check.id}: {_cell(one.check.title)}", "", _cell(one.reason), ""]
        lines += [_cell(change(one)), ""]
        lines += [f"{at}. {_cell(step)}" for at, step in enumerate(one.steps, 1)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return text that neither ends a cell nor makes markup."""
    found = printable(text)
    for letter in "\\`*_{}[]<>#|":
        found = found.replace(letter, f"\\{letter}")
    return found


def summary(report: ConformanceReport) -> str:
    """Return the counts in one sentence."""
    musts = f"{report.count(PASS, 'must')} musts pass, {report.count(FAIL, 'must')} fail, "
    shoulds = f"{report.count(PASS, 'should')} shoulds pass, {report.count(FAIL, 'should')} fail"
    return f"{musts}{report.count(NOT_RUN, 'must')} were not run; {shoulds}"


def change(outcome: CheckOutcome) -> str:
    """Return what to change in a driver that fails a check."""
    return f"To change: {outcome.check.change}"


def as_text(report: ConformanceReport) -> Iterator[str]:
    """Yield the lines of a report: outcomes by group with totals, failures, the verdict."""
    for letter, title in GROUPS.items():
        found = [one for one in report.outcomes if one.check.id[0] == letter]
        if found:
            counts = Counter(one.status for one in found)
            totals = ", ".join(f"{counts[one]} {one}" for one in STATUSES if counts[one])
            yield from ("", f"{letter}  {title}: {totals}")
            yield from map(line, found)
    for one in report.failed:
        yield from ("", f"{one.check.id} {one.check.title}")
        yield from (f"  {printable(one.reason)}", f"  {change(one)}")
        yield from (f"  {at}. {printable(step)}" for at, step in enumerate(one.steps, 1))
    name = printable(report.driver) or "the driver"
    yield from ("", f"{name}: {report.verdict}. {summary(report)}.")
    if report.verdict == UNDECIDED:
        yield " ".join(_open(report))


def _open(report: ConformanceReport) -> Iterator[str]:
    """Yield why a verdict is undecided."""
    not_run, not_selected = report.open_musts
    if not_run:
        named = f"{', '.join(not_run[:NAMED])}{', …' * (len(not_run) > NAMED)}"
        were = "1 must was" if len(not_run) == 1 else f"{len(not_run)} musts were"
        yield f"Undecided: {were} not run ({named}), see above for the reasons."
    if not_selected:
        were = "1 must was" if len(not_selected) == 1 else f"{len(not_selected)} musts were"
        yield f"{were} not selected: only a run of all can be conformant."


def line(outcome: CheckOutcome) -> str:
    """Return an outcome as a line of a table."""
    reason = printable(outcome.reason)
    text = reason if outcome.status != PASS else outcome.check.title
    measured = f" ({reason})" if outcome.status == PASS and reason else ""
    head = f"{outcome.check.id:<4}{outcome.check.level:<7}{outcome.status:<8}"
    return f"{head}{outcome.seconds:6.1f}s  {shortened(text, 100)}{measured}"


def shortened(text: str, size: int) -> str:
    """Return a text in one line of at most so many characters."""
    found = " ".join(printable(text).split())
    return found if len(found) <= size else f"{found[: size - 1]}…"


def verdict_file(report: ConformanceReport, images: Sequence[str] = ()) -> dict[str, Any]:
    """Return what is kept of a report for a driver and its version.

    Reproductions are the kit's own steps and what the driver answered, shortened; its log is left
    out. `kubectl dra doctor` reads it.

    Args:
        report: Of the run.
        images: Of this version, as `name:tag` or `name@sha256:…`.
    """
    names = [one.partition("@") for one in images]
    return {
        "driver": printable(report.driver)[:63],
        "version": printable(report.version)[:64],
        "images": sorted({name.rpartition("/")[2] for name, at, _ in names if not at}),
        "digests": sorted({digest for _, at, digest in names if at}),
        "kit": str(report.facts.get("kit", "")),
        "checks": str(report.facts.get("checks", "")),
        "verdict": report.verdict,
        "notRun": [one.check.id for one in report.outcomes if one.status == NOT_RUN],
        "failed": [
            {
                "id": one.check.id,
                "level": one.check.level,
                "title": one.check.title,
                "reproduction": [
                    shortened(step, 200) for step in one.steps if not step.startswith(LOG)
                ],
            }
            for one in report.failed
        ],
    }


FORMATS: Mapping[str, Any] = {"json": as_json, "junit": as_junit, "markdown": as_markdown}
