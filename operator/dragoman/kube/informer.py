"""Informers: one resource, its store, and the event handlers that enqueue keys."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

import orjson

from dragoman.kube.backoff import Backoff
from dragoman.kube.client import MERGE_PATCH, Client, find, pages
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.kube.store import Fact, Store
from dragoman.logs import logger
from dragoman.model import Document, MalformedObjectError

log = logger("dragoman.informer")


@dataclass
class Informer(Generic[Fact]):
    """Keeps a store of facts like the API server's objects of one resource.

    Events come from a `Reflector` or from kopf's watches, live reads from reconcilers.

    Attributes:
        client: Where objects are read.
        resource: Which objects.
        store: The facts as last known.
        parse: Makes a fact of an object; raises MalformedObjectError.
        changed: Event handler for objects that were added or changed.
        deleted: Event handler for objects that were deleted.
        predicate: Whether an object, as JSON bytes, concerns this informer at all.
        is_own_write: Whether a resourceVersion is the result of an own write, whose response is
            in the store already.
        is_unchanged: Whether a watch line changes nothing that is stored, so that it need not be
            parsed.
        rolled_back: Called when the server lists older versions than before: etcd was restored.
        field_selector: Restricts lists and watches, as `metadata.name=x`; empty for all.
        namespace: Restricts lists and watches; empty for all.
        synced: Set after the first complete list.
        listeners: Called after the event handlers, with each fact that an event was about: another
            controller that reads the same store.
    """

    client: Client
    resource: Resource
    store: Store[Fact]
    parse: Callable[[Document], Fact]
    changed: Callable[[Fact], None]
    deleted: Callable[[Fact], None]
    predicate: Callable[[bytes], bool] = lambda _: True
    is_own_write: Callable[[bytes], bool] = lambda _: False
    is_unchanged: Callable[[bytes], bool] = lambda _: False
    rolled_back: Callable[[], None] = lambda: None
    field_selector: str = ""
    namespace: str = ""
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    listeners: list[Callable[[Fact], None]] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The URL path of the collection that is watched."""
        return self.resource.path(self.namespace)

    @property
    def query(self) -> dict[str, str]:
        """The query parameters that lists and watches have in common."""
        return {"fieldSelector": self.field_selector} if self.field_selector else {}

    def handle(self, event: Mapping[str, Any]) -> None:
        """Parse the object of a watch event, and call the event handler for it.

        Args:
            event: `type` (ADDED, MODIFIED, DELETED, None for kopf's initial list) and `object`.
        """
        item = event["object"]
        try:
            fact = self.parse(item)
        except MalformedObjectError as error:
            self._malformed(event["type"], item, error)
            return
        self._dispatch(self.deleted if event["type"] == "DELETED" else self.changed, fact)

    async def read(self, namespace: str, name: str) -> Fact | None:
        """Return an object as the server has it, None where there is none; raise ApiError."""
        path = self.resource.path(namespace, name)
        found = await find(self.client, path)
        try:
            return None if found is None else self.parse(found)
        except MalformedObjectError as error:
            raise ApiError(0, "Malformed", f"GET {path}: {error}") from error

    async def refresh(self, namespace: str, name: str) -> None:
        """Read an object from the server into the store, or delete it there; raise ApiError.

        Only the fact that was stored when the read began is deleted: another object may be
        created under the same name while the response is on its way.
        """
        known = self.store.get(namespace, name)
        found = await self.read(namespace, name)
        if found is not None:
            self.changed(found)
        elif known is not None:
            self.deleted(known)

    async def patch_status(self, fact: Fact, status: Mapping[str, Any]) -> Fact | None:
        """Merge into the status of an object; return the object as it is then.

        The resourceVersion is the precondition, because the API server ignores a UID in the status
        of a custom resource.

        Returns:
            None where the object was changed, replaced or deleted since; the store then has what
            the server has.

        Raises:
            ApiError: The server refused the status, or did not answer.
            MalformedObjectError: The response is no such object.
        """
        metadata = fact.metadata
        path = self.resource.path(metadata.namespace, metadata.name, "status")
        version = {"resourceVersion": metadata.resource_version}
        try:
            written = await self.client.patch(
                path, {"metadata": version, "status": status}, MERGE_PATCH
            )
        except ApiError as error:
            if error.code not in {404, 409}:
                raise
            await self.refresh(metadata.namespace, metadata.name)
            return None
        return self.parse(written)

    async def refresh_namespace(self, namespace: str) -> None:
        """Read all objects of a namespace into the store; raise ApiError."""
        async for page in pages(self.client, self.resource.path(namespace)):
            for item in page["items"] or ():
                self.handle({"type": "ADDED", "object": item})

    async def resync(self) -> None:
        """List everything, handle each object, and delete stored facts that are not listed.

        kopf's watches neither report objects that were deleted during an outage nor the end of
        the first list; this makes up for both.

        Raises:
            ApiError: The list is incomplete; nothing was deleted.
        """
        before = list(self.store)
        listed: set[str] = set()
        async for item in self._listed():
            if self.predicate(orjson.dumps(item)):
                listed.add(str((item.get("metadata") or {}).get("uid")))
                self.handle({"type": "ADDED", "object": item})
        self.delete_missing(before, listed)
        self.synced.set()

    async def resync_until_complete(self) -> None:
        """Resync once, with back-off while it fails."""
        backoff = Backoff()
        while True:
            try:
                await self.resync()
            except (ApiError, ValueError, KeyError, TypeError, AttributeError) as error:
                log.warning("Cannot list", resource=self.resource.plural, error=str(error))
                await asyncio.sleep(backoff.next(getattr(error, "retry_after", None)))
            else:
                return

    async def resync_periodically(self, interval: float) -> None:
        """Resync at once and then every `interval` seconds, with back-off while it fails."""
        while True:
            await self.resync_until_complete()
            await asyncio.sleep(interval * (0.9 + random.random() / 5))

    def delete_missing(self, before: list[Fact], listed: set[str]) -> None:
        """Delete the facts that were stored before a list began and whose UID it does not have."""
        for fact in before:
            if fact.metadata.uid not in listed:
                self._dispatch(self.deleted, fact)

    def _dispatch(self, handler: Callable[[Fact], None], fact: Fact) -> None:
        handler(fact)
        for listener in self.listeners:
            listener(fact)

    async def _listed(self) -> AsyncIterator[Any]:
        async for page in pages(self.client, self.path, **self.query):
            for item in page["items"] or ():
                yield item

    def _malformed(self, event_type: str, item: Any, error: MalformedObjectError) -> None:
        metadata = item.get("metadata") or {}
        namespace, name = metadata.get("namespace"), metadata.get("name")
        log.error(
            "Cannot read object",
            resource=self.resource.plural,
            namespace=namespace,
            name=name,
            error=str(error),
        )
        if event_type == "DELETED":
            # The stored fact knows the claims of the object, which the event no longer contains.
            known = self.store.get(namespace or "", name or "")
            if known is not None and known.metadata.uid == metadata.get("uid"):
                self._dispatch(self.deleted, known)
