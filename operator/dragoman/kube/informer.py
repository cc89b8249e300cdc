"""Informers: one resource, its store, and those that observe its changes.

An informer is what client-go calls a shared informer: a copy of the API server's objects of one
resource, and callbacks for each change. It watches nothing itself. Three sources feed it, and all
of them end in `changed`, `deleted` or `missing`:

* the watch: `handle` parses a raw event of a `Reflector` (or of kopf's own watches);
* lists: the reflector's, or `resync`, which makes up for what kopf's watches do not report;
* responses to own writes and live reads of a reconciler (`refresh`, `patch_status`).

So facts arrive out of order: a response overtakes the watch, and a list is older than a write that
was made while it was being read. The store decides by resourceVersion. It never goes back, and it
remembers the UIDs of what was deleted, so that a late event revives no object. Only etcd restored
from a backup makes the server itself older; `roll_back` then trusts the next list, whatever its
versions are. The first to notice calls it: a reflector, or the answer to an own write or read.

Most events of a busy cluster change nothing here, so those must cost next to nothing. `predicate`
looks at the bytes of an object before it is parsed; `is_own_write` and `is_unchanged` drop an event
whose content is stored already. An object that is stored, or is about to be, always concerns its
informer: its deletion, or the change that ends the interest in it, must not be lost.

Facts are frozen, and callbacks get (old, new) after the store has the change. A callback that fails
is logged and stops no other one: controllers share informers (docs/adr/0016). Callbacks enqueue
keys, and compute what to enqueue; none of them waits or writes. Reconcilers read the store when
their turn comes.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

import orjson

from dragoman import surroundings
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import MERGE_PATCH, Client, find, items
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.kube.store import DeletedUIDs, Fact, HasMetadata, Store
from dragoman.kube.watchhealth import WatchHealth
from dragoman.logs import logger
from dragoman.model.fields import Document, MalformedObjectError
from dragoman.model.metadata import is_older

_PLACE = re.compile(
    rb'"metadata":\{"name":"([^"\\]+)",(?:"generateName":"[^"\\]*",)?(?:"namespace":"([^"\\]+)")?'
)
_HEAD = 1024
"""Bytes of a watch line within which the name and namespace of its object stand."""

log = logger("dragoman.informer")


def _every(_: object) -> bool:
    return True


@dataclass(eq=False)
class Informer(Generic[Fact]):
    """Keeps a store of facts like the API server's objects of one resource.

    Events come from a `Reflector` or from kopf's watches, live reads from reconcilers. Observers
    receive each change as (old, new) once it is stored, as client-go's handlers do.
    """

    client: Client  # Where objects are read
    resource: Resource  # Which objects
    parse: Callable[[Document], Fact]  # Makes a fact of an object; raises MalformedObjectError
    # Called with a fact before and after each change; None where there is none
    observers: list[Callable[[Fact | None, Fact | None], None]] = field(default_factory=list)
    # The facts as last known
    store: Store[Fact] = field(default_factory=lambda: Store(DeletedUIDs()))
    # Called before the observers when an object is gone, with what was stored, if anything, and the
    # object as it was deleted; this is None where nothing saw that, and may have only metadata
    departed: Callable[[Fact | None, Fact | None], None] = lambda _known, _final: None
    # Whether an object, as JSON bytes, concerns this informer at all; one that is stored always
    # does
    predicate: Callable[[bytes], bool] = _every
    # Whether a fact is stored; one that no longer is leaves the store
    keeps: Callable[[Fact], bool] = _every
    # Whether a resourceVersion is the result of an own write, whose response is in the store
    # already
    is_own_write: Callable[[bytes], bool] = lambda _: False
    # Whether a watch line changes nothing that is stored, so that it need not be parsed
    is_unchanged: Callable[[bytes], bool] = lambda _: False
    # Called when the store has begun to trust the next list; see `roll_back`
    rolled_back: Callable[[], None] = lambda: None
    # Lists again as soon as possible; set by what watches
    relist: Callable[[], None] = lambda: None
    field_selector: str = ""  # Restricts lists and watches, as `metadata.name=x`; empty for all.
    namespace: str = ""  # Restricts lists and watches; empty for all
    # Set after the first complete list
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    # When its watch last received anything
    health: WatchHealth = field(default_factory=WatchHealth)

    @property
    def path(self) -> str:
        """The URL path of the collection that is watched."""
        return self.resource.path(self.namespace)

    @property
    def query(self) -> dict[str, str]:
        """The query parameters that lists and watches have in common."""
        return {"fieldSelector": self.field_selector} if self.field_selector else {}

    def observe(self, observer: Callable[[Fact | None, Fact | None], None]) -> None:
        """Tell an observer of everything that is stored, and of each change from now on."""
        for fact in self.store:
            observer(None, fact)
        self.observers.append(observer)

    def changed(self, fact: Fact) -> None:
        """Store a fact unless a newer one is there, and tell the observers."""
        known = self.store.get(fact.metadata.namespace, fact.metadata.name)
        if not self.keeps(fact):
            self._leave_out(known, fact)
        elif self.store.put(fact):
            if known is not None and known.metadata.uid != fact.metadata.uid:
                self.departed(known, None)
            self._tell(known, fact)

    def deleted(self, fact: Fact, *, by_watch: bool = False) -> None:
        """Delete the stored fact of an object that is gone, and tell the observers."""
        metadata = fact.metadata
        known = self.store.drop(metadata.namespace, metadata.name, metadata.uid, by_watch=by_watch)
        self.departed(known, fact)
        if known is not None:
            self._tell(known, None)

    def missing(self, fact: Fact) -> None:
        """Delete the stored fact of an object that is gone, and tell the observers.

        Args:
            fact: The object as it was last known; it may have changed before it was deleted.
        """
        known = self.store.drop(fact.metadata.namespace, fact.metadata.name, fact.metadata.uid)
        if known is not None:
            self.departed(known, None)
            self._tell(known, None)

    def concerns(self, item: Any) -> bool:
        """Whether a listed object must be handled: it may also have stopped to be of interest."""
        if self.predicate(orjson.dumps(item)):
            return True
        metadata = item.get("metadata") or {}
        place = (str(metadata.get("namespace") or ""), str(metadata.get("name")))
        return self.store.get(*place) is not None

    def concerns_line(self, line: bytes, awaited: Collection[tuple[str, str]] = ()) -> bool:
        """Whether a watch line must be handled; `awaited` are the objects of lines ahead of it."""
        if self.predicate(line):
            return True
        if not awaited and not len(self.store):
            return False
        place = place_of(line)
        return place is None or place in awaited or self.store.get(*place) is not None

    def roll_back(self) -> None:
        """List again, and trust that list: etcd was restored, and has older versions."""
        self.store.roll_back()
        self.relist()
        self.rolled_back()

    def handle(self, event: Mapping[str, Any]) -> None:
        """Parse the object of a watch event, and store or delete it.

        Args:
            event: `type` (ADDED, MODIFIED, DELETED, None for kopf's initial list) and `object`.
        """
        item = event["object"]
        try:
            fact = self.parse(item)
        except MalformedObjectError as error:
            self._malformed(event["type"], item, error)
            return
        if event["type"] == "DELETED":
            self.deleted(fact, by_watch=True)
        else:
            self.changed(fact)

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
            if known is not None and _is_before(found, known):
                # What was stored before the read began is newer: etcd was restored since.
                self.roll_back()
            self.changed(found)
        elif known is not None:
            self.missing(known)

    def answered(self, known: Fact, written: Fact) -> None:
        """Store the response to a write that was sent without the version as precondition.

        Args:
            known: The object as it was stored when the write was sent.
            written: The object as the server answered.
        """
        if _is_before(written, known):  # etcd was restored since
            self.roll_back()
        self.changed(written)

    async def outdated(self, fact: Fact) -> bool:
        """Return whether an object is not as in a fact any more; raise ApiError.

        The store then has what the server has. After a write that was refused with 404 or 409: an
        object that is as it was sends no event, so that only a retry follows.
        """
        metadata = fact.metadata
        await self.refresh(metadata.namespace, metadata.name)
        found = self.store.get(metadata.namespace, metadata.name)
        return found is None or found.metadata.resource_version != metadata.resource_version

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
            if error.code not in {404, 409} or not await self.outdated(fact):
                raise
            return None
        return self.parse(written)

    async def refresh_namespace(self, namespace: str) -> None:
        """Read all objects of a namespace into the store; raise ApiError."""
        async for item in items(self.client, self.resource.path(namespace)):
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
        async for item in items(self.client, self.path, **self.query):
            if self.concerns(item):
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
            await asyncio.sleep(interval * (0.9 + surroundings.chance().random() / 5))

    def delete_missing(self, before: list[Fact], listed: set[str]) -> None:
        """Delete the facts that were stored before a list began and whose UID it does not have."""
        for fact in before:
            if self.is_missing(fact, listed):
                self.missing(fact)

    def is_missing(self, fact: Fact, listed: set[str]) -> bool:
        """Whether a fact that was stored before a list began, and still is, is not in the list."""
        metadata = fact.metadata
        if metadata.uid in listed:
            return False
        stored = self.store.get(metadata.namespace, metadata.name)
        return stored is not None and stored.metadata.uid == metadata.uid

    def _leave_out(self, known: Fact | None, fact: Fact) -> None:
        """Remove what is stored of an object that is of no interest any more."""
        if known is None or self.store.is_past(fact):
            return
        if known.metadata.uid != fact.metadata.uid:
            self.missing(known)
            return
        self.store.forget(known)
        self._tell(known, None)

    def _tell(self, old: Fact | None, new: Fact | None) -> None:
        for observer in self.observers:
            try:
                observer(old, new)
            except Exception:  # the other controllers must have the change all the same
                log.exception("Cannot handle a change", resource=self.resource.plural)

    def _malformed(self, event_type: str, item: Any, error: MalformedObjectError) -> None:
        metadata = item.get("metadata") or {}
        namespace, name = metadata.get("namespace"), metadata.get("name")
        known = self.store.get(namespace or "", name or "")
        if event_type == "DELETED":
            # A relist knows only the metadata of what is gone; the stored fact has the rest. Where
            # none is stored, the deletion was known before: an event came beside the relist.
            if known is not None and known.metadata.uid == metadata.get("uid"):
                self.missing(known)
            return
        log.error(
            "Cannot read object",
            resource=self.resource.plural,
            namespace=namespace,
            name=name,
            error=str(error),
        )


def place_of(line: bytes) -> tuple[str, str] | None:
    """Return namespace and name of the object of a watch line; None where they are not found."""
    # The API server writes an object's name before everything that users can choose.
    place = _PLACE.search(line, 0, _HEAD)
    if place is None:
        return None
    return (place[2] or b"").decode(errors="replace"), place[1].decode(errors="replace")


def _is_before(found: HasMetadata, known: HasMetadata) -> bool:
    return is_older(found.metadata.resource_version, known.metadata.resource_version)
