"""One object by its name: an informer with a field selector.

A Role with `resourceNames` allows it: the API server takes the name from the field selector.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from dragoman import surroundings
from dragoman.kube.client import Client
from dragoman.kube.informer import Informer
from dragoman.kube.reflector import Reflector
from dragoman.kube.resources import Resource
from dragoman.kube.store import StoredObject
from dragoman.model.fields import Document


class NamedObject:
    """Keeps one object as the API server has it.

    Args:
        client: Where it is read.
        resource: The collection that has it.
        name: Its name.
        namespace: Its namespace; empty for none.
        changed: Set on every change; several objects may share one.

    Attributes:
        since: When it last changed, by the monotonic clock.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        changed: asyncio.Event,
    ) -> None:
        self._place = (namespace, name)
        self._informer = Informer(
            client,
            resource,
            StoredObject.parse,
            [self._note],
            field_selector=f"metadata.name={name}",
            namespace=namespace,
        )
        self._changed = changed
        self.path = resource.path(namespace, name)
        self.since = surroundings.monotonic()

    @property
    def synced(self) -> bool:
        """Whether it was read at all."""
        return self._informer.synced.is_set()

    @property
    def document(self) -> Document | None:
        """The object, None while it does not exist."""
        stored = self._informer.store.get(*self._place)
        return stored.document if stored is not None else None

    async def run(self) -> None:
        """List and watch until cancelled."""
        await Reflector(self._informer, self._handle).run()

    async def read(self) -> None:
        """Store the object as it is now; raise ApiError."""
        await self._informer.refresh(*self._place)
        self._informer.synced.set()

    def put(self, document: Document) -> None:
        """Store the response to a write, unless a newer version is stored."""
        self._informer.changed(StoredObject.parse(document))

    async def _handle(self, event: Mapping[str, Any]) -> None:
        self._informer.handle(event)

    def _note(self, _old: StoredObject | None, _new: StoredObject | None) -> None:
        self.since = surroundings.monotonic()
        self._changed.set()
