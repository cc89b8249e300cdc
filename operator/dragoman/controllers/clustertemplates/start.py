"""The start of the controller of ClusterResourceClaimTemplates."""

from dragoman.controllers.clustertemplates.controller import ClusterTemplateController
from dragoman.controllers.process import Process, Run


async def start(process: Process) -> Run:
    """Let templates of both kinds, and namespaces, be watched."""
    templates = process.cluster.templates
    controller = ClusterTemplateController(
        process.context, templates, resync=process.settings.resync
    )
    process.cluster.require(templates)
    process.manager.watch(*controller.informers)
    process.manager.on_leading.append(controller.enqueue_all)
    return controller.run
