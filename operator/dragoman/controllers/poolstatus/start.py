"""The start of the controller of ResourcePoolStatusRequests."""

from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.poolstatus.controller import PoolStatusController
from dragoman.controllers.process import Process, Run
from dragoman.kube.discovery import has_pool_views, wait_optional
from dragoman.logs import logger

log = logger("dragoman")


async def start(process: Process) -> Run:
    """Let slices with their content, rules, claims and requests be watched."""
    settings, cluster = process.settings, process.cluster
    devices = cluster.part(DeviceStores)
    devices.require(cluster.claims)
    await devices.require_content()
    answers = PoolStatusController(
        process.context,
        cluster,
        await wait_optional(process.client, "resourcepoolstatusrequests"),
        own=settings.pool_status == "own",
        grace=settings.pool_status_grace,
        views=await has_pool_views(process.client),
    )
    process.manager.watch(answers.informer)
    log.info("Answering ResourcePoolStatusRequests", mode=settings.pool_status)
    return answers.run
