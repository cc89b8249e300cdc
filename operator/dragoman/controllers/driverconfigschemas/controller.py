"""The DriverConfigSchema controller: compiles schemas, applies the catalog, writes statuses.

Every replica compiles, because each of them may serve reviews; only the leader writes. What fails
is retried and never stops the claim controller.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from dragoman import metrics, surroundings
from dragoman.controllers.context import Context
from dragoman.controllers.driverconfigschemas.auditor import Auditor
from dragoman.controllers.driverconfigschemas.schemas import Schemas
from dragoman.controllers.driverconfigschemas.selection import CatalogSelection, without
from dragoman.kube.client import APPLY_PATCH
from dragoman.kube.controller import Controller
from dragoman.kube.errors import ApiError
from dragoman.kube.events import ObjectReference
from dragoman.kube.resources import DRIVERCONFIGSCHEMAS, Resource
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman_configs.objects.driverconfigschema import API_VERSION, KIND, OFF
from dragoman_configs.review import status

APPLY_INTERVAL = 600.0
"""Seconds after which an object of the catalog is applied again, in case a field was removed."""
LEADING_INTERVAL = 1.0
"""Seconds between checks whether this process leads, before it reports settings."""
CONFLICTS = 20
"""Attempts to apply without fields that admins own; each response names all that it met."""

REASON = "CatalogFaulty"
"""Reason of the Event about a setting or an object of the catalog that has no effect."""

log = logger("dragoman.schemas")


class SchemaKey(NamedTuple):
    """What a worker does with which schema; compilation never waits for a write."""

    task: Literal["compile", "write"]
    name: str


class SchemaController:
    """Reconciles DriverConfigSchemas.

    Args:
        context: Of the process.
        audited: Resources whose stored objects are audited, by kind; None for no audit.
        catalog: Objects that are applied, and settings without effect, which are reported.
        resync: Seconds between full passes.

    Attributes:
        schemas: The stored and the compiled schemas.
        queue: The keys that wait for a worker.
    """

    def __init__(
        self,
        context: Context,
        *,
        audited: Mapping[str, Resource] | None = None,
        catalog: CatalogSelection = CatalogSelection(),  # noqa: B008 — frozen
        resync: float = 600.0,
    ) -> None:
        self._context = context
        self._catalog = {one["metadata"]["name"]: one for one in catalog.documents}
        self._applied: dict[str, float] = {}
        self._settings = catalog.faults
        self._faults: defaultdict[str, set[str]] = defaultdict(set)
        self.queue: WorkQueue[SchemaKey] = WorkQueue("driverconfigschemas", lambda key: key.task)
        self.schemas = Schemas(context, lambda name: self.queue.add(SchemaKey("compile", name)))
        self._controller = Controller(
            self.queue,
            self.reconcile,
            self.enqueue_all,
            lanes=("compile", "write"),
            resync=resync,
            describe=SchemaKey._asdict,
        )
        self._auditor = None if audited is None else Auditor(context, self.schemas, audited)

    async def run(self) -> None:
        """Reconcile until cancelled, once the schemas are listed."""
        async with asyncio.TaskGroup() as tasks:
            # Settings are wrong whether the CRD is there or not.
            tasks.create_task(self._report_settings())
            await self.schemas.informer.synced.wait()
            if self._auditor is not None:
                tasks.create_task(self._auditor.run())
            tasks.create_task(self._controller.run())

    def enqueue_all(self) -> None:
        """Enqueue every schema that is stored, compiled or in the catalog."""
        stored = (one.metadata.name for one in self.schemas.objects)
        for name in {*stored, *self.schemas.registry.objects, *self._catalog}:
            self.queue.add(SchemaKey("compile", name))

    async def reconcile(self, key: SchemaKey) -> None:
        """Compile a schema, or write its status and the catalog's object of its name."""
        if key.task == "compile":
            await self._compile(key.name)
        elif self._context.leading():
            await self._write_status(key.name)
            await self._apply_catalog(key.name)
        self.queue.forget(key)

    async def _compile(self, name: str) -> None:
        before = self._driver(name)
        await self.schemas.compile(name)
        # Two schemas of one driver conflict: a change of one changes the other's status.
        drivers = {before, self._driver(name)} - {None}
        affected = {
            other
            for other, registered in self.schemas.registry.objects.items()
            if registered.parsed.driver in drivers
        }
        for other in {name, *affected}:
            self.queue.add(SchemaKey("write", other))
        self._count_errors()

    def _driver(self, name: str) -> str | None:
        registered = self.schemas.registry.objects.get(name)
        return None if registered is None else registered.parsed.driver

    async def _write_status(self, name: str) -> None:
        registry = self.schemas.registry
        stored, registered = self.schemas.objects.get("", name), registry.objects.get(name)
        if stored is None or registered is None or stored.metadata.deleting:
            return
        old = stored.document.get("status") or {}
        wanted: dict[str, Any] = status.status(registry, name, old, surroundings.timestamp())
        if registered.parsed.mode == OFF:
            wanted["audit"] = None
        if any(old.get(field) != value for field, value in wanted.items()):
            await self.schemas.write_status(stored, wanted)

    async def _apply_catalog(self, name: str) -> None:
        """Apply the catalog's object where it is missing, or was not applied for a while."""
        document = self._catalog.get(name)
        missing = self.schemas.objects.get("", name) is None
        applied = self._applied.get(name, float("-inf"))
        if document is None or not (missing or surroundings.monotonic() - applied > APPLY_INTERVAL):
            return
        try:
            await self._apply(name, document)
        except ApiError as error:
            self._report(name, f"cannot apply DriverConfigSchema {name}: {error}", name)
            raise
        self._applied[name] = surroundings.monotonic()
        self._count_faults(name, self._faults[name] - {name})

    async def _report_settings(self) -> None:
        """Report the settings without effect from time to time; the other settings hold."""
        while self._settings:
            leading = self._context.leading()
            for fault in self._settings if leading else ():
                self._report(fault.driver, fault.message, fault.message)
            await asyncio.sleep(APPLY_INTERVAL if leading else LEADING_INTERVAL)

    def _report(self, driver: str, message: str, identity: str) -> None:
        """Report a fault of the catalog by a metric, a log line and an Event on the schema."""
        self._count_faults(driver, self._faults[driver] | {identity})
        stored = self.schemas.objects.get("", driver)
        uid = stored.metadata.uid if stored is not None else ""
        self._context.recorder.warn(
            ObjectReference(API_VERSION, KIND, "", driver or "catalog", uid),
            reason=REASON,
            action="ApplyingCatalog",
            note=message,
        )

    def _count_faults(self, driver: str, faults: set[str]) -> None:
        self._faults[driver] = faults
        metrics.CATALOG_ERRORS.labels(driver).set(len(faults))

    async def _apply(self, name: str, document: Mapping[str, Any]) -> None:
        """Apply an object by server-side apply; fields that admins took over stay theirs."""
        for _ in range(CONFLICTS):
            try:
                path = DRIVERCONFIGSCHEMAS.path(name=name)
                await self._context.writing.patch(path, document, APPLY_PATCH)
            except ApiError as error:
                if error.code != 409 or not error.has_cause("FieldManagerConflict"):
                    raise
                fields = [cause["field"] for cause in error.details["causes"]]
                log.info("Other field managers own fields", name=name, fields=fields)
                for field in fields:
                    document = without(document, field)
            else:
                return
        raise ApiError(409, "Conflict", f"DriverConfigSchema {name}: its fields change owners")

    def _count_errors(self) -> None:
        errors: Counter[str] = Counter()
        for registered in self.schemas.registry.objects.values():
            errors[registered.parsed.driver] += len(registered.compilation.errors)
        metrics.SCHEMA_ERRORS.clear()
        for driver, count in errors.items():
            metrics.SCHEMA_ERRORS.labels(driver).set(count)


def audited_resources(claims: Resource) -> dict[str, Resource]:
    """Return the resources that carry config entries, by kind, in the version of ResourceClaims."""
    plurals = {
        "ResourceClaim": "resourceclaims",
        "ResourceClaimTemplate": "resourceclaimtemplates",
        "DeviceClass": "deviceclasses",
    }
    return {kind: Resource(claims.group, claims.version, name) for kind, name in plurals.items()}
