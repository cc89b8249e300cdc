"""What commands draw again and again in one place, with rich."""

import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text


def redraw(drawings: Iterable[str]) -> None:
    """Print each drawing in the place of the one before."""
    with Live(console=Console(file=sys.stdout), auto_refresh=False, screen=False) as live:
        for drawing in drawings:
            live.update(Text.from_ansi(drawing), refresh=True)


def console(stream: TextIO) -> Console:
    """Return a console, for what is redrawn while a command works."""
    return Console(file=stream, highlight=False, markup=False, emoji=False)
