"""Keep the objects of a cluster up to date by watches, for answers that follow it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dragoman import surroundings
from dragoman.cluster.reader import QUERIES, Reader, Report
from dragoman.inventory.snapshots.documents import Document, reduced
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.kube.client import Client
from dragoman.kube.informer import Informer
from dragoman.kube.reflector import Reflector
from dragoman.kube.resources import Resource
from dragoman.kube.store import StoredObject
from dragoman.model.metadata import Metadata

REFRESH = 30.0
"""Seconds after which an unchanged cluster counts as changed: answers contain ages."""


@dataclass
class Watcher:
    """Reads a cluster by lists first, and by watches from then on.

    Where a watch is forbidden or broken, `read` lists again: users with the rights of `kubectl get`
    have an answer too, and errors of the API server reach the caller.
    """

    client: Client  # The connection
    namespace: str  # Where to read when all namespaces are forbidden
    plurals: Iterable[str]  # What to read
    interval: float  # Seconds between two lists while watches do not work
    # Called with a plural and how many objects of it were listed
    progress: Report = lambda plural, count: None  # noqa: ARG005 — nothing is reported
    _first: Snapshot | None = None
    _watches: dict[str, _Watch] = field(default_factory=dict)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> Snapshot:
        """Return the cluster as it is now.

        Raises:
            ApiError: The API server does not answer, or refuses for another reason than rights.
            NotServedError: It does not serve Dynamic Resource Allocation.
        """
        self._changed.clear()
        if self._first is not None and self._current:
            kept = {plural: watch.documents() for plural, watch in self._watches.items()}
            return replace(
                self._first, taken=surroundings.timestamp(), objects={**self._first.objects, **kept}
            )
        reader = Reader(self.client, self.namespace, self.progress)
        found = await reader.read(self.plurals)
        if self._first is None:
            # Only what is not watched is kept: lists of what is not served, which are empty.
            rest = {key: one for key, one in found.objects.items() if key not in reader.places}
            self._first = replace(found, objects=rest)
            self._watches = {
                plural: _Watch(self.client, *place, self._changed)
                for plural, place in reader.places.items()
            }
        return found

    async def changed(self) -> None:
        """Wait until objects differ from those that were read, or are to be read again."""
        self._start()
        until = time.monotonic() + REFRESH
        while time.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.interval):
                    await self._changed.wait()
                return
            if not self._current:
                return

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[Watcher]:
        """End the watches when the context is left; they begin with the first `changed`."""
        try:
            yield self
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self) -> None:
        if not self._tasks:
            self._tasks = [asyncio.create_task(one.run()) for one in self._watches.values()]

    @property
    def _current(self) -> bool:
        """Whether the stores are those of the API server."""
        return bool(self._tasks) and all(watch.current for watch in self._watches.values())


class _Watch:
    """One resource.

    Args:
        client: The connection.
        resource: What is watched.
        namespace: Where; empty for all namespaces.
        changed: Set when an object differs in what the toolkit reads.
    """

    def __init__(
        self, client: Client, resource: Resource, namespace: str, changed: asyncio.Event
    ) -> None:
        plural = resource.plural
        self._informer = Informer(
            client,
            resource,
            partial(_parse, plural),
            [self._note],
            rolled_back=changed.set,
            field_selector=QUERIES.get(plural, {}).get("fieldSelector", ""),
            namespace=namespace,
        )
        self._changed = changed
        self._reflector = Reflector(self._informer, self._handle)

    async def run(self) -> None:
        """List and watch until cancelled."""
        await self._reflector.run()

    @property
    def current(self) -> bool:
        """Whether everything was listed, and the watch does not fail since."""
        return self._informer.synced.is_set() and not self._reflector.health.failing_for()

    def documents(self) -> tuple[Document, ...]:
        """Return the objects in the order of lists."""
        kept = sorted(self._informer.store, key=lambda one: _place(one.metadata))
        return tuple(one.document for one in kept)

    async def _handle(self, event: Mapping[str, Any]) -> None:
        self._informer.handle(event)
        # A list of thousands must not keep the event loop from serving others.
        await asyncio.sleep(0)

    def _note(self, old: StoredObject | None, new: StoredObject | None) -> None:
        if old is None or new is None or old.document != new.document:
            self._changed.set()


def _parse(plural: str, document: Document) -> StoredObject:
    return StoredObject(Metadata.parse(document), reduced(plural, document))


def _place(metadata: Metadata) -> tuple[str, str]:
    return metadata.namespace, metadata.name
