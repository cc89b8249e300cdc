"""The options about clusters, namespaces and output that commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from dragoman.cli.dra.cluster import completion
from dragoman.cli.dra.cluster.source import Source
from dragoman.cli.dra.output import FORMATS

Command = Callable[..., Any]


def connected(command: Command) -> Command:
    """Add the options about clusters and namespaces; the command gets a Source first."""

    @wraps(command)
    def run(**options: Any) -> Any:
        source = Source(**{name: options.pop(name) for name in FIELDS})
        return command(source, **options)

    for option in reversed(_OPTIONS):
        run = option(run)
    return run


_OPTIONS: Final = (
    click.option(
        "--snapshot",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Read this file, made by `kubectl dra snapshot`, instead of a cluster.",
    ),
    click.option(
        "-n",
        "--namespace",
        "namespace_option",
        default="",
        metavar="NAME",
        shell_complete=completion.namespaces,
        help="Namespace of names without one; by default that of the context.",
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="Show objects of all namespaces."),
    click.option(
        "--context",
        metavar="NAME",
        shell_complete=completion.contexts,
        help="Context of the kubeconfig; by default its current one.",
    ),
    click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or a pod's service account.",
    ),
    click.option("--as", "user", default="", metavar="USER", help="User to impersonate."),
    click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="Group as well."),
    click.option(
        "--profile",
        "profile_option",
        default="",
        metavar="VERSION[,GATE=BOOL…]",
        help="The scheduler's version and feature gates; by default those of the server's version.",
    ),
)
FIELDS: Final = (
    "snapshot",
    "kubeconfig",
    "context",
    "user",
    "groups",
    "namespace_option",
    "all_namespaces",
    "profile_option",
)
"""What the options of `connected` are called."""


def output_option(command: Command) -> Command:
    """Add -o."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Form of the output; keys of json and yaml are stable.",
    )(command)


def timeout_option(command: Command) -> Command:
    """Add --timeout."""
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0.1, max=86_400.0),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="CPU time for the answer; selectors alone can take hours.",
    )(command)
