"""`dragoman operator`: run the claim controller."""

from typing import Any, get_args

import click

from dragoman.cli.imports import without_models
from dragoman.cli.options import connection_options, process_options
from dragoman.cli.webhook_options import WEBHOOK, webhook_options, webhook_settings
from dragoman.settings import (
    PREFIX,
    ClaimsMode,
    EvictionsMode,
    PodGroupClaims,
    PoolStatusMode,
    PreemptionMode,
    PreemptionSelect,
    Settings,
)

DEFAULTS = Settings()


@click.command(
    epilog="""\b
Examples:
  # be the claim controller of a control plane that has no other
  dragoman operator --claims=own --kubeconfig admin.conf
  # in a cluster that has the built-in controller: help where it fails
  dragoman operator --claims=assist
  # in a cluster, with probes and metrics on every interface
  dragoman operator --metrics-address=:8080 --log-format=json
"""
)
@connection_options
@click.option(
    "--claims",
    type=click.Choice(get_args(ClaimsMode)),
    default=DEFAULTS.claims,
    help="own: be the claim controller; assist: help another controller where it fails; "
    "auto: assist until no other controller is active; off: leave claims alone.",
)
@click.option(
    "--evictions",
    type=click.Choice(get_args(EvictionsMode)),
    default=DEFAULTS.evictions,
    help="own: evict pods from devices with NoExecute taints, as kube-controller-manager's "
    "device-taint-eviction-controller; assist: evict those that it forgets; off: evict none.",
)
@click.option(
    "--pool-status",
    type=click.Choice(get_args(PoolStatusMode)),
    default=DEFAULTS.pool_status,
    help="own: answer ResourcePoolStatusRequests and delete old ones; auto: answer those that no "
    "other controller answered within 10 seconds; off: leave them alone.",
)
@click.option(
    "--pool-status-grace",
    type=click.FloatRange(0.0),
    default=DEFAULTS.pool_status_grace,
    metavar="SECONDS",
    help="How long a driver has to complete its pools before a request is answered without them.",
)
@click.option(
    "--inventory-reports/--no-inventory-reports",
    default=DEFAULTS.inventory_reports,
    help="Write a DevicePoolReport per pool, for users who cannot list claims.",
)
@click.option(
    "--inventory-holders/--no-inventory-holders",
    default=DEFAULTS.inventory_holders,
    help="Name in the reports the claims that hold devices.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0.0),
    default=DEFAULTS.grace,
    metavar="SECONDS",
    help="How long another controller has before dragoman acts.",
)
@click.option(
    "--takeover-after",
    type=click.FloatRange(0.0),
    default=DEFAULTS.takeover_after,
    metavar="SECONDS",
    help="How long no other controller must be active before auto becomes own.",
)
@click.option(
    "--safe-release/--no-safe-release",
    default=DEFAULTS.safe_release,
    help="Keep the claim of a pod that left the API before its containers had ended, as after a "
    "force deletion, until its node has ended them or is given up. With --claims=own; otherwise "
    "such pods are only reported. The operator then reads nodes and their Leases.",
)
@click.option(
    "--safe-release-grace",
    type=click.FloatRange(0.0),
    default=DEFAULTS.safe_release_grace,
    metavar="SECONDS",
    help="The grace period that is assumed of a pod that left while no operator ran.",
)
@click.option(
    "--safe-release-margin",
    type=click.FloatRange(0.0),
    default=DEFAULTS.safe_release_margin,
    metavar="SECONDS",
    help="How long a kubelet has after the grace period. It learns of a deletion up to 45 s late "
    "where its connection died.",
)
@click.option(
    "--podgroup-claims",
    type=click.Choice(get_args(PodGroupClaims)),
    default=DEFAULTS.podgroup_claims,
    help="Whether PodGroups have claims; auto: as the API server's gate DRAWorkloadResourceClaims "
    "says, and on where its metrics cannot be read.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=DEFAULTS.leader_elect,
    help="Whether only the holder of the Lease dragoman-operator writes.",
)
@click.option(
    "--lease-duration",
    type=float,
    default=DEFAULTS.lease_duration,
    metavar="SECONDS",
    help="How long other replicas wait before they take over from a leader that stopped renewing.",
)
@click.option(
    "--renew-deadline",
    type=float,
    default=DEFAULTS.renew_deadline,
    metavar="SECONDS",
    help="How long a leader continues without a successful renewal.",
)
@click.option(
    "--retry-period",
    type=float,
    default=DEFAULTS.retry_period,
    metavar="SECONDS",
    help="Time between attempts to acquire or renew the Lease.",
)
@click.option(
    "--namespace",
    default=DEFAULTS.namespace,
    help="Where the operator keeps its own objects; in a pod its own namespace.",
)
@process_options
@click.option(
    "--workers",
    type=click.IntRange(1, 1000),
    default=DEFAULTS.workers,
    help="How many pods, and how many claims, are reconciled at the same time.",
)
@click.option(
    "--resync",
    type=click.FloatRange(1.0),
    default=DEFAULTS.resync,
    metavar="SECONDS",
    help="Time between full passes over everything.",
)
@click.option(
    "--cluster-templates/--no-cluster-templates",
    default=DEFAULTS.cluster_templates,
    help="Whether ClusterResourceClaimTemplates are copied into the namespaces they select.",
)
@click.option(
    "--maintenance/--no-maintenance",
    default=DEFAULTS.maintenance,
    help="Whether DeviceMaintenances take devices out of service and evict pods.",
)
@click.option(
    "--catalog",
    default=DEFAULTS.catalog,
    metavar="all|none|DRIVER,…",
    help="Ready-made DriverConfigSchemas to apply; what admins change in them stays theirs.",
)
@click.option(
    "--catalog-mode",
    multiple=True,
    metavar="DRIVER=MODE",
    help="Mode of a driver's schema: Enforce, Warn, Audit or Off.",
)
@click.option(
    "--catalog-variable",
    multiple=True,
    metavar="DRIVER:NAME=VALUE",
    help="Variable of a driver's schema, such as a feature gate of the driver.",
)
@click.option(
    "--findings/--no-findings",
    default=DEFAULTS.findings,
    help="Whether to check the cluster as kubectl dra doctor does, for metrics and Events.",
)
@click.option(
    "--findings-interval",
    type=click.FloatRange(1.0),
    default=DEFAULTS.findings_interval,
    metavar="SECONDS",
    help="Time between two checks.",
)
@click.option(
    "--preemption",
    type=click.Choice(get_args(PreemptionMode)),
    default=DEFAULTS.preemption,
    help="report: say in DevicePreemptions, Events and metrics which pods would have to end so "
    "that a pod gets its devices, and evict nothing; on: reserve the devices by DeviceTaintRules, "
    "and evict these pods; off: compute no plans.",
)
@click.option(
    "--preemption-after",
    type=click.FloatRange(0.0),
    default=DEFAULTS.preemption_after,
    metavar="SECONDS",
    help="How long a pod must be unschedulable before a plan is computed for it.",
)
@click.option(
    "--preemption-min-gap",
    type=click.IntRange(1),
    default=DEFAULTS.preemption_min_gap,
    metavar="N",
    help="By how much the priority of a pod that would end is lower at least.",
)
@click.option(
    "--preemption-max-victims",
    type=click.IntRange(1, 1000),
    default=DEFAULTS.preemption_max_victims,
    metavar="N",
    help="Pods that may end for one pod.",
)
@click.option(
    "--preemption-select",
    type=click.Choice(get_args(PreemptionSelect)),
    default=DEFAULTS.preemption_select,
    help="all: plans name every pod that may end; opted-in: only those with the annotation "
    'dragoman.dev/preemptible: "true", also of their namespace.',
)
@click.option(
    "--preemption-protected-namespaces",
    multiple=True,
    default=DEFAULTS.preemption_protected_namespaces,
    metavar="NAMESPACE",
    help="A namespace whose pods never end for others; the operator's own is one as well.",
)
@click.option(
    "--preemption-schedulers",
    multiple=True,
    default=DEFAULTS.preemption_schedulers,
    metavar="NAME",
    help="A scheduler whose pods may preempt.",
)
@click.option(
    "--preemption-parallel",
    type=click.IntRange(1, 100),
    default=DEFAULTS.preemption_parallel,
    metavar="N",
    help="Preemptions at a time.",
)
@click.option(
    "--preemption-evictions-per-hour",
    type=click.IntRange(1, 1_000_000),
    default=DEFAULTS.preemption_evictions_per_hour,
    metavar="N",
    help="Pods that are evicted in an hour at most.",
)
@click.option(
    "--preemption-namespace-evictions",
    type=click.IntRange(1, 1_000_000),
    default=DEFAULTS.preemption_namespace_evictions,
    metavar="N",
    help="Pods that are evicted in an hour at most for pods of one namespace.",
)
@click.option(
    "--preemption-max-grace",
    type=click.FloatRange(0.0, 86_400.0),
    default=DEFAULTS.preemption_max_grace,
    metavar="SECONDS",
    help="The longest grace period of a pod that may end: devices stay reserved for so long.",
)
@click.option(
    "--preemption-timeout",
    type=click.FloatRange(1.0, 3600.0),
    default=DEFAULTS.preemption_timeout,
    metavar="SECONDS",
    help="Time besides the grace period of evicted pods until a preemption has failed.",
)
@click.option(
    "--preemption-min-runtime",
    type=click.FloatRange(0.0, 86_400.0),
    default=DEFAULTS.preemption_min_runtime,
    metavar="SECONDS",
    help="How long a pod is spared whose controller lost another one to a preemption.",
)
@click.option(
    "--preemption-account",
    default=DEFAULTS.preemption_account,
    metavar="USER",
    help="User to impersonate for preemptions, so that the audit log has a name of their own.",
)
@click.option(
    "--explain-events/--no-explain-events",
    default=DEFAULTS.explain_events,
    help="Whether pods that wait for devices get an Event that says what each node lacks, and "
    "metrics count devices. The operator then reads nodes, ResourceSlices and DeviceClasses.",
)
@click.option(
    "--explain-after",
    type=click.FloatRange(0.0),
    default=DEFAULTS.explain_after,
    metavar="SECONDS",
    help="How long a pod must be unschedulable before the Event.",
)
@click.option(
    "--explain-interval",
    type=click.FloatRange(1.0),
    default=DEFAULTS.explain_interval,
    metavar="SECONDS",
    help="Time between two Events about one pod; the second one only has other reasons.",
)
@click.option(
    "--device-metrics/--no-device-metrics",
    default=DEFAULTS.device_metrics,
    help="Whether metrics have a series per device, with the pod that uses it and its UUID.",
)
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
