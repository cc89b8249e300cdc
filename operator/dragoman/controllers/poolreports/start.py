"""The start of what writes DevicePoolReports."""

from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.poolreports.controller import PoolReports
from dragoman.controllers.process import Process, Run
from dragoman.inventory.facts.profiles import observed_profile
from dragoman.logs import logger

log = logger("dragoman")


async def start(process: Process) -> Run:
    """Let slices with their content, rules and claims be watched."""
    cluster, holders = process.cluster, process.settings.inventory_holders
    devices = cluster.part(DeviceStores)
    await devices.require_content()
    devices.require(cluster.claims)
    profile, _ = observed_profile(await cluster.kubernetes(), rules=True)
    reports = PoolReports(process.context, cluster, holders=holders, profile=profile)
    log.info("Writing DevicePoolReports", holders=holders)
    return reports.run
