"""Reports: one answer as a document for programs and as tables for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from dragoman.cli.terminal import plain
from dragoman.inventory.snapshots.snapshot import API_VERSION

if TYPE_CHECKING:  # rich takes a tenth of a second to import, and JSON needs none of it
    from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
    from rich.text import Text

FORMATS: Final = ("table", "wide", "json", "yaml")
_UNBOUNDED: Final = 4096
"""Columns of output that is not a terminal: lines must not be folded."""
_NARROW: Final = 12
"""Letters to which a column can be folded; narrower ones, as numbers, stay whole."""
_GAP: Final = 3
"""Spaces between columns."""


class Exit(IntEnum):
    """Exit statuses of all users' commands."""

    CLEAR = 0
    OBSTACLE = 1
    UNKNOWN = 2


class Unusable(click.ClickException):
    """Input, rights or a version that leave the question open; the message says what to do."""

    exit_code = Exit.UNKNOWN


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with a style of rich, such as `red`; a style never changes the text."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns with a header line; long ones fold on a narrow terminal, and none is left out."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One answer.

    Attributes:
        kind: Of the document.
        document: Its fields beside `apiVersion` and `kind`; JSON types only, keys are stable.
        blocks: Tables and paragraphs for people, in order; empty paragraphs are blank lines.
        status: The command's exit status.
    """

    kind: str
    document: Mapping[str, Any]
    blocks: tuple[Table | str | Cell, ...] = ()
    status: Exit = Exit.CLEAR
    notes: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Return the whole document."""
        return {"apiVersion": API_VERSION, "kind": self.kind, **self.document}


def show(report: Report, output: str) -> None:
    """Print a report to standard output in one of FORMATS."""
    if output == "json":
        click.echo(_json(report.as_json()))
    elif output == "yaml":
        click.echo(_yaml(report.as_json()), nl=False)
    else:
        screen = console(sys.stdout)
        for line in _lines(screen, report):
            click.echo(line)


def _json(document: Mapping[str, Any]) -> str:
    """Return JSON in which a terminal finds nothing to obey."""
    import json  # noqa: PLC0415 — only for this format

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


def watch(reports: Iterable[Report], output: str) -> None:
    """Print reports one after the other: in place on a terminal, else below each other."""
    screen = console(sys.stdout)
    if output in ("json", "yaml") or not screen.is_terminal:
        for report in reports:
            show(report, output)
            click.echo()
        return
    from rich.live import Live  # noqa: PLC0415 — only here

    with Live(console=screen, auto_refresh=False, screen=False) as live:
        for report in reports:
            live.update(group(report), refresh=True)


def console(stream: TextIO) -> Console:
    """Return a console of rich: colours on terminals only, and never with NO_COLOR."""
    from rich.console import Console  # noqa: PLC0415 — see above

    width = None if stream.isatty() else _UNBOUNDED
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=width)


def _lines(screen: Console, report: Report) -> Iterator[str]:
    with screen.capture() as captured:
        # Lines that are longer than those of the terminal are wrapped by it, and not cut.
        screen.print(group(report), soft_wrap=not screen.is_terminal, crop=False)
    for line in captured.get().splitlines():
        yield line.rstrip()


def group(report: Report) -> Group:
    """Return what rich draws for a report."""
    from rich.console import Group  # noqa: PLC0415 — see above

    parts = [_drawn(block) for block in (*report.blocks, *_notes(report.notes))]
    return Group(*parts)


def _notes(notes: Sequence[str]) -> Iterator[Cell]:
    for note in notes:
        yield Cell(f"! {note}", "yellow")


def _drawn(block: Table | str | Cell) -> RenderableType:
    from rich.text import Text  # noqa: PLC0415 — see above

    if isinstance(block, str):
        return Text(plain(block))
    if isinstance(block, Cell):
        return Text(plain(block.text), block.style)
    return _Columns(block)


@dataclass(frozen=True, slots=True)
class _Columns:
    """A table that folds long columns; where that is not enough, the terminal wraps its lines."""

    table: Table

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        from rich import table as rich_table  # noqa: PLC0415 — see above

        rows = [tuple(map(_text, row)) for row in self.table.rows]
        widest = [
            max(len(header), *(row[index].cell_len for row in rows), 0)
            for index, header in enumerate(self.table.headers)
        ]
        least = [min(width, _NARROW) for width in widest]
        folds = sum(least) + _GAP * (len(least) - 1) <= options.max_width
        drawn = rich_table.Table(
            box=None,
            pad_edge=False,
            padding=(0, _GAP, 0, 0),
            header_style="bold",
            width=None if folds else sum(widest) + _GAP * (len(widest) - 1),
        )
        for header, short, width in zip(self.table.headers, least, widest, strict=True):
            drawn.add_column(header, no_wrap=width == short, min_width=short, overflow="fold")
        for row in rows:
            drawn.add_row(*row)
        yield drawn


def _text(cell: str | Cell) -> Text:
    from rich.text import Text  # noqa: PLC0415 — see above

    one = cell if isinstance(cell, Cell) else Cell(cell)
    return Text(plain(one.text), one.style)


class Progress:
    """What long work has done so far, on standard error where that is a terminal.

    Args:
        quiet: Whether nothing is shown.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._status: Any = None
        self._counts: dict[str, int] = {}

    def __enter__(self) -> Callable[[str, int], None]:
        """Start, and return what is called with a thing and how many of it are done."""
        if sys.stderr.isatty() and not self._quiet:
            self._status = console(sys.stderr).status("reading")
            self._status.__enter__()
        return self._done

    def __exit__(self, *_: object) -> None:
        """Erase the line."""
        if self._status is not None:
            self._status.__exit__(None, None, None)

    def _done(self, thing: str, count: int) -> None:
        self._counts[thing] = count
        if self._status is not None:
            listed = ", ".join(f"{many} {name}" for name, many in self._counts.items())
            self._status.update(f"reading: {listed}")
