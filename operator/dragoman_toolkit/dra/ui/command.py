"""`kubectl dra ui`: the page in a browser, following the cluster."""

import asyncio
import contextlib
import sys

import click

from dragoman_toolkit.dra.cluster.options import connected
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import Exit

_EXAMPLES = """\
\b
Examples:
  kubectl dra ui                        # opens the page in the browser
  kubectl dra ui --no-browser           # prints its address only
  kubectl dra ui --snapshot cluster.jsonl
  kubectl dra top --html devices.html   # the page as one file

\b
From another machine:
  ssh -L 8001:127.0.0.1:8001 HOST kubectl dra ui --no-browser --port 8001

\b
Exit status:
  0  ended by Ctrl-C
  2  the cluster could not be read, or bad input
"""


@click.command(epilog=_EXAMPLES)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="Port on 127.0.0.1; by default a random free one.",
)
@click.option(
    "--interval",
    type=click.FloatRange(0.5),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Minimum interval between updates of the page; at least 5 without permission to watch.",
)
@connected
def ui(source: Source, no_browser: bool, port: int, interval: float) -> None:  # noqa: FBT001 — click
    """Show a map of nodes and devices, their holders, and pods that wait, in the browser.

    The page is served on 127.0.0.1 to those who have its address, which contains a token. It
    follows the cluster, changes nothing in it, and loads nothing from any other host.
    """
    from dragoman_toolkit.dra.ui import serving  # noqa: PLC0415 — heavy, not for --help

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serving.serve(source, port, interval, browser=not no_browser))
    sys.exit(Exit.CLEAR)
