"""The start of the explain controller."""

from functools import partial

from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.explain.controller import ExplainController, profile_of
from dragoman.controllers.explain.usage import UsageController
from dragoman.controllers.process import Process, Run
from dragoman.kube.discovery import discover_devices, retried
from dragoman.logs import logger
from dragoman.metrics import REGISTRY

log = logger("dragoman")


async def start(process: Process) -> Run:
    """Let everything be watched that says which devices there are, and which pods wait."""
    settings, cluster = process.settings, process.cluster
    served = await retried(
        "Cannot look for devices", discover_devices, process.client, cluster.served
    )
    devices = cluster.part(DeviceStores)
    await devices.require_content()
    explain = ExplainController(
        cluster,
        profile_of(served.kubernetes, rules=served.rules is not None),
        served.kubernetes,
        process.recorder if settings.explain_events else None,
        infos=settings.device_metrics,
        limit=settings.device_metrics_limit,
        resync=settings.resync,
        wait=settings.explain_after,
        interval=settings.explain_interval,
    )
    devices.require(cluster.pods, cluster.claims, cluster.nodes, devices.classes)
    explain.register_metrics()
    process.manager.on_stop += [explain.unregister_metrics, explain.stop]
    if settings.device_metrics:
        limit = settings.usage_series_limit
        usage = UsageController(process.context, explain.state, cluster, settings.namespace, limit)
        REGISTRY.register(usage)
        process.manager.on_stop.append(partial(REGISTRY.unregister, usage))
        process.manager.leaders.append(usage.run)
    log.info("Explaining pods that wait for devices", events=settings.explain_events)
    return explain.run
