"""The start of the eviction controller."""

from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.evictions.controller import EvictionController
from dragoman.controllers.process import Process, Run
from dragoman.inventory.facts.profiles import observed_profile
from dragoman.logs import logger

log = logger("dragoman")


async def start(process: Process) -> Run:
    """Let slices, rules, claims and the pods that use them be watched."""
    settings, cluster = process.settings, process.cluster
    stock = None
    if settings.evictions == "assist":
        stock = observed_profile(await cluster.kubernetes())[0]
    evictions = EvictionController(
        process.context,
        cluster,
        stock=stock,
        workers=settings.workers,
        resync=settings.resync,
    )
    cluster.part(DeviceStores).require(cluster.pods, cluster.claims)
    process.busy.append(evictions.queue.longest_running)
    process.manager.ready_checks.append(evictions.unready)
    log.info("Evicting pods from tainted devices", mode=settings.evictions)
    return evictions.run
