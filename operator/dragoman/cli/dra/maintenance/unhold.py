"""`kubectl dra unhold`: put devices back in service."""

import click

from dragoman.cli.dra.cluster.options import connected, output_option
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.formats import Output
from dragoman.cli.dra.maintenance.targeting import WantedDevices, targeted
from dragoman.cli.dra.maintenance.undrain import EXAMPLES


@click.command(epilog=EXAMPLES.format(name="unhold"))
@targeted
@connected
@output_option
def unhold(source: Source, wish: WantedDevices, output: Output) -> None:
    """Put devices back in service: delete what `hold` or `drain` created for them.

    TARGET is a device (driver/pool/device), a pool (driver/pool) or a node (node/NAME).
    Holds of all users are
    deleted; those of a DeviceMaintenance end with that object.
    """
    from dragoman.cli.dra.maintenance import releasing  # noqa: PLC0415 — heavy, not for --help

    releasing.undo(source, wish, "unhold", output)
