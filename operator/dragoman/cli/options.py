"""Options that several commands have, each with one name, one default and one help text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from dragoman.settings import LogFormat, Settings

Command = Callable[..., Any]
_DEFAULTS = Settings()


def connection_options(command: Command) -> Command:
    """Add --kubeconfig and --context: to commands that ask an API server."""
    context = click.option(
        "--context", help="Context of the kubeconfig; by default its current one."
    )
    kubeconfig = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or a pod's service account.",
    )
    return kubeconfig(context(command))


def process_options(command: Command) -> Command:
    """Add --metrics-address, --log-format and --log-level: to commands that run for long."""
    metrics = click.option(
        "--metrics-address",
        metavar="HOST:PORT",
        default=_DEFAULTS.metrics_address,
        help="Serve /metrics, /livez and /readyz there over HTTP; by default nowhere.",
    )
    log_format = click.option(
        "--log-format", type=click.Choice(get_args(LogFormat)), default=_DEFAULTS.log_format
    )
    log_level = click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default=_DEFAULTS.log_level,
    )
    return metrics(log_format(log_level(command)))
