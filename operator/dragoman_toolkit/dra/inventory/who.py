"""`kubectl dra who`: which claim, pod and container has a device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dragoman_toolkit.dra.cluster import completion
from dragoman_toolkit.dra.cluster.options import connected, output_option
from dragoman_toolkit.dra.kinds import WORKLOADS, required_kind
from dragoman_toolkit.dra.output import show

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dragoman_toolkit.dra.cluster.source import Source
    from dragoman_toolkit.dra.formats import Output

_EXAMPLES = """\
\b
Examples:
  kubectl dra who gpu.nvidia.com/node-4/gpu-3   # one device: driver/pool/device
  kubectl dra who gpu.nvidia.com/node-4         # all devices of a pool
  kubectl dra who GPU-7d1c0a52-2f6b-4b0e-9d7e-000000000001   # UUID, PCI address or serial number
  kubectl dra who node-4                        # all devices of a node
  kubectl dra who job/trainer -n ml             # those of a workload's pods
  kubectl dra who trainer-1 -n ml               # a pod or a claim, whichever has the name
  kubectl dra who claim/trainer-1-gpu -n ml -o wide

\b
Exit status:
  0  the answer is complete
  2  nothing has that name, something could not be read, or bad input
"""


def _complete(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    names = [
        *completion.devices(context),
        *completion.in_namespace("pods")(context),
        *completion.in_namespace("resourceclaims")(context),
    ]
    return completion.items(names, begun)


@click.command(epilog=_EXAMPLES)
@click.argument(
    "words",
    metavar="DEVICE|CLAIM|POD|NODE|WORKLOAD",
    nargs=-1,
    required=True,
    shell_complete=_complete,
)
@connected
@output_option
def who(source: Source, words: tuple[str, ...], output: Output) -> None:
    """Show which claim, pod and container has a device, or which devices a claim or pod has."""
    from dragoman_toolkit.dra.inventory import who_table  # noqa: PLC0415 — heavy, not for --help

    report = who_table.report(source, _target(words), wide=output == "wide")
    show(report, output)
    sys.exit(report.status)


def _target(words: tuple[str, ...]) -> str:
    """Return `kind/name` of `KIND NAME`, and a single word as it is; raise click.UsageError."""
    if len(words) == 1:
        return words[0]
    if len(words) > 2:
        raise click.UsageError("give one device, claim, pod, node or workload")
    kind = required_kind(words[0], ("pod", "claim", "device", "node", *WORKLOADS))
    return f"{kind}/{words[1]}"
