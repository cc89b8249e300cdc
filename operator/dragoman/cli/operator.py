"""`dragoman operator`: run the claim controller."""

from typing import Any

import click

from dragoman.cli.imports import without_models
from dragoman.cli.options import GroupedCommand, connection_options, setting_options
from dragoman.cli.webhook_options import WEBHOOK, webhook_options, webhook_settings
from dragoman.settings import PREFIX, Settings

GROUPS = {
    "API server": ("kubeconfig", "context", "namespace", "workers", "resync"),
    "Claims and templates": (
        *("claims", "grace", "takeover", "safe_release", "podgroup_claims"),
        "cluster_templates",
    ),
    "Devices": ("evictions", "pool_status", "inventory", "maintenance"),
    "Explanations and metrics of devices": ("explain", "device_metrics", "usage"),
    "Findings": ("findings",),
    "Preemption": ("preemption",),
    "Catalog of driver configs": ("catalog",),
    "Webhook in this process": ("with_webhook", *sorted(WEBHOOK)),
    "Leader election": ("leader_elect", "lease_duration", "renew_deadline", "retry_period"),
    "Metrics, probes and logs": ("metrics_address", "log_"),
}
"""Groups of options, by how their names begin."""


@click.command(
    cls=GroupedCommand,
    groups=GROUPS,
    epilog="""\b
Examples:
  # be the claim controller of a control plane that has no other
  dragoman operator --claims=own --kubeconfig admin.conf
  # in a cluster that has the built-in controller: help where it fails
  dragoman operator --claims=assist
  # in a cluster, with probes and metrics on every interface
  dragoman operator --metrics-address=:8080 --log-format=json
""",
)
@connection_options
@setting_options(Settings)
@click.option(
    "--with-webhook",
    is_flag=True,
    help="Serve reviews in this process too; see dragoman webhook.",
)
@webhook_options("--webhook-address")
def operator(**options: Any) -> None:
    """Create ResourceClaims from templates for pods, and release them after the pods.

    Every flag can also be set by a variable DRAGOMAN_<FLAG>; the flag beats the variable.
    """
    with without_models():
        from dragoman.cli.server import require_lease, run  # noqa: PLC0415 — importing kopf takes long

    with_webhook = options.pop("with_webhook")
    webhook = webhook_settings(options, namespace=options["namespace"]) if with_webhook else None
    options = {name: value for name, value in options.items() if name not in WEBHOOK}
    try:
        settings = Settings(webhook=webhook, **options)
        require_lease(settings)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    raise SystemExit(run(settings))


operator.context_settings["auto_envvar_prefix"] = PREFIX.rstrip("_")
operator.context_settings["show_default"] = True
# The former spelling of --catalog, --catalog-mode and --catalog-variable.
operator.context_settings["token_normalize_func"] = lambda name: name.replace(
    "catalogue", "catalog"
)
