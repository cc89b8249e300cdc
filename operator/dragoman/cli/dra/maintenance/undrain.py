"""`kubectl dra undrain`: put devices back in service."""

import click

from dragoman.cli.dra.cluster.options import connected, output_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.formats import Output
from dragoman.cli.dra.maintenance.targeting import WantedDevices, targeted

EXAMPLES = """\
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


@click.command(epilog=EXAMPLES.format(name="undrain"))
@targeted
@connected
@output_option
def undrain(source: Source, wish: WantedDevices, output: Output) -> None:
    """Put devices back in service: delete what `drain` or `hold` created for them.

    TARGET is a device (driver/pool/device), a pool (driver/pool) or a node (node/NAME).
    Holds of all users are
    deleted; those of a DeviceMaintenance end with that object.
    """
    from dragoman.cli.dra.maintenance import releasing  # noqa: PLC0415 — heavy, not for --help

    releasing.undo(source, wish, "undrain", output)
