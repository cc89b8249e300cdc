"""The terminal: lines that stay, above one block that is redrawn in place.

On anything but a terminal there is no block and no escape sequence; `NO_COLOR` takes away colours
alone (no-color.org).
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Self, TextIO

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
REST_OF_LINE, REST_OF_SCREEN = "\x1b[K", "\x1b[J"


class Tone(Enum):
    """How a piece of text looks; the values are ANSI attributes."""

    PLAIN = ""
    STRONG = "1"
    FAINT = "2"
    BAD = "31"
    GOOD = "32"
    WAITING = "33"
    FRESH = "36"


class Span(NamedTuple):
    """A piece of a line in one tone."""

    text: str
    tone: Tone = Tone.PLAIN


Line = Sequence[Span]


def plain(text: str) -> Line:
    """Return a line without any tone."""
    return (Span(text),)


class Screen:
    """Write to a terminal, or to a pipe as if there were none.

    Args:
        out: Where everything goes.
        environment: Variables that decide about colours; the process's own when absent.

    Attributes:
        live: Whether somebody watches, so that blocks are redrawn and pauses make sense.
    """

    def __init__(self, out: TextIO, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        self.live = out.isatty() and environment.get("TERM") != "dumb"
        self._coloured = self.live and not environment.get("NO_COLOR")
        self._out = out
        self._block: list[str] = []

    def __enter__(self) -> Self:
        """Hide the cursor, which would jump about."""
        self._write(HIDE_CURSOR if self.live else "")
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the block where it is and give the cursor back."""
        self._block = []
        self._write(SHOW_CURSOR if self.live else "")

    def say(self, *lines: Line | str) -> None:
        """Add lines that stay, above the block."""
        texts = [self._render(plain(line) if isinstance(line, str) else line) for line in lines]
        self._draw(texts, self._block)

    def show(self, block: Sequence[Line]) -> None:
        """Replace the block; does nothing where nobody watches."""
        if not self.live:
            return
        columns, rows = shutil.get_terminal_size()
        lines = [self._render(crop(line, columns - 1)) for line in block[: rows - 1]]
        if lines != self._block:
            self._draw([], lines)

    def end(self, *lines: Line | str) -> None:
        """Take the block away and add last lines."""
        self.show([])
        self.say(*lines)

    def _draw(self, above: list[str], block: list[str]) -> None:
        """Write lines over the old block, then the new block, without a moment of emptiness."""
        if not self.live:
            self._write("".join(f"{line}\n" for line in above))
            return
        up = f"\x1b[{len(self._block)}A" if self._block else ""
        text = "".join(f"{line}{REST_OF_LINE}\n" for line in (*above, *block))
        self._write(f"\r{up}{text}{REST_OF_SCREEN}")
        self._block = block

    def _render(self, line: Line) -> str:
        if not self._coloured:
            return "".join(span.text for span in line).rstrip()
        return "".join(
            f"\x1b[{tone.value}m{text}\x1b[0m" if tone.value else text for text, tone in line
        )

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def crop(line: Line, width: int) -> Line:
    """Return the part of a line that fits: a wrapped line would spoil the redrawing."""
    kept: list[Span] = []
    for text, tone in line:
        kept.append(Span(text[:width], tone))
        width -= len(kept[-1].text)
    return kept
