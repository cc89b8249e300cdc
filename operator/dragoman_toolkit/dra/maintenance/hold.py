"""`kubectl dra hold`: keep new claims away from devices, and leave pods alone."""

import sys

import click

from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.durations import Duration
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.maintenance.targeting import (
    WantedDevices,
    mechanism_option,
    reason_option,
    targeted,
)

_EXAMPLES = """\
\b
Examples:
  kubectl dra hold gpu.nvidia.com/node-4/gpu-3 --reason "XID 79"
  kubectl dra hold --node node-4 --dry-run
  kubectl dra hold gpu.nvidia.com/node-4/gpu-3 --wait --timeout 1h   # until its pod has ended
  kubectl dra holds                                                  # what is out of service
  kubectl dra unhold gpu.nvidia.com/node-4/gpu-3

\b
Exit status:
  0  no new claim can get the devices
  1  a held claim has to wait for a device in use: run again, or with --wait
  2  no such device, missing permissions, or bad input
"""


@click.command(epilog=_EXAMPLES)
@targeted
@reason_option
@mechanism_option
@click.option(
    "--wait", is_flag=True, help="Wait for devices in use, and hold them as soon as they are free."
)
@click.option(
    "--timeout",
    type=Duration(),
    default="0s",
    show_default=True,
    help="How long --wait waits, such as 10m; 0s waits until Ctrl-C.",
)
@connected
@output_option
def hold(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    wish: WantedDevices,
    reason: str,
    mechanism: str,
    wait: bool,  # noqa: FBT001 — as above
    timeout: float,
    output: Output,
) -> None:
    """Keep new claims away from devices; pods that use them are left alone.

    TARGET is a device (driver/pool/device), a pool (driver/pool) or a node (node/NAME).
    Where DeviceTaintRules are
    served, one with the taint dragoman.dev/maintenance:NoSchedule is created. Elsewhere a held
    claim is: a ResourceClaim that has the device and that no pod uses.
    """
    from dragoman_toolkit.dra.maintenance import draining  # noqa: PLC0415 — heavy, not for --help

    options = draining.MaintenanceOptions(
        command="hold",
        reason=reason,
        kind=None if mechanism == "auto" else draining.HoldKind(mechanism),
        wait=wait,
        timeout=timeout,
    )
    sys.exit(draining.carry_out(source, wish, options, output))
