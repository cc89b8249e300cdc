"""`kubectl dra drain`: take devices out of service, and evict the pods that use them."""

import sys

import click

from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.durations import Duration
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.maintenance.quantities import Rate
from dragoman_toolkit.dra.maintenance.targeting import (
    WantedDevices,
    mechanism_option,
    reason_option,
    targeted,
)

_EXAMPLES = """\
\b
Examples:
  kubectl dra drain gpu.nvidia.com/node-4/gpu-3 --dry-run
  kubectl dra drain gpu.nvidia.com/node-4/gpu-3 --reason "XID 79" --timeout 10m
  kubectl dra drain node/node-4 --rate 10/m             # every device of a node
  kubectl dra drain gpu.nvidia.com/node-4               # every device of a pool
  kubectl dra drain gpu.nvidia.com/node-4/gpu-3 --force # pods without a controller, too
  kubectl dra drain --where 'device.attributes["gpu.nvidia.com"].uuid == "GPU-9b1e0000"'
  kubectl dra undrain gpu.nvidia.com/node-4/gpu-3       # back in service

\b
Exit status:
  0  the devices are idle, and no new claim can get them
  1  a pod has no controller, and --force is missing: nothing was changed; or timeout or Ctrl-C:
     the last lines say what remains; with --dry-run: a pod cannot be evicted
  2  no such device, missing permissions, or bad input
"""


@click.command(epilog=_EXAMPLES)
@targeted
@reason_option
@click.option(
    "--timeout",
    type=Duration(),
    default="0s",
    show_default=True,
    help="How long to wait, such as 10m; 0s waits until Ctrl-C.",
)
@click.option(
    "--rate",
    type=Rate(),
    default=None,
    help="Maximum eviction rate, such as 10/m; without it all are requested immediately.",
)
@click.option(
    "--grace-period",
    type=click.IntRange(0),
    default=None,
    metavar="SECONDS",
    help="Time that pods have to end; by default what each pod says.",
)
@click.option("--force", is_flag=True, help="Evict pods without a controller as well.")
@click.option(
    "--disable-eviction",
    is_flag=True,
    help="Delete pods, whatever their PodDisruptionBudgets allow.",
)
@mechanism_option
@connected
@output_option
def drain(  # noqa: PLR0913, PLR0917 — one parameter for each option
    source: Source,
    wish: WantedDevices,
    reason: str,
    timeout: float,
    rate: float | None,
    grace_period: int | None,
    force: bool,  # noqa: FBT001 — as above
    disable_eviction: bool,  # noqa: FBT001 — as above
    mechanism: str,
    output: Output,
) -> None:
    """Take devices out of service, and evict the pods that use them.

    TARGET is a device (driver/pool/device), a pool (driver/pool) or a node (node/NAME).
    New claims cannot get the
    devices any more; pods are evicted through the Eviction API, which asks PodDisruptionBudgets.
    As with `kubectl drain`, pods that no controller would replace are evicted with --force only.
    Ctrl-C leaves the devices out of service, and the same command continues.
    """
    from dragoman_toolkit.dra.maintenance import draining  # noqa: PLC0415 — heavy, not for --help

    options = draining.MaintenanceOptions(
        command="drain",
        reason=reason,
        kind=None if mechanism == "auto" else draining.HoldKind(mechanism),
        evict=draining.EvictionMode.NOW if disable_eviction else draining.EvictionMode.WHEN_ALLOWED,
        unmanaged=force,
        rate=rate or 0.0,
        timeout=timeout,
        grace=grace_period,
    )
    sys.exit(draining.carry_out(source, wish, options, output))
