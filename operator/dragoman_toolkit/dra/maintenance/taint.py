"""`kubectl dra taint`: taint devices by a DeviceTaintRule."""

import sys

import click

from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.formats import Output
from dragoman_toolkit.dra.maintenance.targeting import WantedDevices, reason_option, targeted
from dragoman_toolkit.dra.output import show

_EXAMPLES = """\
\b
Examples:
  kubectl dra taint gpu.nvidia.com/node-4/gpu-3 example.com/xid=79:NoSchedule
  kubectl dra taint gpu.nvidia.com/node-4/gpu-3 example.com/xid:NoExecute --dry-run
  kubectl dra taint --node node-4 example.com/degraded:None     # only a mark
  kubectl dra untaint gpu.nvidia.com/node-4/gpu-3 example.com/xid-

\b
Exit status:
  0  the devices are tainted
  2  DeviceTaintRules are not served, no such device, missing permissions, or bad input
"""


@click.command(epilog=_EXAMPLES)
@targeted
@reason_option
@connected
@output_option
def taint(
    source: Source,
    wish: WantedDevices,
    reason: str,
    output: Output,
) -> None:
    """Taint devices: kubectl dra taint TARGET… KEY[=VALUE]:EFFECT.

    The effect is NoSchedule (new claims need a toleration), NoExecute (pods are deleted as well,
    whatever their PodDisruptionBudgets allow), or None (a mark). `hold` and `drain` set the taint
    dragoman.dev/maintenance:NoSchedule themselves.
    """
    from dragoman_toolkit.dra.maintenance import tainting  # noqa: PLC0415 — heavy, not for --help

    report = tainting.taint(source, wish, reason)
    show(report, output)
    sys.exit(report.status)
