"""The terminal: lines that stay, above one block that rich redraws in place.

On anything but a terminal there is no block and no escape sequence; `NO_COLOR` takes away colours
alone (no-color.org).
"""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from typing import Self, TextIO

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

_UNBOUNDED = 4096
"""Columns of what is not a terminal: lines of a log must not be folded."""


class Style:
    """Styles of rich, by meaning."""

    STRONG = "bold"
    FAINT = "dim"
    BAD = "red"
    GOOD = "green"
    WAITING = "yellow"
    FRESH = "cyan"


def styled(*parts: str | tuple[str, str]) -> Text:
    """Return one line of texts and of pairs of text and style."""
    return Text.assemble(*parts)


def console(out: TextIO) -> Console:
    """Return a console that changes nothing in what it prints."""
    width = None if out.isatty() else _UNBOUNDED
    return Console(file=out, highlight=False, markup=False, emoji=False, width=width)


def run_in_terminal(command: list[str], columns: int) -> subprocess.CompletedProcess[str]:
    """Run a command that lays its output out for a terminal, without colours."""
    reading, writing = pty.openpty()
    fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("4H", 0, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    try:
        running = subprocess.Popen(
            command, stdout=writing, stderr=subprocess.PIPE, text=True,
            env=variables | {"NO_COLOR": "1"},
        )  # fmt: skip
    finally:
        os.close(writing)
    written = bytearray()
    with running, os.fdopen(reading, "rb", buffering=0) as terminal:
        while part := _part(terminal.fileno()):
            written += part
        said = running.stderr.read() if running.stderr else ""
    output = written.decode("utf-8", "replace").replace("\r\n", "\n")
    return subprocess.CompletedProcess(command, running.returncode, output, said)


def _part(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # on Linux that is how a terminal ends whose programs have ended
        return b""


class Screen:
    """Write to a terminal, or to a pipe.

    Args:
        to: Where everything goes.

    Attributes:
        live: Whether it is a terminal, so that blocks are redrawn and pauses make sense.
    """

    def __init__(self, to: Console) -> None:
        self._console = to
        self.live = to.is_terminal and not to.is_dumb_terminal
        self._block = Live(console=to, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        """Hide the cursor."""
        if self.live:
            self._block.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the block and show the cursor."""
        self._block.stop()

    @property
    def columns(self) -> int | None:
        """The width of a terminal; None for what is none."""
        return self._console.width if self.live else None

    def say(self, *lines: RenderableType) -> None:
        """Add lines that stay, above the block."""
        if self.live or self._console.record:
            self._console.print(*lines, sep="\n")
            return
        with self._console.capture() as said:
            self._console.print(*lines, sep="\n", soft_wrap=True)
        for line in said.get().splitlines():
            self._console.file.write(f"{line.rstrip()}\n")
        self._console.file.flush()

    def show(self, block: RenderableType) -> None:
        """Replace the block; does nothing on what is not a terminal."""
        if self.live:
            self._block.update(block, refresh=True)

    def end(self, *lines: RenderableType) -> None:
        """Remove the block and add last lines."""
        self.show("")
        self.say(*lines)
