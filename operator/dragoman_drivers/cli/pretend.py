"""`dragoman pretend`: a DRA driver without hardware."""

from pathlib import Path
from typing import Any

import click

from dragoman.cli.options import connection_options

_EXAMPLES = """\
\b
Examples:
  dragoman pretend --shape gpu.nvidia.com:8xH100 --nodes 100 --create-nodes
  dragoman pretend --shape aws-p5.48xlarge --driver gpu.nvidia.com --nodes 4 --create-nodes
  dragoman pretend --shape gpu.nvidia.com:8xH100 --node worker-1 --kubelet-dir /var/lib/kubelet
  dragoman pretend --from cluster.jsonl --driver gpu.nvidia.com
  dragoman pretend --shape gpu.amd.com:8xMI300X --node worker-1 --kubelet-dir /var/lib/kubelet \\
    --fault slow=2 --fault unhealthy=gpu-3

\b
Exit status:
  0  ended by SIGTERM or SIGINT; its slices are deleted
  2  bad input, or the name of a driver that is really there
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--shape",
    metavar="MACHINE|DRIVER:COUNTxMODEL",
    default="",
    help="Devices of each node: those of a recorded machine, as aws-p5.48xlarge, or of a model.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of `kubectl dra snapshot`, or ResourceSlices as YAML or JSON.",
)
@click.option(
    "--driver",
    default="",
    help="Whose slices of --from, or devices of a recorded machine, are published.",
)
@click.option(
    "--schema",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="DriverConfigSchema by which configs are validated, instead of the catalog's.",
)
@click.option("--node", "names", multiple=True, metavar="NAME", help="Node of the devices.")
@click.option(
    "--nodes", type=click.IntRange(0, 5000), default=0, help="So many nodes, pretend-0 and on."
)
@click.option("--create-nodes", is_flag=True, help="Create Nodes that are not there.")
@click.option(
    "--kubelet-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="The kubelet's root folder; without it only slices are published.",
)
@click.option(
    "--cdi-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("/var/run/cdi"),
    show_default=True,
    help="Folder of CDI documents.",
)
@click.option("--driver-name", default="", help="By default pretend.DRIVER.")
@click.option("--i-know", is_flag=True, help="Allow a real driver's name on a real cluster.")
@click.option(
    "--instance", default="", help="Distinguishes the sockets of instances that run side by side."
)
@click.option("--fault", "faults", multiple=True, metavar="NAME[=VALUE]", help="Misbehave.")
@click.option("--list-faults", is_flag=True, help="List the faults and exit.")
@click.option("--list-shapes", is_flag=True, help="List the known shapes and exit.")
@click.option(
    "--http-port", type=int, default=0, help="Serve /healthz and /metrics on loopback there."
)
@connection_options
def pretend(**options: Any) -> None:
    """Be a DRA driver without hardware: publish devices, and prepare claims for them.

    Containers get environment variables and a file for each device by CDI. Configs are validated
    by the catalog's schema of the driver that is pretended. What is prepared survives a restart.
    """
    from dragoman_drivers.cli import pretending  # noqa: PLC0415 — heavy, not for --help

    pretending.run(options)
