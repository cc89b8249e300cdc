"""`kubectl dra release` and `adopt`: repairs of one claim, by one write."""

import click

from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.formats import Output

_EXAMPLES = """\
\b
Examples:
  kubectl dra release notebook-old -n ml --dry-run
  kubectl dra release ml/notebook-old
  kubectl dra release ml/trainer --force      # although containers of its pod may still run

\b
Exit status:
  0  the devices are released, or the claim holds none
  1  a pod uses the claim, or its containers may still run; nothing was written
  2  the claim does not exist or changed at that moment, permissions are missing, or bad input
"""


@click.command(epilog=_EXAMPLES)
@click.argument("claim", metavar="[NAMESPACE/]CLAIM", shell_complete=completion.claims)
@click.option("--dry-run", is_flag=True, help="Let the API server check the write, and not do it.")
@click.option(
    "--force",
    is_flag=True,
    help="Release devices also while safe release waits for a node to end the containers of a pod.",
)
@connected
@output_option
def release(source: Source, claim: str, dry_run: bool, force: bool, output: Output) -> None:  # noqa: FBT001 — click's way
    """Free the devices of one claim that no pod uses; the claim itself stays.

    The claim and the pods of its namespace are read live, and the one write fails where the claim
    has changed since. A deleted claim that holds no devices loses the scheduler's finalizer.
    """
    from dragoman_toolkit.dra.doctor import repair  # noqa: PLC0415 — heavy, not for --help

    repair.release(source, claim, force=force, dry_run=dry_run, output=output)


_ADOPT_EXAMPLES = """\
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


@click.command(epilog=_ADOPT_EXAMPLES)
@click.argument("claim", metavar="[NAMESPACE/]CLAIM", shell_complete=completion.claims)
@click.option("--dry-run", is_flag=True, help="Let the API server check the write, and not do it.")
@connected
@output_option
def adopt(source: Source, claim: str, dry_run: bool, output: Output) -> None:  # noqa: FBT001 — click's way
    """Make the pod that uses a generated claim its owner, so that it is deleted with the pod.

    Claims lose their owner when they are restored from a backup, or copied. The claim and the pods
    of its namespace are read live, and the one write fails where the claim has changed since.
    """
    from dragoman_toolkit.dra.doctor import repair  # noqa: PLC0415 — heavy, not for --help

    repair.adopt(source, claim, dry_run=dry_run, output=output)
