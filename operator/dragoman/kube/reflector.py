"""List and watch one resource without kopf's price per event.

kopf's pipeline costs 200 to 700 microseconds of CPU an event, a plain loop about 20: pods and
claims, of which there are many, come this way; docs/adr says what was measured.
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic

import orjson

from dragoman import metrics
from dragoman.kube.account import Account, ExpiredError
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import ApiError, pages
from dragoman.kube.informer import Informer
from dragoman.kube.pulse import WatchHealth
from dragoman.kube.store import Fact
from dragoman.logs import logger
from dragoman.model.metadata import is_older

WATCH_SECONDS = 290
"""After about this time the server ends a watch, and it is opened again where it ended."""
SHORTEST_WATCH = 1.0
"""Seconds below which the end of a watch counts as a fault."""
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

log = logger("dragoman.feed")


@dataclass
class Reflector(Generic[Fact]):
    """Keeps a shelf of facts like the API server's objects; never gives up.

    Attributes:
        mirror: What to read, and where to; its shelf tells what vanished during an outage.
        keep: Whether an object, as JSON bytes, is wanted at all.
        known: Whether this resourceVersion came from an own write, whose answer was taken in.
        synced: Set after the first complete list.
        rewound: Called when a list is older than one before: etcd was restored from a backup.
        pulse: Whether it is alive.
    """

    informer: Informer[Fact]
    keep: Callable[[bytes], bool] = lambda _: True
    known: Callable[[bytes], bool] = lambda _: False
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    health: WatchHealth = field(default_factory=WatchHealth)
    rewound: Callable[[], None] = lambda: None
    _account: Account[Fact] = field(init=False)
    _newest: int = 0
    _streams_lists: bool = True
    _doubts: bool = False
    _pauses: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        """Begin to follow."""
        self._account = Account(self.informer, self.keep, self.known, self.health)

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                while not self._account.version:
                    await self._list()
                if self._doubts:
                    await self._look_at_the_clock()
                    continue
                await self._watch()
            except ExpiredError as error:
                self._expire()
                await self._rest("expired", error)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                # No JSON, or not the API's: whatever speaks there, start anew with it.
                self._expire()
                await self._rest("garbled", error)
            except ApiError as error:
                if error.code == 410:
                    self._expire()
                # Whoever comes back may have been restored from a backup meanwhile.
                self._doubts |= error.code == 0
                await self._rest(str(error.code or "no-answer"), error)

    def _expire(self) -> None:
        """Give up the place in the stream, but remember how new it was."""
        if self._account.version.isdigit():
            self._newest = max(self._newest, int(self._account.version))
        self._account.version = ""

    async def _look_at_the_clock(self) -> None:
        """Give the place up where the server has not come so far, for it would be silent there."""
        page = await self.informer.api.get(self.informer.path, limit="1")
        if is_older(str(page["metadata"]["resourceVersion"]), self._account.version):
            self._expire()
        self._doubts = False

    async def _rest(self, cause: str, error: Exception) -> None:
        self.health.fails()
        metrics.WATCH_RESTARTS.labels(cause).inc()
        pause = self._pauses.next(getattr(error, "retry_after", None))
        log.warning(
            "Watch failed; will try again",
            resource=self.informer.resource.plural,
            error=str(error),
            seconds=round(pause, 1),
        )
        await asyncio.sleep(pause)

    async def _list(self) -> None:
        """Take in everything there is, by a streaming list (KEP-3157) where the server has it."""
        # Only what was known before can be missing from the list: the shelf also holds what was
        # written while it was read.
        before = list(self.informer.store)
        seen: set[str] = set()
        version = await self._listed(seen)
        self._doubts = False
        if version.isdigit() and int(version) < self._newest:
            # What is known has versions from a future that will not come.
            log.warning("The API server went back in time", resource=self.informer.resource.plural)
            self._newest = 0
            self.rewound()
            return
        self._newest = int(version) if version.isdigit() else 0
        for fact in before:
            if fact.metadata.uid not in seen:
                self.informer.deleted(fact)
        self._account.version = version
        self._pauses.succeeded()
        self.synced.set()

    async def _listed(self, seen: set[str]) -> str:
        """List by whatever way the server has; returns the list's resourceVersion."""
        if self._streams_lists:
            try:
                return await self._stream_list(seen)
            except ApiError as error:
                if error.code not in {400, 422}:
                    raise
                self._streams_lists = False
        return await self._page_list(seen)

    async def _stream_list(self, seen: set[str]) -> str:
        query = {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "resourceVersion": "",
        }
        query = self._watch_query(query)
        async for line in self.informer.api.lines(self.informer.path, query, self._account.is_kept):
            if b'"BOOKMARK"' in line[:24]:
                metadata = orjson.loads(line)["object"]["metadata"]
                if INITIAL_EVENTS_END in (metadata.get("annotations") or {}):
                    return str(metadata["resourceVersion"])
                continue
            self._account.streamed(line, seen)
        raise ApiError(0, "NoAnswer", "the list ended before it was complete")

    async def _page_list(self, seen: set[str]) -> str:
        version = ""
        async for page in pages(self.informer.api, self.informer.path):
            self.health.works()
            for item in page["items"] or ():
                self._account.listed(item, seen)
            version = str(page["metadata"]["resourceVersion"])
        return version

    async def _watch(self) -> None:
        began = time.monotonic()
        query = self._watch_query({"resourceVersion": self._account.version})
        async for line in self.informer.api.lines(self.informer.path, query, self._account.is_news):
            if self._account.is_news(line):  # the answer to an own write may have come since
                self._account.watched(line)
                self._pauses.succeeded()
        if time.monotonic() - began < SHORTEST_WATCH:
            # A server that ends watches at once must not be asked in a tight loop.
            await asyncio.sleep(self._pauses.next())

    def _watch_query(self, query: dict[str, str]) -> dict[str, str]:
        seconds = str(int(WATCH_SECONDS * (0.9 + random.random() / 5)))
        return {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": seconds,
            **query,
        }
