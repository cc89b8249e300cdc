"""Run the operator, or the webhook, in this process until a signal stops it."""

import asyncio
from typing import Any

import kopf
from kopf._cogs.structs.references import Insights

import dragoman.handlers  # noqa: F401 — registers them
from dragoman import logs
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.kubeconfig import ConnectionSettingsError, Credentials
from dragoman.kube.leaderelection import LeaderElectionConfig
from dragoman.process.operator import Operator
from dragoman.settings import Settings


def run(settings: Settings) -> int:
    """Run until SIGTERM; return the exit status: 0 after a clean stop, 1 after a fault."""
    logs.configure(json=settings.log_format == "json", level=settings.log_level.upper())
    try:
        Credentials(ConnectionOptions(settings.kubeconfig, settings.context))
    except ConnectionSettingsError as error:
        logs.last_line(f"dragoman: {error}")
        return 1
    activities, watching = without_events(kopf.get_default_registry())
    operator = Operator(settings, watching)
    try:
        asyncio.run(
            kopf.operator(
                registry=activities,
                memo=kopf.Memo(operator=operator),
                clusterwide=True,
                standalone=True,
                stop_flag=operator.stopping,
                insights=without_discovery(),
            )
        )
    except Exception as error:  # noqa: BLE001 — a person reads one line, whatever the error
        logs.last_line(f"dragoman: {operator.fault or error}")
        return 1
    if operator.fault:
        logs.last_line(f"dragoman: {operator.fault}")
        return 1
    return 0


def require_lease(settings: Settings) -> None:
    """Raise ValueError where the durations of leader election do not go together."""
    LeaderElectionConfig(settings.lease_duration, settings.renew_deadline, settings.retry_period)


def without_events(registry: kopf.OperatorRegistry) -> tuple[kopf.OperatorRegistry, list[Any]]:
    """Split a registry: its activities for kopf, its event handlers for reflectors.

    kopf starts its own watches for every event handler that it is given. Only this module touches
    kopf's internals; tests/unit/dragoman/test_handlers.py notices when they change.
    """
    activities = kopf.OperatorRegistry()
    for handler in registry._activities.get_all_handlers():  # noqa: SLF001 — no public way
        activities._activities.append(handler)  # noqa: SLF001 — as above
    return activities, list(registry._watching.get_all_handlers())  # noqa: SLF001 — as above


def without_discovery() -> Insights:
    """Return kopf's knowledge of the cluster, from which nothing is missing.

    kopf looks up the resources of its own watches, peerings and webhooks at its start, used or not.
    Such a request goes on when kopf stops, and delays the end of the process by five seconds.
    """
    insights = Insights()
    insights.backbone.selectors.clear()
    return insights
