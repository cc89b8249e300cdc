"""The start of the DeviceMaintenance controller."""

from dragoman.cluster.devices import DeviceStores
from dragoman.cluster.published import Published
from dragoman.controllers.maintenance.controller import MaintenanceController
from dragoman.controllers.maintenance.view import SharedView
from dragoman.controllers.process import Process, Run


async def start(process: Process) -> Run:
    """Let slices, rules, claims, the pods that use them, and DeviceMaintenances be watched."""
    cluster = process.cluster
    maintenance = MaintenanceController(
        process.context,
        cluster.served,
        SharedView(cluster),
        cluster.part(Published),
        namespace=process.settings.namespace,
        resync=process.settings.resync,
    )
    cluster.part(DeviceStores).require(cluster.pods, cluster.claims)
    process.manager.watch(maintenance.objects.informer)
    process.manager.on_leading.append(maintenance.enqueue_all)
    return maintenance.run
