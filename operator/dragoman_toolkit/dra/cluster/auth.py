"""`kubectl dra auth`: which rights the other commands need, and who has them not."""

import sys

import click

from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.output import show

_EXAMPLES = """\
\b
Examples:
  kubectl dra auth
  kubectl dra auth --as ann -n ml
  kubectl dra auth --for drain --for release    # may they write, too?
  kubectl dra auth -o yaml | yq .clusterRole | kubectl apply -f -

\b
Exit status:
  0  no permission is missing
  1  some are missing
  2  the API server does not answer, or bad input
"""
COMMANDS = ("ui", "hold", "drain", "taint", "release", "adopt", "preempt", "migrate")
"""Those that need more than rights to list."""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--for",
    "commands",
    multiple=True,
    type=click.Choice([*COMMANDS, "all"]),
    help="Also require the permissions of this command.",
)
@connected
@output_option
def auth(source: Source, commands: tuple[str, ...], output: Output) -> None:
    """Print the permissions you lack, and a ClusterRole that grants all of them.

    All commands need permissions to list. Where one holds in one namespace only, they answer for
    that namespace. `hold`, `drain`, `taint`, `release` and `adopt` write, `ui` watches, and gets
    objects and their Events, `preempt` lists PodDisruptionBudgets and namespaces, and `migrate` the
    former, DaemonSets, HorizontalPodAutoscalers, LimitRanges and ConfigMaps.
    """
    from dragoman_toolkit.dra.cluster import permissions  # noqa: PLC0415 — heavy, not for --help

    if source.snapshot:
        raise click.UsageError("permissions are those of a user in a cluster: leave --snapshot out")
    chosen = COMMANDS if "all" in commands else tuple(dict.fromkeys(commands))
    report = permissions.report(source, chosen)
    show(report, output)
    sys.exit(report.status)
