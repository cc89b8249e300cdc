"""What a server tells of its objects, line by line and item by item."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

import orjson

from dragoman import metrics
from dragoman.kube.informer import Informer
from dragoman.kube.pulse import WatchHealth
from dragoman.kube.store import Fact
from dragoman.logs import logger
from dragoman.model import MalformedObjectError

VERSION = re.compile(rb'"resourceVersion":"([0-9]+)"')

log = logger("dragoman.feed")


class ExpiredError(Exception):
    """The place where a watch should go on is no longer in the server's memory: list again."""


@dataclass
class Account(Generic[Fact]):
    """Follows what is told about one resource, and passes on what is wanted of it.

    Attributes:
        mirror: Where it goes.
        keep: Whether an object, as JSON bytes, is wanted at all.
        known: Whether this resourceVersion came from an own write, whose answer was taken in.
        pulse: Told that something came in.
        version: The resourceVersion up to which all was told; empty before there is any.
    """

    informer: Informer[Fact]
    keep: Callable[[bytes], bool]
    known: Callable[[bytes], bool]
    health: WatchHealth
    version: str = ""

    def is_kept(self, line: bytes) -> bool:
        """Whether a line is worth parsing."""
        self.health.works()
        if self.keep(line) or line.startswith((b'{"type":"ERROR"', b'{"type":"BOOKMARK"')):
            return True
        metrics.WATCH_DROPPED.inc()
        return False

    def is_news(self, line: bytes) -> bool:
        """Whether a line tells more than the answer to an own write did."""
        if not self.is_kept(line):
            return False
        # The object's own version comes first: before it stand only names and the UID.
        version = VERSION.search(line)
        if version is None or not self.known(version[1]):
            return True
        self.version = version[1].decode()
        return False

    def watched(self, line: bytes) -> None:
        """Take in a line of a watch, whose place moves on with it; raise ExpiredError."""
        self.version = self._take(line, None)["metadata"]["resourceVersion"]

    def streamed(self, line: bytes, seen: set[str]) -> None:
        """Take in a line of a list that is a stream; raise ExpiredError."""
        self._take(line, seen)

    def listed(self, item: Any, seen: set[str]) -> None:
        """Take in an item of a list."""
        if self.keep(orjson.dumps(item)):
            self._learn("ADDED", item, seen)

    def _take(self, line: bytes, seen: set[str] | None) -> Any:
        event = orjson.loads(line)
        item = event["object"]
        if event["type"] == "ERROR":
            raise ExpiredError(item.get("message") or item.get("reason") or "watch error")
        if event["type"] != "BOOKMARK":
            self._learn(event["type"], item, seen)
        return item

    def _learn(self, kind: str, item: Any, seen: set[str] | None) -> None:
        try:
            fact = self.informer.parse(item)
        except MalformedObjectError as error:
            metadata = item.get("metadata") or {}
            if kind == "DELETED":
                self._bury(metadata)
            if seen is not None:
                # It exists, readable or not: what was known of it stays.
                seen.add(str(metadata.get("uid")))
            log.error(
                "Cannot read object",
                resource=self.informer.resource.plural,
                namespace=metadata.get("namespace"),
                name=metadata.get("name"),
                error=str(error),
            )
            return
        if seen is not None:
            seen.add(fact.metadata.uid)
        (self.informer.deleted if kind == "DELETED" else self.informer.changed)(fact)

    def _bury(self, metadata: Mapping[str, Any]) -> None:
        """Let go of what was known of an object that cannot be read any more."""
        known = self.informer.store.get(metadata.get("namespace") or "", metadata.get("name") or "")
        if known is not None and known.metadata.uid == metadata.get("uid"):
            self.informer.deleted(known)
