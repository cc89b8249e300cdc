"""`kubectl dra untaint`: remove taints that `kubectl dra taint` set."""

from dataclasses import replace

import click

from dragoman.cli.dra.cluster.options import connected, output_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.formats import Output
from dragoman.cli.dra.maintenance.targeting import WantedDevices, targeted

_EXAMPLES = """\
\b
Examples:
  kubectl dra untaint gpu.nvidia.com/node-4/gpu-3 example.com/xid-
  kubectl dra untaint gpu.nvidia.com/node-4/gpu-3 example.com/xid:NoExecute-
  kubectl dra untaint --node node-4              # all taints of `kubectl dra taint`

\b
Exit status:
  0  no such taint of `kubectl dra taint` is left on the devices
  1  another object keeps new claims away: the lines say which, and how to remove it
  2  no such device, missing permissions, or bad input
"""


@click.command(epilog=_EXAMPLES)
@targeted
@connected
@output_option
def untaint(source: Source, wish: WantedDevices, output: Output) -> None:
    """Remove taints of `kubectl dra taint`: kubectl dra untaint TARGET… [KEY[:EFFECT]-].

    Taints that a driver publishes in its ResourceSlices are the driver's, and stay.
    """
    from dragoman.cli.dra.maintenance import releasing  # noqa: PLC0415 — heavy, not for --help

    given = [name for name in wish.names if name.endswith("-")]
    if len(given) > 1:
        raise click.UsageError("give at most one taint as KEY- or KEY:EFFECT-")
    key, _, effect = (given[0][:-1] if given else "").partition(":")
    targets = tuple(name for name in wish.names if not name.endswith("-"))
    releasing.untaint(source, replace(wish, names=targets), key, effect, output)
