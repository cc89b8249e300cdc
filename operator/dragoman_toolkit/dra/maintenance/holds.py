"""`kubectl dra holds`: which devices are out of service, since when, by whom and why."""

import click

from dragoman_toolkit.dra.cluster import watching
from dragoman_toolkit.dra.cluster.options import connected, output_option, selecting
from dragoman_toolkit.dra.cluster.selection import ObjectSelection
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.cluster.watching import watched
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.output import Report

_EXAMPLES = """\
\b
Examples:
  kubectl dra holds
  kubectl dra holds -o wide          # names of the objects
  kubectl dra holds -A -l team=ml    # DeviceTaintRules and held claims with a label
  kubectl dra holds -o json | jq '.holds[] | select(.author == "ann")'

\b
Exit status:
  0  the answer is complete
  2  something could not be read, or bad input
"""


@click.command(epilog=_EXAMPLES)
@selecting
@watched
@connected
@output_option
def holds(source: Source, selection: ObjectSelection, every: float, output: Output) -> None:
    """List what keeps devices out of service: DeviceTaintRules and held claims."""
    from dragoman_toolkit.dra.maintenance import holds_table  # noqa: PLC0415 — heavy, not for --help

    def answer(source: Source) -> Report:
        return holds_table.answer(source, selection, wide=output == "wide")

    watching.answer(source, answer, output, every)
