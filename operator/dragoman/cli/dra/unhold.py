"""`kubectl dra unhold`: put devices back in service."""

from __future__ import annotations

import click

from dragoman.cli.dra.releasing import undo
from dragoman.cli.dra.source import Source, connected, output_option
from dragoman.cli.dra.targeting import Wish, targeted
from dragoman.cli.dra.undrain import EXAMPLES


@click.command(epilog=EXAMPLES.format(name="unhold"))
@targeted
@connected
@output_option
def unhold(source: Source, wish: Wish, output: str) -> None:
    """Put devices back in service: delete what `hold` or `drain` created for them.

    TARGET is a device (driver/pool/device) or a pool (driver/pool). Holds of all users are
    deleted; those of a DeviceMaintenance end with that object.
    """
    undo(source, wish, "unhold", output)
