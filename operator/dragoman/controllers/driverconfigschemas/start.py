"""The start of the DriverConfigSchema controller."""

from yaml import YAMLError

from dragoman.controllers.driverconfigschemas.controller import SchemaController, audited_resources
from dragoman.controllers.driverconfigschemas.schemas import Schemas
from dragoman.controllers.driverconfigschemas.selection import (
    NONE,
    CatalogSelection,
    UnknownSetting,
    select,
)
from dragoman.controllers.process import Process, Run
from dragoman.kube.discovery import wait_served
from dragoman.kube.resources import DRIVERCONFIGSCHEMAS
from dragoman.settings import Settings
from dragoman_configs import catalog


async def start(process: Process) -> Run:
    """Let DriverConfigSchemas be watched once they are served.

    The controller runs before: it reports wrong settings of the catalog. Such a setting, or an
    object that the API server refuses, is left out and stops nothing. In the webhook's process it
    compiles and never writes.
    """
    settings, stored = process.settings, process.stored
    controller = SchemaController(
        process.context,
        audited=audited_resources(stored.served.claims) if stored is not None else None,
        catalog=_selection(settings) if stored is not None else CatalogSelection(),
        resync=settings.resync,
    )
    process.share(controller.schemas)
    process.manager.on_leading.append(controller.enqueue_all)
    process.manager.spawn_once(_watch_when_served(process, controller.schemas))
    return controller.run


async def _watch_when_served(process: Process, schemas: Schemas) -> None:
    await wait_served(process.client, DRIVERCONFIGSCHEMAS)
    process.manager.watch(schemas.informer)


def _selection(settings: Settings) -> CatalogSelection:
    """Read and choose the catalog's objects; an unreadable catalog is a fault as well."""
    if settings.catalog == NONE:
        return CatalogSelection()
    try:
        documents, releases = catalog.schemas(), catalog.releases()
    except (OSError, TypeError, ValueError, YAMLError) as error:
        return CatalogSelection((), (UnknownSetting("", f"the catalog is unreadable: {error}"),))
    return select(
        documents,
        settings.catalog,
        settings.catalog_mode,
        settings.catalog_variable,
        releases,
    )
