"""`kubectl dra top`: who has what, by class, node, namespace or pod."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dragoman.cli.dra.cluster import watching
from dragoman.cli.dra.cluster.completion import device_classes
from dragoman.cli.dra.cluster.options import connected, output_option, selecting
from dragoman.cli.dra.cluster.selection import Selection
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.cluster.watching import watched
from dragoman.cli.dra.formats import Output
from dragoman.cli.dra.kinds import What
from dragoman.cli.dra.missing import missing
from dragoman.cli.dra.output import Exit, Report

if TYPE_CHECKING:
    from dragoman.inventory.inventory import Inventory

_EXAMPLES: Final = """\
\b
Examples:
  kubectl dra top                               # devices by class
  kubectl dra top nodes --class gpu.nvidia.com
  kubectl dra top namespaces                    # and what their quotas charge
  kubectl dra top pods -n ml
  kubectl dra top --watch                       # redrawn every 5 seconds
  kubectl dra top --html devices.html           # a page for the browser, in one file
  kubectl dra top -o json | jq '.classes[] | {name, free}'

\b
Exit status:
  0  the numbers are complete
  2  something could not be read, or bad input; the numbers are what can be seen
"""
_NEEDS: Final = {
    "classes": (
        *("resourceslices", "deviceclasses", "resourceclaims", "devicetaintrules"),
        *("pods", "resourceclaimtemplates"),
    ),
    "nodes": ("resourceslices", "deviceclasses", "resourceclaims", "devicetaintrules", "pods"),
    "namespaces": ("resourceclaims", "resourcequotas"),
    "pods": ("resourceclaims", "pods", "deviceclasses"),
}
"""What each answer is computed from."""
_SELECTED: Final = {
    "classes": "deviceclasses",
    "nodes": "nodes",
    "namespaces": "namespaces",
    "pods": "pods",
}
"""The objects that -l and --field-selector select."""


@click.command(epilog=_EXAMPLES)
@click.argument("what", type=What(_NEEDS), metavar=f"[{'|'.join(_NEEDS)}]", default="classes")
@click.option(
    "--class",
    "device_class",
    default="",
    metavar="NAME",
    shell_complete=device_classes,
    help="Count devices of this DeviceClass only (classes, nodes).",
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
    selection: Selection,
    every: float,
    html: Path | None,
    output: Output,
) -> None:
    """Show who has what: devices by class (default), node, namespace or pod.

    FREE devices are idle, untainted, in a complete pool and, for partitions, have counters left.
    LOST devices are allocated, but in no ResourceSlice any more.
    """
    if html:
        if every:
            raise click.UsageError(
                "--html writes a file once; `kubectl dra ui` follows the cluster"
            )
        sys.exit(_write(source, html))

    def answer(source: Source) -> Report:
        return _report(source, what, device_class, selection, wide=output == "wide")

    watching.answer(source, answer, output, every)


def _write(source: Source, file: Path) -> Exit:
    # Heavy, and not needed for --help.
    from dragoman.cli.dra import notes  # noqa: PLC0415
    from dragoman.cli.dra.ui import command  # noqa: PLC0415
    from dragoman.inventory.facts.parser import parse  # noqa: PLC0415
    from dragoman.inventory.inventory import take  # noqa: PLC0415

    snapshot = source.read(command.NEEDS)
    world = parse(snapshot)
    command.write(source, snapshot, take(world, source.profile(world)), file)
    return notes.status(world)


def _report(
    source: Source, what: str, device_class: str, selection: Selection, *, wide: bool
) -> Report:
    from dragoman.cli.dra.inventory import top_tables as tables  # noqa: PLC0415 — heavy, not for --help

    selected = source.selected(_SELECTED[what], selection) if selection else None
    inventory = _inventory(source, what)
    known = inventory.world.classes
    if device_class and what in ("classes", "nodes") and device_class not in known:
        there = ", ".join(known) or "none"
        text = f"DeviceClass {device_class} not found; there are {there}"
        raise missing(inventory.world, text, "deviceclasses")
    if what == "classes":
        return tables.classes(inventory, device_class, selected, wide=wide)
    if what == "nodes":
        return tables.nodes(inventory, device_class, selected, wide=wide)
    if what == "namespaces":
        only = source.namespace_option
        return tables.namespaces(inventory, only, selected)
    return tables.pods(inventory, source.only_namespace, selected, wide=wide)


def _inventory(source: Source, what: str) -> Inventory:
    from dragoman.inventory.inventory import take  # noqa: PLC0415 — heavy, not for --help

    world = source.world(_NEEDS[what])
    return take(world, source.profile(world))
