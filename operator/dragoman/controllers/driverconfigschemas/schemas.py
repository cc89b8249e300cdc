"""The DriverConfigSchemas of the cluster, and the registry that they compile to."""

from collections.abc import Callable, Mapping
from typing import Any

from dragoman import surroundings
from dragoman.controllers.context import Context
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.resources import DRIVERCONFIGSCHEMAS
from dragoman.kube.store import StoredObject
from dragoman.logs import logger
from dragoman_configs.compile.registry import Registry, register
from dragoman_configs.objects.schemaparser import parse

CONFLICTS = 5
"""Attempts to write a status while others change the object."""

log = logger("dragoman.schemas")


class Schemas:
    """Stored DriverConfigSchemas, and one immutable registry of the compiled ones.

    `registry` is replaced as a whole, so that a review never sees half a change.

    Args:
        context: Of the process.
        enqueue: Called with the name of each schema that changed.

    Attributes:
        informer: Keeps the stored objects.
        objects: Its store.
        registry: The active schemas.
    """

    def __init__(self, context: Context, enqueue: Callable[[str], None]) -> None:
        self._context = context
        self.registry = Registry()
        self._enqueue = enqueue
        self._compiled: set[str] = set()
        self._compiled_all = False
        self.informer = Informer(
            context.client, DRIVERCONFIGSCHEMAS, StoredObject.parse, [self._changed]
        )
        self.objects = self.informer.store

    def unready(self) -> str | None:
        """Return None once all schemas of the first list are compiled, else a sentence."""
        if self._compiled_all:
            return None
        if not self.informer.synced.is_set():
            return "DriverConfigSchemas are not listed yet"
        missing = sum(one.metadata.name not in self._compiled for one in self.objects)
        if missing:
            return f"{missing} DriverConfigSchemas are not compiled yet"
        self._compiled_all = True
        return None

    async def compile(self, name: str) -> None:
        """Bring one schema of the registry up to date; compilation runs in a thread."""
        stored = self.objects.get("", name)
        if stored is None:
            if name in self.registry.objects:
                self._replace(self.registry.without(name))
                log.info("Removed DriverConfigSchema", name=name)
            return
        before = self.registry.objects.get(name)
        available = self.registry.available_bytes(name)
        parsed = parse(stored.document)
        try:
            registered = await surroundings.in_thread(register, parsed, before, available)
        finally:
            self._compiled.add(name)
        if registered is before:
            return
        self._replace(self.registry.with_object(registered))
        errors = len(registered.compilation.errors)
        log.info("Compiled DriverConfigSchema", name=name, errors=errors, broken=registered.broken)

    def _replace(self, registry: Registry) -> None:
        self.registry = registry
        for name in registry.fitting():  # what was refused for its memory may fit now
            self._enqueue(name)

    async def write_status(self, schema: StoredObject, status: Mapping[str, Any]) -> None:
        """Merge into the status of an object, unless another object has its name by now.

        Raises:
            ApiError: The status was refused, or the object keeps changing.
        """
        name, uid = schema.metadata.name, schema.metadata.uid
        for _ in range(CONFLICTS):
            self._context.require_leading()
            written = await self.informer.patch_status(schema, status)
            if written is not None:
                self.informer.changed(written)
                return
            current = self.objects.get("", name)
            if current is None or current.metadata.uid != uid:
                return
            schema = current
        raise ApiError(409, "Conflict", f"status of DriverConfigSchema {name}: it keeps changing")

    def _changed(self, old: StoredObject | None, new: StoredObject | None) -> None:
        changed = new or old
        assert changed is not None
        self._enqueue(changed.metadata.name)
