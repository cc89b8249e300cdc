"""`kubectl dra undrain`, `unhold` and `untaint`: put devices back in service."""

from dataclasses import replace

import click

from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.maintenance.targeting import WantedDevices, targeted

_EXAMPLES = """\
\b
Examples:
  kubectl dra {name} gpu.nvidia.com/node-4/gpu-3
  kubectl dra {name} --node node-4
  kubectl dra {name} gpu.nvidia.com/node-4 --dry-run

\b
Exit status:
  0  nothing of hold or drain keeps the devices out of service any more
  1  another object does: the lines say which, and how to remove it
  2  no such device, missing permissions, or bad input
"""


@click.command(epilog=_EXAMPLES.format(name="undrain"))
@targeted
@connected
@output_option
def undrain(source: Source, wish: WantedDevices, output: Output) -> None:
    """Put devices back in service: delete what `drain` or `hold` created for them.

    TARGET is a device (driver/pool/device), a pool (driver/pool) or a node (node/NAME).
    Holds of all users are
    deleted; those of a DeviceMaintenance end with that object.
    """
    from dragoman_toolkit.dra.maintenance import releasing  # noqa: PLC0415 — heavy, not for --help

    releasing.undo(source, wish, "undrain", output)


@click.command(epilog=_EXAMPLES.format(name="unhold"))
@targeted
@connected
@output_option
def unhold(source: Source, wish: WantedDevices, output: Output) -> None:
    """Put devices back in service: delete what `hold` or `drain` created for them.

    TARGET is a device (driver/pool/device), a pool (driver/pool) or a node (node/NAME).
    Holds of all users are
    deleted; those of a DeviceMaintenance end with that object.
    """
    from dragoman_toolkit.dra.maintenance import releasing  # noqa: PLC0415 — heavy, not for --help

    releasing.undo(source, wish, "unhold", output)


_UNTAINT_EXAMPLES = """\
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


@click.command(epilog=_UNTAINT_EXAMPLES)
@targeted
@connected
@output_option
def untaint(source: Source, wish: WantedDevices, output: Output) -> None:
    """Remove taints of `kubectl dra taint`: kubectl dra untaint TARGET… [KEY[:EFFECT]-].

    Taints that a driver publishes in its ResourceSlices are the driver's, and stay.
    """
    from dragoman_toolkit.dra.maintenance import releasing  # noqa: PLC0415 — heavy, not for --help

    given = [name for name in wish.names if name.endswith("-")]
    if len(given) > 1:
        raise click.UsageError("give at most one taint as KEY- or KEY:EFFECT-")
    key, _, effect = (given[0][:-1] if given else "").partition(":")
    targets = tuple(name for name in wish.names if not name.endswith("-"))
    releasing.untaint(source, replace(wish, names=targets), key, effect, output)
