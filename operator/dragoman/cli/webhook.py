"""`dragoman webhook`: run the admission webhook."""

from typing import Any

import click

from dragoman.cli.imports import without_models
from dragoman.cli.options import connection_options, process_options
from dragoman.cli.webhook_options import webhook_options, webhook_settings
from dragoman.settings import PREFIX, Settings, own_namespace


@click.command(
    epilog="""\b
Examples:
  # with a mounted Secret of type kubernetes.io/tls
  dragoman webhook --tls-certificate /tls/tls.crt --tls-key /tls/tls.key
  # with certificates of its own
  dragoman webhook --tls=self
  # on loopback, for an API server on the same machine
  dragoman webhook --address 127.0.0.1:9443 --kubeconfig admin.conf \\
    --tls-certificate tls.crt --tls-key tls.key
"""
)
@connection_options
@webhook_options("--address")
@click.option(
    "--namespace",
    default=own_namespace,
    show_default="the pod's own, else default",
    help="Where the Secret of --tls=self is.",
)
@process_options
def webhook(**options: Any) -> None:
    """Review driver configs when claims, templates and DeviceClasses are applied.

    The schemas are the DriverConfigSchemas of the cluster; they change without a restart. Every
    flag can also be set by a variable DRAGOMAN_<FLAG>; the flag beats the variable.
    """
    with without_models():
        from dragoman.cli.server import run  # noqa: PLC0415 — importing kopf takes long

    serving = webhook_settings(options, namespace=options["namespace"])
    settings = Settings(
        webhook=serving, controllers=False, claims="off", leader_elect=False, **options
    )
    raise SystemExit(run(settings))


webhook.context_settings["auto_envvar_prefix"] = PREFIX.rstrip("_")
webhook.context_settings["show_default"] = True
