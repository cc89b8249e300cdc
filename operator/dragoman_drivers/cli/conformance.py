"""`dragoman conformance`: whether a DRA driver behaves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


_EXAMPLES = """\
\b
Examples:
  dragoman conformance --driver-command 'my-driver --node {node} --kubeconfig {kubeconfig}
    --plugins {plugins_dir} --registry {registry_dir} --cdi {cdi_dir}'
  dragoman conformance --driver-command … --profile profile.yaml --manifests chart.yaml
  dragoman conformance --driver-command … --quick --junit report.xml
  dragoman conformance --list
  dragoman conformance --explain I3
  dragoman conformance --kubeconfig ~/.kube/config --driver gpu.nvidia.com

\b
Exit status:
  0  conformant: every must passed
  1  not conformant: a must failed
  2  bad input, no control plane, a driver that does not start, or no check that could be run
  3  undecided: no must failed, but one was not run or not selected; 0 with --allow-undecided
"""
_FILE = click.Path(path_type=Path, dir_okay=False)


def _file_option(name: str, title: str) -> Callable[[Any], Any]:
    return click.option(name, type=_FILE, help=f"Write the report as {title} to this file.")


@click.command(epilog=_EXAMPLES)
@click.option(
    "--driver-command",
    default="",
    metavar="CMD",
    help="Starts the driver; placeholders: "
    "{kubelet_dir} {plugins_dir} {registry_dir} {cdi_dir} {node} {kubeconfig} {instance} "
    "{http_port}.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Configs that work and fail, and how a device fails.",
)
@click.option(
    "--manifests",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="The driver's RBAC and policies as shipped; repeatable.",
)
@click.option("--driver-version", default="", help="For the report.")
@click.option(
    "--driver-image",
    multiple=True,
    metavar="IMAGE",
    help="Of this version, for --verdict: NAME:TAG or NAME@sha256:…; repeatable.",
)
@click.option("--list", "listing", is_flag=True, help="List the checks and exit.")
@click.option("--explain", default="", metavar="ID", help="Explain a check and exit.")
@click.option("--only", multiple=True, metavar="ID", help="Checks or groups to run; repeatable.")
@click.option("--skip", multiple=True, metavar="ID", help="Checks or groups to leave out.")
@click.option(
    "--level",
    type=click.Choice(["must", "should", "info"]),
    default="info",
    show_default=True,
    help="The lowest level that is run.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Leave out checks that wait, and V1, which starts API servers: a minute in all.",
)
@click.option(
    "--allow-undecided",
    is_flag=True,
    help="Exit with 0 where no must failed, though some were not run.",
)
@click.option("--repeat", type=click.IntRange(1, 100), default=1, help="Run all so many times.")
@click.option(
    "--assets",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with etcd and kube-apiserver.",
)
@click.option("--kubernetes", default="", metavar="VERSION", help="Release to download if needed.")
@_file_option("--json", "JSON")
@_file_option("--junit", "JUnit XML")
@_file_option("--markdown", "Markdown")
@_file_option("--verdict", "verdict file")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read what is published on this cluster instead, and change nothing.",
)
@click.option("--context", help="Of --kubeconfig.")
@click.option("--driver", default="", help="Whose slices --kubeconfig checks.")
def conformance(**options: Any) -> None:
    """Check whether a DRA driver behaves, against a pretended kubelet and scheduler.

    The driver runs on a throwaway control plane, in folders and namespaces of its own.
    """
    from dragoman_drivers.cli import driverchecks  # noqa: PLC0415 — heavy, not for --help

    driverchecks.run(options)
