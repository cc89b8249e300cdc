"""DriverConfigSchemas in the operator: kept, controlled and, on request, served to reviews.

Importing it loads the CEL and JSON Schema machinery, a fifth of what the operator's start costs.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from dragoman.controllers.driverconfigschemas import catalogue
from dragoman.controllers.driverconfigschemas.controller import SchemaController, stored_resources
from dragoman.controllers.driverconfigschemas.schemas import SchemaKeeper
from dragoman.controllers.driverconfigschemas.selection import NONE, select
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served
from dragoman.settings import Settings


class Legislation:
    """The keeper of schemas, their controller, and a server of reviews.

    Args:
        settings: What of the catalogue is applied, and how reviews are served.
        api: Where to read and write.
        served: Which API versions the server has.
        leading: Whether this process may write now.

    Raises:
        SelectionError: The settings choose what the catalogue does not have.
    """

    def __init__(
        self, settings: Settings, api: Client, served: Served, leading: Callable[[], bool]
    ) -> None:
        chosen = select(
            catalogue.schemas() if settings.catalogue != NONE else (),
            settings.catalogue,
            settings.catalogue_mode,
            settings.catalogue_variable,
        )
        self._keeper = SchemaKeeper(api)
        self._controller = SchemaController(
            api, self._keeper, stored_resources(served.claims), chosen, leading
        )
        self._serving = None
        if settings.serving is not None:
            from dragoman.serving import Serving  # noqa: PLC0415 — cryptography is large

            self._serving = Serving(settings.serving, api, self._keeper)

    async def start(self) -> None:
        """Listen for reviews, where they are served."""
        if self._serving is not None:
            await self._serving.start()

    def unready(self) -> str | None:
        """Return None when reviews, where they are served, can be answered; else a sentence."""
        return self._serving.unready() if self._serving is not None else None

    def works(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Return what is to run until the end, by name."""
        works = {"schemas": self._keeper.run(), "schema controller": self._controller.run()}
        return works if self._serving is None else {**works, "reviews": self._serving.run()}
