"""`kubectl dra adopt`: make the pod that uses a generated claim its owner."""

import click

from dragoman.cli.dra.cluster import completion
from dragoman.cli.dra.cluster.options import connected, output_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.formats import Output

_EXAMPLES = """\
\b
Examples:
  kubectl dra adopt trainer-1-gpu-x8k2p -n ml --dry-run
  kubectl dra adopt ml/trainer-1-gpu-x8k2p

\b
Exit status:
  0  a pod owns the claim, or the claim needs no owner
  1  no pod, or several, name the claim in their status; nothing was written
  2  the claim does not exist or changed at that moment, permissions are missing, or bad input
"""


@click.command(epilog=_EXAMPLES)
@click.argument("claim", metavar="[NAMESPACE/]CLAIM", shell_complete=completion.claims)
@click.option("--dry-run", is_flag=True, help="Let the API server check the write, and not do it.")
@connected
@output_option
def adopt(source: Source, claim: str, dry_run: bool, output: Output) -> None:  # noqa: FBT001 — click's way
    """Make the pod that uses a generated claim its owner, so that it is deleted with the pod.

    Claims lose their owner when they are restored from a backup, or copied. The claim and the pods
    of its namespace are read live, and the one write fails where the claim has changed since.
    """
    from dragoman.cli.dra.doctor import repair  # noqa: PLC0415 — heavy, not for --help

    repair.adopt(source, claim, dry_run=dry_run, output=output)
