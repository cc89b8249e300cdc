"""One object, watched by its name: all that a Role with `resourceNames` allows."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client, find
from dragoman.kube.decoding import decode
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.logs import logger
from dragoman.model.metadata import is_older

WATCH_SECONDS = 60
"""After this time the object is read again, so that nothing is missed for longer."""

log = logger("dragoman.feed")


class NamedObject:
    """Keeps one object as the API server has it.

    Args:
        api: Where it is.
        resource: Of what kind it is.
        name: Its name.
        namespace: Its namespace; empty for none.

    Attributes:
        document: The object, None while there is none.
        synced: Whether it was read at all.
        since: When it last changed, by the monotonic clock.
        altered: Set on every change; several objects may share one.
    """

    def __init__(
        self,
        api: Client,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        altered: asyncio.Event | None = None,
    ) -> None:
        self._api = api
        self._resource = resource
        self._name = name
        self._namespace = namespace
        self.document: Mapping[str, Any] | None = None
        self.synced = False
        self.since = time.monotonic()
        self.altered = altered or asyncio.Event()

    @property
    def path(self) -> str:
        """The object's URL path."""
        return self._resource.path(self._namespace, self._name)

    async def run(self) -> None:
        """Read and watch until cancelled."""
        pauses = Backoff()
        while True:
            try:
                await self.read()
                await self._watch()
            except (ApiError, ValueError, KeyError, TypeError) as error:
                pause = pauses.next(getattr(error, "retry_after", None))
                log.warning(
                    "Watch failed; will try again", path=self.path, error=str(error), seconds=pause
                )
                await asyncio.sleep(pause)

    async def read(self) -> None:
        """Take in the object as it is now; raise ApiError."""
        self.take(await find(self._api, self.path))

    def take(self, document: Mapping[str, Any] | None) -> None:
        """Take in a version of the object, unless it is older than what is known."""
        self.synced = True
        if _older(document, self.document) or _version(document) == _version(self.document):
            return
        self.document = document
        self.since = time.monotonic()
        self.altered.set()

    async def _watch(self) -> None:
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
            "fieldSelector": f"metadata.name={self._name}",
        }
        async for line in self._api.lines(self._resource.path(self._namespace), query):
            event = decode(line)
            if event["type"] == "ERROR":
                return
            if event["type"] == "DELETED":
                await self.read()
            elif event["type"] != "BOOKMARK":
                self.take(event["object"])


def _version(document: Mapping[str, Any] | None) -> str:
    return str(document["metadata"]["resourceVersion"]) if document else ""


def _older(new: Mapping[str, Any] | None, old: Mapping[str, Any] | None) -> bool:
    if not new or not old or new["metadata"]["uid"] != old["metadata"]["uid"]:
        return False
    return is_older(_version(new), _version(old))
