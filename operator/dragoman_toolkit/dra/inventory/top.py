"""`kubectl dra top`: who has what, by class, node, namespace, pod or queue."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman_toolkit.dra.cluster import watching
from dragoman_toolkit.dra.cluster.completion import device_classes
from dragoman_toolkit.dra.cluster.options import connected, output_option, selecting
from dragoman_toolkit.dra.cluster.watching import watched
from dragoman_toolkit.dra.kinds import What

if TYPE_CHECKING:
    from dragoman_toolkit.dra.cluster.selection import ObjectSelection
    from dragoman_toolkit.dra.cluster.source import Source
    from dragoman_toolkit.dra.formats import Output
    from dragoman_toolkit.dra.output import Report


_EXAMPLES = """\
\b
Examples:
  kubectl dra top                               # devices by class
  kubectl dra top nodes --class gpu.nvidia.com
  kubectl dra top namespaces                    # and what their quotas charge
  kubectl dra top pods -n ml
  kubectl dra top --by resource.kubernetes.io/pcieRoot   # pairs of GPU and NIC that are left
  kubectl dra top queues                        # quota, charge and use of Kueue and Volcano
  kubectl dra top queues --manager kueue --queue team-a -o wide
  kubectl dra top --watch                       # redrawn every 5 seconds
  kubectl dra top --html devices.html           # a page for the browser, in one file
  kubectl dra top -o json | jq '.classes[] | {name, free}'

\b
Exit status:
  0  the numbers are complete
  1  queues: some difference of what is charged and held could not be explained
  2  something could not be read, or bad input; the numbers are what can be seen
"""
_WHAT = ("classes", "nodes", "namespaces", "pods", "queues")


@click.command(epilog=_EXAMPLES)
@click.argument("what", type=What(_WHAT), metavar=f"[{'|'.join(_WHAT)}]", default="classes")
@click.option(
    "--class",
    "device_class",
    default="",
    metavar="NAME",
    shell_complete=device_classes,
    help="Count devices of this DeviceClass only (classes, nodes).",
)
@click.option(
    "--by",
    "attribute",
    default="",
    metavar="ATTRIBUTE",
    help="Count devices by node and value of this attribute, and how many claims of one device "
    "of each driver a value still serves.",
)
@click.option(
    "--queue",
    default="",
    metavar="NAME",
    help="Show this queue only, as NAME or MANAGER/NAME (queues).",
)
@click.option(
    "--manager",
    default="",
    type=click.Choice(["", "kueue", "volcano", "kai"]),
    metavar="kueue|volcano|kai",
    help="Show queues of this queue manager only (queues).",
)
@selecting
@watched
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    metavar="FILE",
    help="Write a map of all devices, their holders and pods that wait as one HTML file.",
)
@connected
@output_option
def top(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    what: str,
    device_class: str,
    attribute: str,
    queue: str,
    manager: str,
    selection: ObjectSelection,
    every: float,
    html: Path | None,
    output: Output,
) -> None:
    """Show who has what: devices by class (default), node, namespace, pod or queue.

    FREE devices are idle, untainted, in a complete pool and, for partitions, have counters left.
    LOST devices are allocated, but in no ResourceSlice any more. What queues are CHARGED is the
    number of their manager; the last column explains all that pods HOLD more or less.
    """
    if html:
        if every:
            raise click.UsageError(
                "--html writes a file once; `kubectl dra ui` follows the cluster"
            )
        from dragoman_toolkit.dra.ui import file  # noqa: PLC0415 — heavy, not for --help

        sys.exit(file.write(source, html))
    if attribute and (what != "classes" or device_class or selection):
        raise click.UsageError("--by counts all devices: leave kinds, --class and selectors out")
    if what != "queues" and (queue or manager):
        raise click.UsageError("--queue and --manager are for `kubectl dra top queues`")
    if what == "queues" and (selection or device_class):
        raise click.UsageError("queues are selected by --queue, --manager and -n")
    from dragoman_toolkit.dra.inventory import (  # noqa: PLC0415 — heavy, not for --help
        queues_table,
        top_tables,
        values_table,
    )

    def answer(source: Source) -> Report:
        if attribute:
            return values_table.report(source, attribute)
        if what == "queues":
            return queues_table.report(source, queue, manager, wide=output == "wide")
        return top_tables.report(source, what, device_class, selection, wide=output == "wide")

    watching.answer(source, answer, output, every)
