"""--watch: the same answer again and again, until it is interrupted."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

import click

from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import Exit, Report, show, watch

Command = Callable[..., Any]
Answer = Callable[[Source], Report]


def watched(command: Command) -> Command:
    """Add -w and --interval; the command gets the seconds as `every`, 0 for an answer once."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        interval: float = options.pop("interval")
        every = interval if options.pop("watching") else 0.0
        return command(*arguments, every=every, **options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


_OPTIONS = (
    click.option("-w", "--watch", "watching", is_flag=True, help="Redraw until interrupted."),
    click.option(
        "--interval",
        type=click.FloatRange(0.5),
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="Time between two readings with --watch.",
    ),
)


def answer(source: Source, question: Answer, output: str, every: float) -> None:
    """Print an answer, or redraw it; end the process with its exit status."""
    if every:
        if source.snapshot:
            raise click.UsageError("--watch has nothing to watch in a snapshot")
        # Progress would be drawn over the last line of the table.
        quiet = replace(source, quiet=True)
        try:
            watch(_again(lambda: question(quiet), every), output, every)
        except KeyboardInterrupt:
            sys.exit(Exit.CLEAR)
    report = question(source)
    show(report, output)
    sys.exit(report.status)


def _again(question: Callable[[], Report], every: float) -> Iterator[Report]:
    while True:
        yield question()
        gc.collect()  # commands seldom collect, which suits one answer and not many
        time.sleep(every)
