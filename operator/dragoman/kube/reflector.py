"""A reflector lists and watches one resource and passes raw events to a handler.

The life of a reflector is a loop of two states:

    list ──> watch from the list's resourceVersion ──> (ended) watch from the last event's version
     ^                                                       │ 410 Gone, not JSON, or `relist`
     └───────────────────────────────────────────────────────┘

A list is a watch with `sendInitialEvents` (KEP-3157), which the API server answers from its cache
one object at a time; where a server has none, it is pages. What was stored before a list began and
is not in it was deleted while there was no watch: the handler gets a DELETED event with its
metadata.

A watch ends every five minutes, give or take a tenth so that reflectors do not reconnect together.
It continues after the last event, or after the last bookmark, so that the next end costs no list.
An ERROR event of an overloaded server is retried once at the same version, as client-go does; a
second one there lists again. Each failure backs off, and a watch that ends at once counts as one.

Two things are not in client-go's reflector:

* Lines are judged as bytes, before they are parsed (`_is_wanted`). kopf's own watches cost 200 to
  700 microseconds of CPU per event, this one about 20 (docs/adr/0004). A line may be dropped as
  unchanged only while no line ahead of it waits: that one may be what makes it a change. One of no
  interest is kept where a line about its object waits, which may store it.
* After an outage, etcd may have been restored from a backup. A watch at a version that the server
  has not issued yet would stay silent for as long as it takes to get there, and later ones miss
  what happened instead. So the reflector first asks whether the server's history has the last
  event, of whatever object, and the newest own write (`_check_rollback`), and lists again where it
  may not.

The handlers are those that kopf would call, with the same raw events.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from dragoman import metrics, surroundings
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import pages
from dragoman.kube.decoding import decode
from dragoman.kube.errors import ApiError
from dragoman.kube.history import NO_CHANGES, VERSION, History, later
from dragoman.kube.informer import Informer, place_of
from dragoman.kube.store import HasMetadata
from dragoman.kube.watchhealth import WatchHealth
from dragoman.logs import logger
from dragoman.model.metadata import is_older

WATCH_SECONDS = 290
"""The server ends a watch after about this time; it is reopened where it ended."""
SHORTEST_WATCH = 1.0
"""A watch that ends sooner than this, in seconds, counts as a failure."""
TOO_MANY_REQUESTS = 429
INTERNAL_ERROR = 500
AWAY = frozenset({0, 502, 503, 504})
"""No answer, or that of something before the server."""
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

EventHandler = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Receives raw events of the API: `{"type": ..., "object": {...}}`."""

log = logger("dragoman.reflector")


class ExpiredError(Exception):
    """The watch cache no longer has the resourceVersion to continue from: list again."""


@dataclass
class Reflector:
    """Lists and watches the resource of an informer; retries without end."""

    # What is watched; its store shows which objects were deleted during an outage
    informer: Informer[Any]
    handle: EventHandler  # Receives each raw event, as kopf's event handlers do
    _version: str = ""
    """Where the watch continues; empty when it must list first."""
    _reached: str = ""
    """Where it continues where the last event has expired."""
    _failed_version: str = ""
    """Where the watch last received an ERROR event and continued."""
    _last_list_version: int = 0
    _history: History = field(default_factory=History)
    _undelivered: int = 0
    """Lines that have arrived and are not handled yet."""
    _awaited: set[tuple[str, str]] = field(default_factory=set)
    """Namespaces and names of their objects."""
    _use_watch_list: bool = True
    _verify_version: bool = False
    _must_list: bool = False
    _watching: asyncio.Timeout | None = None
    _backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        """Let the informer ask for a list."""
        self.informer.relist = self._relist

    @property
    def health(self) -> WatchHealth:
        """When anything was last received."""
        return self.informer.health

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                while not self._version or self._must_list:
                    if self._verify_version:  # nothing says whether it is the server of before
                        self.informer.store.roll_back()
                    self._must_list, self._version = False, ""
                    await self._list()
                if self._verify_version:
                    await self._check_rollback()
                    continue
                await self._watch_until_relist()
            except ExpiredError as error:
                self._expire()
                await self._back_off("expired", error)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                # Not JSON, or not of the API: a proxy may answer in the server's place.
                self._expire()
                await self._back_off("garbled", error)
            except ApiError as error:
                if error.code == 410:
                    self._expire()
                # The server that comes back may have been restored from a backup.
                self._verify_version |= error.code in AWAY
                await self._back_off(str(error.code or "no-answer"), error)

    def _expire(self) -> None:
        """Give up the version to continue from, but remember how new it was."""
        if is_older(self._version, self._reached):
            self._version = self._reached  # the last event was long ago, a bookmark was not
            return
        for version in (self._version, self.informer.store.newest_version):
            if version.isdigit():
                self._last_list_version = max(self._last_list_version, int(version))
        self._version = ""

    def _relist(self) -> None:
        """List again as soon as possible, whatever the version of the list is."""
        self._must_list = True
        self._last_list_version = 0
        if self._watching is not None:
            self._watching.reschedule(asyncio.get_running_loop().time())

    async def _watch_until_relist(self) -> None:
        try:
            async with asyncio.timeout(None) as self._watching:
                await self._watch()
        except TimeoutError:
            if not self._must_list:
                raise
        finally:
            self._watching = None

    async def _check_rollback(self) -> None:
        """Find out whether the server knows what is stored; list again where it may not.

        A server that is older than anything here was restored. One that has issued as many versions
        since has another history: that of the last event, and that of a newer own write, whose
        response was stored before the watch had it.
        """
        informer, store = self.informer, self.informer.store
        page = await informer.client.get(informer.path, **{**informer.query, "limit": "1"})
        version = str(page["metadata"]["resourceVersion"])
        reached = later(self._version, self._reached, self._history.version)
        if (
            is_older(version, later(reached, store.newest_version))
            or not await self._has_own_write(reached)
            or not await self._history.is_of(informer, reached)
        ):
            informer.roll_back()
        elif is_older(self._history.version, self._version):
            # What another history has had since would be missed from a bookmark on.
            self._version, self._reached = self._history.version, self._version
        self._verify_version = False

    async def _has_own_write(self, reached: str) -> bool:
        """Whether the server has the newest stored fact, unless events have reached its version."""
        store, newest = self.informer.store, self.informer.store.newest
        if store.deleted_last or not is_older(reached, store.newest_version):
            return not store.deleted_last  # what was deleted last cannot be read
        if newest is None:
            return False
        found = await self.informer.read(newest.metadata.namespace, newest.metadata.name)
        return bool(found == newest)  # another history may have given its version to another write

    async def _back_off(self, cause: str, error: Exception) -> None:
        self.health.failed(getattr(error, "code", 0))
        metrics.WATCH_RESTARTS.labels(cause).inc()
        delay = self._backoff.next(getattr(error, "retry_after", None))
        log.warning(
            "Watch failed; it is retried",
            resource=self.informer.resource.plural,
            error=str(error),
            seconds=round(delay, 1),
        )
        await asyncio.sleep(delay)

    async def _list(self) -> None:
        """Handle everything there is, by a streaming list (KEP-3157) where the server has it."""
        # Only what was stored before can be missing from the list: own writes store more
        # objects while it is being read.
        before = list(self.informer.store)
        listed: set[str] = set()
        self._history, self._reached = History(), ""
        version = await self._list_by_any_way(listed)
        self._verify_version = False
        if version.isdigit() and int(version) < self._last_list_version:
            # The stored facts carry versions that this server has never issued.
            log.warning("The API server went back in time", resource=self.informer.resource.plural)
            self._last_list_version = 0
            self.informer.roll_back()
            return
        self._last_list_version = int(version) if version.isdigit() else 0
        await self._delete_missing(before, listed)
        self._version = version
        self._backoff.succeeded()
        self.informer.synced.set()

    async def _delete_missing(self, before: list[HasMetadata], listed: set[str]) -> None:
        """Send DELETED events for facts that the list does not have, with only their metadata."""
        for fact in before:
            if not self.informer.is_missing(fact, listed):
                continue
            metadata = fact.metadata
            identity = {
                "namespace": metadata.namespace,
                "name": metadata.name,
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            }
            await self.handle({"type": "DELETED", "object": {"metadata": identity}})

    async def _list_by_any_way(self, listed: set[str]) -> str:
        """Return the list's resourceVersion, and add the UIDs of its objects to `listed`."""
        if self._use_watch_list:
            try:
                return await self._watch_list(listed)
            except ApiError as error:
                if error.code not in {400, 422}:
                    raise
                self._use_watch_list = False
        return await self._page_list(listed)

    async def _watch_list(self, listed: set[str]) -> str:
        query = self._watch_query(
            sendInitialEvents="true", resourceVersionMatch="NotOlderThan", resourceVersion=""
        )
        self._undelivered = 0
        lines = self.informer.client.lines(self.informer.path, query, self._is_listed)
        async for line in lines:
            if b'"BOOKMARK"' in line[:24]:
                metadata = decode(line)["object"]["metadata"]
                if INITIAL_EVENTS_END in (metadata.get("annotations") or {}):
                    return str(metadata["resourceVersion"])
            else:
                event = _event(line)
                listed.add(_uid(event["object"]))
                await self.handle(event)
            self._undelivered -= 1
        raise ApiError(0, "NoAnswer", "the list ended before it was complete")

    async def _page_list(self, listed: set[str]) -> str:
        version = ""
        async for page in pages(self.informer.client, self.informer.path, **self.informer.query):
            self.health.received()
            for item in page["items"] or ():
                self._history.listed(b'{"type":"ADDED","object":%s}' % orjson.dumps(item))
                if self.informer.concerns(item):
                    listed.add(_uid(item))
                    await self.handle({"type": "ADDED", "object": item})
            version = str(page["metadata"]["resourceVersion"])
        return version

    async def _watch(self) -> None:
        began = surroundings.monotonic()
        query = self._watch_query(resourceVersion=self._version)
        informer = self.informer
        self._undelivered = 0
        async for line in informer.client.lines(informer.path, query, self._is_wanted):
            # Checked once more: the response to an own write may have arrived since.
            if self._is_news(line):
                event = self._parse(line)
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    await self.handle(event)
                self._version = version
                self._backoff.succeeded()
            self._undelivered -= 1
        if surroundings.monotonic() - began < SHORTEST_WATCH:
            # A server that ends watches at once must not be called in a tight loop.
            await asyncio.sleep(self._backoff.next())

    def _parse(self, line: bytes) -> Any:
        """Parse a watch line.

        Raises:
            ApiError: The first ERROR event of an overloaded or failing server at this version: the
                watch continues there, as client-go's does.
            ExpiredError: Any other ERROR event; a server that fails twice at one version may
                never get past it.
        """
        try:
            return _event(line)
        except ApiError as error:
            is_transient = error.code == TOO_MANY_REQUESTS or error.code >= INTERNAL_ERROR
            if is_transient and self._failed_version != self._version:
                self._failed_version = self._version
                raise
            raise ExpiredError(str(error)) from error

    def _watch_query(self, **query: str) -> dict[str, str]:
        seconds = str(int(WATCH_SECONDS * (0.9 + surroundings.chance().random() / 5)))
        return {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": seconds,
            **self.informer.query,
            **query,
        }

    def _is_relevant(self, line: bytes) -> bool:
        """Whether a line is worth parsing."""
        self.health.received()
        if self.informer.concerns_line(line, self._awaited) or line.startswith(NO_CHANGES):
            return True
        metrics.WATCH_DROPPED.inc()
        return False

    def _is_listed(self, line: bytes) -> bool:
        """Whether a line of a list that arrives must be handled."""
        self._settle()
        self._history.listed(line)
        return self._is_relevant(line) and self._await(line)

    def _is_wanted(self, line: bytes) -> bool:
        """Whether a line that arrives must be handled after those that have arrived before it."""
        # They may change what is stored: what is unchanged now can undo one of them.
        alone = self._settle()
        self._history.happened(line)
        return self._is_news(line, comparable=alone) and self._await(line)

    def _settle(self) -> bool:
        """Return whether all lines that have arrived are handled."""
        if self._undelivered <= 0:
            self._awaited.clear()
        return self._undelivered <= 0

    def _await(self, line: bytes) -> bool:
        """Note that a line is to be handled: its object may be stored by then."""
        self._undelivered += 1
        if place := place_of(line):
            self._awaited.add(place)
        return True

    def _is_news(self, line: bytes, *, comparable: bool = True) -> bool:
        """Whether a line contains more than the store, or than the response to an own write."""
        if not self._is_relevant(line):
            return False
        version = VERSION.search(line)
        if version is None:
            return True
        is_own_write = self.informer.is_own_write(version[1])
        if not is_own_write and not (comparable and self.informer.is_unchanged(line)):
            return True
        self._version = version[1].decode()
        return False


def _event(line: bytes) -> Any:
    """Parse a watch line; raise ApiError for an ERROR event."""
    event = decode(line)
    if event["type"] == "ERROR":
        status = event["object"]
        reason = str(status.get("reason") or "")
        message = str(status.get("message") or reason or "watch error")
        raise ApiError(int(status.get("code") or 410), reason, message)
    return event


def _uid(item: Any) -> str:
    return str((item.get("metadata") or {}).get("uid"))
