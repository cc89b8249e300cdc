"""`kubectl dra snapshot`: the objects behind every answer, in one file."""

import sys

import click

from dragoman_toolkit.dra.cluster.options import connected
from dragoman_toolkit.dra.cluster.source import Source

_EXAMPLES = """\
\b
Examples:
  kubectl dra snapshot -o cluster.jsonl
  kubectl dra snapshot --keep-names=false -o report.jsonl
  kubectl dra snapshot --with migration -o cluster.jsonl   # for kubectl dra migrate
  kubectl dra explain pod trainer -n ml --snapshot cluster.jsonl
  kubectl dra snapshot | gzip > cluster.jsonl.gz

\b
Exit status:
  0  everything was written
  2  something could not be read, or bad input; the file has what could be
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="-",
    metavar="FILE",
    help="Where to write; standard output by default.",
)
@click.option(
    "--keep-names",
    type=bool,
    default=True,
    show_default=True,
    metavar="BOOL",
    help="Whether names stay; false replaces all but those of drivers and devices by tokens.",
)
@click.option(
    "--with",
    "extras",
    type=click.Choice(["migration", "queues", "autoscaler"]),
    multiple=True,
    metavar="migration|queues|autoscaler",
    help="Keep what `kubectl dra migrate` reads as well: labels of nodes about their devices; "
    "queues also where there are 5,000 Workloads of Kueue or more; or what autoscalers wrote.",
)
@connected
def snapshot(
    source: Source,
    output: str,
    keep_names: bool,  # noqa: FBT001 — click's way
    extras: tuple[str, ...],
) -> None:
    """Write nodes, pods, claims, slices, classes and rules as JSON lines, for `--snapshot`.

    Opaque parameters, environment variables, annotations and labels are left out, but for labels
    of nodes that a selector names.
    """
    from dragoman_toolkit.dra.cluster import writing  # noqa: PLC0415 — heavy, not for --help

    sys.exit(writing.write(source, output, keep_names=keep_names, extras=extras))
