"""What commands print: reports in every form, once or again and again, and progress."""

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from dragoman.cli.terminal import plain
from dragoman_toolkit.dra.formats import Output, items, names, sorted_report
from dragoman_toolkit.dra.missing import cannot_tell
from dragoman_toolkit.dra.reports import Exit, Nothing, Report, Unusable
from dragoman_toolkit.dra.tables import Cell, Screen, Table, screen, table_lines, text_lines

__all__ = ["Cell", "Exit", "Report", "Table", "Unusable", "lines", "show", "watch"]

PATIENCE = 0.5
"""Seconds after which users want to know that something happens."""
REDRAW = 0.1
"""Seconds between two lines of progress."""


def show(report: Report, output: str) -> None:
    """Print a report to standard output in a form of `formats.Output`."""
    chosen = output if isinstance(output, Output) else Output(output)
    if chosen.sort_by:
        report = sorted_report(report, chosen.sort_by)
    for line in _printed(report, chosen, screen(sys.stdout, headers=chosen.headers)):
        click.echo(line, color=True, nl=chosen.form != "jsonpath")


def apart(output: str) -> None:
    """Print what stands between two reports: an empty line, or the mark between YAML documents."""
    chosen = output if isinstance(output, Output) else Output(output)
    if chosen == "yaml" or not chosen.document:
        click.echo("---" if chosen.document else "")


def _printed(report: Report, output: Output, on: Screen) -> Iterator[str]:
    document = report.as_json()
    if output.form in ("table", "wide"):
        for line in lines(report, on):
            yield line.rstrip()
    elif output == "json":
        yield _json(document)
    elif output == "yaml":
        yield _yaml(document).rstrip("\n")
    elif output == "name":
        yield from map(plain, names(report))
    elif output.form == "jsonpath":
        yield plain(output.rendered(document))
    else:
        rows = tuple(output.columns(one) for one in items(report))
        yield from table_lines(Table(output.column_names, rows), on)


def _json(document: Mapping[str, Any]) -> str:
    """Return JSON in which a terminal finds nothing to obey."""
    lines = json.dumps(document, indent=2, ensure_ascii=False).split("\n")
    return "\n".join(
        line
        if line.isprintable()
        else "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in line)
        for line in lines
    )


def _yaml(document: Mapping[str, Any]) -> str:
    """Return YAML in which a terminal finds nothing to obey."""
    import yaml  # noqa: PLC0415 — only for this format

    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    if text.replace("\n", "").isprintable():
        return text
    return yaml.safe_dump(document, sort_keys=False)


def watch(reports: Iterable[Report], output: str, interval: float | None = None) -> None:
    """Print reports one after the other: in place on a terminal, else below each other.

    Args:
        reports: Each as soon as it was read.
        output: As for `show`.
        interval: Seconds between two, which a terminal shows with the time of day.
    """
    chosen = output if isinstance(output, Output) else Output(output)
    if chosen.document or not sys.stdout.isatty():
        for report in reports:
            show(report, output)
            click.echo("---" if chosen == "yaml" else "")
        return
    from dragoman_toolkit.dra import redrawing  # noqa: PLC0415 — heavy

    redrawing.redraw(_drawn(one, chosen, interval) for one in reports)


def _drawn(report: Report, output: Output, interval: float | None) -> str:
    report = sorted_report(report, output.sort_by) if output.sort_by else report
    shown = [*lines(report, screen(sys.stdout, headers=output.headers))]
    if interval is not None:
        clock = time.strftime("%H:%M:%S")
        shown = [f"Every {interval:g}s, {clock}; Ctrl-C ends", "", *shown]
    return "\n".join(shown)


def lines(report: Report, on: Screen) -> Iterator[str]:
    """Yield what people read of a report: first what could not be read at all."""
    blind = cannot_tell(report.document.get("unseen") or ())
    # That there is nothing may be false where something could not be read.
    said = [one for one in report.blocks if not (blind and isinstance(one, Nothing))]
    said += _notes(report.notes)
    if blind:
        said = [Cell(blind, "yellow"), *([""] if said else []), *said]
    for block in said:
        yield from table_lines(block, on) if isinstance(block, Table) else text_lines(block, on)


def _notes(notes: Sequence[str]) -> Iterator[Cell]:
    for note in notes:
        yield Cell(f"! {note}", "yellow")


class ProgressLine:
    """What long work has done so far: one line on standard error where that is a terminal.

    Work that takes less than `PATIENCE` seconds shows nothing.

    Args:
        quiet: Whether nothing is shown.
        clock: Returns seconds.
    """

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._clock = clock
        self._due = math.inf
        self._counts: dict[str, int] = {}
        self._written = False

    def __enter__(self) -> Callable[[str, int], None]:
        """Start, and return what is called with a thing and how many of it are done."""
        if not self._quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._due = self._clock() + PATIENCE
        return self._done

    def __exit__(self, *_: object) -> None:
        """Erase the line."""
        if self._written:
            self._write("")

    def _done(self, thing: str, count: int) -> None:
        self._counts[thing] = count
        now = self._clock()
        if now < self._due:
            return
        self._due = now + REDRAW
        listed = ", ".join(f"{name} {many}" for name, many in self._counts.items())
        # A line that wraps could not be erased.
        width = shutil.get_terminal_size().columns - 1
        self._write(f"reading: {listed}"[:width])
        self._written = True

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()
