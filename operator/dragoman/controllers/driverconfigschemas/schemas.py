"""DriverConfigSchemas: read from the API server, compiled in the background, one registry."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dragoman.driverconfigs.driverconfigschema import parse
from dragoman.driverconfigs.registry import Registry, install
from dragoman.kube.client import MERGE_PATCH, ApiError, Client
from dragoman.kube.informer import Informer
from dragoman.kube.reflector import Reflector
from dragoman.kube.schema_api import SCHEMAS, wait_served
from dragoman.kube.store import DeletedUIDs, Store
from dragoman.logs import logger
from dragoman.model import Document, Metadata

log = logger("dragoman.schemas")


@dataclass(frozen=True, slots=True)
class SchemaObject:
    """A stored DriverConfigSchema, not compiled yet."""

    metadata: Metadata
    document: Mapping[str, Any]

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Take an object in; raise MalformedObjectError where its metadata is not the API's."""
        return cls(Metadata.parse(body), body)


class SchemaKeeper:
    """Keeps a registry of compiled schemas like the API server's objects.

    Compilation runs in a thread, one schema after the other; `registry` changes at once, to
    another immutable one, so that a review never sees half a change.

    Attributes:
        registry: The schemas in force.
    """

    def __init__(self, api: Client) -> None:
        self.registry = Registry()
        self._api = api
        self._store: Store[SchemaObject] = Store(DeletedUIDs())
        self._dirty: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._compiled_all = False
        self.reflector = Reflector(
            Informer(api, SCHEMAS, self._store, SchemaObject.parse, self._changed, self._deleted)
        )

    @property
    def objects(self) -> Store[SchemaObject]:
        """The stored objects."""
        return self._store

    def unready(self) -> str | None:
        """Return None once all schemas there were at the start are listed and compiled."""
        if not self.reflector.synced.is_set():
            return "DriverConfigSchemas are not listed yet"
        if not self._compiled_all:
            return f"{len(self._dirty) or 1} DriverConfigSchemas are not compiled yet"
        return None

    async def run(self) -> None:
        """Read and compile until cancelled; without the CRD, wait for it."""
        await wait_served(self._api)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.reflector.run())
            tasks.create_task(self._compile())

    async def write_status(self, name: str, uid: str, status: Mapping[str, Any]) -> None:
        """Merge into the status of an object, unless another has taken its name by now."""
        body = {"metadata": {"uid": uid}, "status": status}
        try:
            answer = await self._api.patch(SCHEMAS.path("", name, "status"), body, MERGE_PATCH)
        except ApiError as error:
            if error.code in {404, 409}:
                return
            raise
        self._changed(SchemaObject.parse(answer))

    async def _compile(self) -> None:
        await self.reflector.synced.wait()
        while True:
            while self._dirty:
                name = next(iter(self._dirty))
                del self._dirty[name]
                try:
                    await self._install(name)
                except Exception:  # what is in force stays; claims go on whatever happens here
                    log.exception("Cannot compile DriverConfigSchema", name=name)
            self._compiled_all = True
            await self._wake.wait()
            self._wake.clear()

    async def _install(self, name: str) -> None:
        stored = self._store.get("", name)
        if stored is None:
            self.registry = self.registry.without(name)
            log.info("Dropped DriverConfigSchema", name=name)
            return
        before = self.registry.objects.get(name)
        installed = await asyncio.to_thread(install, parse(stored.document), before)
        if installed is before:
            return
        self.registry = self.registry.with_object(installed)
        errors = len(installed.compilation.errors)
        log.info("Compiled DriverConfigSchema", name=name, errors=errors, broken=installed.broken)

    def _changed(self, schema: SchemaObject) -> None:
        if self._store.put(schema):
            self._mark(schema)

    def _deleted(self, schema: SchemaObject) -> None:
        metadata = schema.metadata
        self._store.drop(metadata.namespace, metadata.name, metadata.uid)
        self._mark(schema)

    def _mark(self, schema: SchemaObject) -> None:
        self._dirty[schema.metadata.name] = None
        self._wake.set()
