"""Tables as text: columns where they fit, folded where they do not, else a block for each row.

No column is cut, and no line is longer than the terminal: its own wrapping would mix up columns.
Where room is short, columns go that say nothing, or what others say.
"""

import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TextIO

from dragoman.cli.terminal import plain

UNBOUNDED = 1 << 20
"""Columns of output that is not a terminal: lines must not be folded."""
_NARROW = 12
"""Letters to which a column can be folded; narrower ones, as numbers, stay whole."""
_SIGNS = ".-:=@,"
"""Behind these a name may go on in the next line."""
_MARK = re.compile(r"\s*(?:[*!•] |-> )?")  # What stands before the text of a line
_GAPS = (3, 2)
"""Spaces between columns, as kubectl has them, and where room is short."""
_STYLES: Mapping[str, str] = {
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "dim": "2",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with a style, such as `red`; a style never changes the text."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns with a header line."""

    headers: tuple[str, ...]  # In capitals
    rows: tuple[tuple[str | Cell, ...], ...]  # As many cells as headers; line breaks in cells stay
    # Headers of columns that repeat another one here, or are 0: on a narrow terminal they go first
    spare: tuple[str, ...] = ()
    # Headers of columns that go before rows become blocks, as numbers mean nothing in these
    last: tuple[str, ...] = ()
    stack_below: int = 0  # Width below which each row becomes a block, because its texts are long


@dataclass(frozen=True, slots=True)
class Screen:
    """Where text goes."""

    width: int = UNBOUNDED  # In columns
    colors: bool = False  # Whether styles are shown
    headers: bool = True  # Whether tables have their header line


def screen(stream: TextIO, *, headers: bool = True) -> Screen:
    """Return what a stream can show: NO_COLOR and FORCE_COLOR say so as in other programs."""
    terminal = stream.isatty()
    forced = os.environ.get("FORCE_COLOR", "") not in ("", "0")
    able = terminal and os.environ.get("TERM") != "dumb"
    colors = not os.environ.get("NO_COLOR") and (forced or able)
    return Screen(_columns() if terminal else UNBOUNDED, colors, headers)


def _columns() -> int:
    return max(shutil.get_terminal_size().columns, 1)


def table_lines(table: Table, on: Screen) -> Iterator[str]:
    """Yield the lines of a table, none longer than the screen is wide."""
    if on.width < table.stack_below:
        yield from _stacked(table, on)
        return
    while True:
        natural = _natural(table)
        for gap in _GAPS:
            if sum(natural) + gap * (len(natural) - 1) <= on.width:
                yield from _drawn(table, natural, gap, on)
                return
        spare = next(
            (one for one in chain(table.spare, _silent(table)) if one in table.headers), None
        )
        if spare is None:
            break
        table = _without(table, spare)
    folded = _folded(natural, on.width)
    for header in table.last:
        if folded is None and header in table.headers:
            table = _without(table, header)
            folded = _folded(_natural(table), on.width)
    yield from _stacked(table, on) if folded is None else _drawn(table, folded, _GAPS[-1], on)


def _silent(table: Table) -> Iterator[str]:
    """Yield the headers of columns without a word; the first one names the rows."""
    for index, header in enumerate(table.headers):
        if index and all(_text(row[index]) in ("", "-") for row in table.rows):
            yield header


def text_lines(text: str | Cell, on: Screen) -> Iterator[str]:
    """Yield a paragraph, wrapped between words behind its own indentation."""
    cell = text if isinstance(text, Cell) else Cell(text)
    for line in plain(cell.text).split("\n"):
        for part in _hanging(line, on.width):
            yield _styled(part.rstrip(), cell.style, on)


def _hanging(line: str, width: int) -> list[str]:
    """Wrap a line behind its indentation and its mark, so that `* a` goes on below `a`."""
    mark = _MARK.match(line) if _width(line) > width else None
    indent = mark.end() if mark else 0
    first, *rest = _wrapped(line[indent:], max(width - indent, 1))
    return [line[:indent] + first, *(" " * indent + one for one in rest)]


def _natural(table: Table) -> list[int]:
    return [
        max(
            _width(header),
            *(max(map(_width, _text(row[index]).split("\n"))) for row in table.rows),
            0,
        )
        for index, header in enumerate(table.headers)
    ]


def _without(table: Table, header: str) -> Table:
    at = table.headers.index(header)
    rows = tuple((*row[:at], *row[at + 1 :]) for row in table.rows)
    headers = (*table.headers[:at], *table.headers[at + 1 :])
    return replace(table, headers=headers, rows=rows)


def _folded(natural: Sequence[int], width: int) -> list[int] | None:
    """Return narrower columns that fit, the widest folded most; None where nothing does."""
    room = width - _GAPS[-1] * (len(natural) - 1)
    if sum(min(one, _NARROW) for one in natural) > room:
        return None
    highest = max(natural)
    while sum(min(one, highest) for one in natural) > room:
        highest -= 1
    return [min(one, highest) for one in natural]


def _drawn(table: Table, widths: Sequence[int], gap: int, on: Screen) -> Iterator[str]:
    rows = [tuple(Cell(one, "bold") for one in table.headers)] if on.headers else []
    for row in (*rows, *table.rows):
        cells = [
            [part for line in _text(one).split("\n") for part in _hanging(line, width)]
            for one, width in zip(row, widths, strict=True)
        ]
        styles = [one.style if isinstance(one, Cell) else "" for one in row]
        for number in range(max(map(len, cells))):
            parts = [
                (one[number] if number < len(one) else "", style, width)
                for one, style, width in zip(cells, styles, widths, strict=True)
            ]
            yield (
                (" " * gap)
                .join(
                    _styled(part, style, on) + " " * (width - _width(part))
                    for part, style, width in parts
                )
                .rstrip()
            )


def _stacked(table: Table, on: Screen) -> Iterator[str]:
    """Yield rows as blocks: short cells on the first line, each long one on lines of its own."""
    for row in table.rows:
        head: list[str] = []
        rest: list[str] = []
        for header, one in zip(table.headers, row, strict=True):
            text, style = _text(one), one.style if isinstance(one, Cell) else ""
            if not text:
                continue
            # Numbers mean nothing without their header.
            said = f"{header}: {text}" if text.strip("-.").isdigit() or "/" in header else text
            if "\n" in text or _width(text) > 2 * _NARROW:
                rest += [
                    "  " + _styled(part, style, on)
                    for line in text.split("\n")
                    for part in _hanging(line, max(on.width - 2, 1))
                ]
            elif head and _width(_bare(head[-1])) + _GAPS[0] + _width(said) <= on.width:
                head[-1] += " " * _GAPS[0] + _styled(said, style, on)
            else:
                head += [_styled(part, style, on) for part in _wrapped(said, on.width)]
        yield from (*head, *rest)


def _bare(text: str) -> str:
    """Return a line without its styles."""
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def _wrapped(text: str, width: int) -> list[str]:
    """Cut a line between words, and words that are longer than the width."""
    if _width(text) <= width:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if _width(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        line = word
        while _width(line) > width:
            cut = _cut(line, width)
            lines.append(line[:cut])
            line = line[cut:]
    return [*lines, line]


def _cut(word: str, width: int) -> int:
    """Return where to cut a word: at a `/` of a name, else behind a sign, else where the room ends.

    In the first third a cut is not worth it: it makes more lines than it makes names readable.
    """
    most = max(width, 1)
    while most > 1 and _width(word[:most]) > width:
        most -= 1
    places = range(most, most // 3, -1)
    for fits in (
        lambda at: "/" in word[at - 1 : at + 1],
        lambda at: word[at - 1] in _SIGNS,
    ):
        if found := next(filter(fits, places), 0):
            return found
    return most


def _text(cell: str | Cell) -> str:
    return plain(cell.text if isinstance(cell, Cell) else cell)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF")
        for one in text
    )


def _styled(text: str, style: str, on: Screen) -> str:
    codes = ";".join(_STYLES[one] for one in style.split() if one in _STYLES) if on.colors else ""
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text
