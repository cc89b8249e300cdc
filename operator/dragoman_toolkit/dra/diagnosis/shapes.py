"""`kubectl dra shapes`: recorded machines, for nodes that do not exist yet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli import hoisted
from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.output import show

if TYPE_CHECKING:
    from dragoman_toolkit.dra.cluster.source import Source
    from dragoman_toolkit.dra.formats import Output

_EXAMPLES = """\
\b
Examples:
  kubectl dra shapes list
  kubectl dra shapes show aws-p5.48xlarge -o yaml
  kubectl dra shapes record node-1 > shapes/mine.yaml
  kubectl dra simulate -f job.yaml --add-node type=p5.48xlarge,count=2

\b
Exit status:
  0  done
  2  no such shape, or something could not be read
"""


class _Commands(click.Group):
    """Takes options of all commands before its own commands as well."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, hoisted(args))


@click.group(cls=_Commands, epilog=_EXAMPLES)
def shapes() -> None:
    """Show recorded machines, and record one.

    A shape says which devices the nodes of a machine type publish: values of public dumps of
    ResourceSlices, each with its source. Own ones are read from --shapes or $DRAGOMAN_SHAPES.
    """


FOLDER = click.option(
    "--shapes",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder with own shapes, which go before the recorded ones.",
)


@shapes.command(name="list", epilog=_EXAMPLES)
@FOLDER
@output_option
def list_(folder: Path | None, output: Output) -> None:
    """List all shapes: name, drivers, devices, whether all are recorded, and sources."""
    from dragoman_toolkit.dra.diagnosis import shape_reports  # noqa: PLC0415 — heavy, not for --help

    show(shape_reports.listed(folder, wide=output == "wide"), output)


@shapes.command(name="show", epilog=_EXAMPLES)
@click.argument("name", metavar="NAME")
@FOLDER
@output_option
def show_(name: str, folder: Path | None, output: Output) -> None:
    """Show one shape, by its name or its machine type."""
    from dragoman_toolkit.dra.diagnosis import shape_reports  # noqa: PLC0415 — heavy, not for --help

    show(shape_reports.shown(name, folder), output)


@shapes.command(epilog=_EXAMPLES)
@click.argument("node", metavar="NODE", shell_complete=completion.nodes)
@click.option("--name", default="", metavar="NAME", help="Of the shape; its machine type without.")
@connected
def record(source: Source, node: str, name: str) -> None:
    """Print the shape of a node's ResourceSlices as YAML.

    Names of nodes, uuids, serials and addresses of machines are left out. What differs from another
    node of the same machine type is left out as well; with one node the known names alone.
    """
    from dragoman_toolkit.dra.diagnosis import shape_reports  # noqa: PLC0415 — heavy, not for --help

    sys.exit(shape_reports.record(source, node, name))
