"""The schema controller: what the leader writes about DriverConfigSchemas.

Three works, each for itself and each again and again from what is there: the catalogue is applied,
the status of every schema is kept true, and what is stored is audited. Whatever fails is tried
again; nothing of it may ever stand in the way of claims.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dragoman import metrics
from dragoman.controllers.driverconfigschemas.auditor import Auditor
from dragoman.controllers.driverconfigschemas.schemas import SchemaKeeper
from dragoman.controllers.driverconfigschemas.selection import without
from dragoman.driverconfigs import status
from dragoman.driverconfigs.driverconfigschema import OFF
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import APPLY_PATCH, ApiError, Client, Resource
from dragoman.kube.schema_api import SCHEMAS
from dragoman.logs import logger

TICK = 1.0
"""Seconds between looks whether there is something to do."""
APPLY_INTERVAL = 600.0
"""Seconds after which the catalogue is applied again, should somebody have deleted of it."""
CONFLICTS = 20
"""Rounds of leaving out fields that admins own; each round names all of them that it met."""

log = logger("dragoman.schemas")


class SchemaController:
    """Applies the catalogue, writes statuses, audits.

    Args:
        api: Where to write.
        keeper: The schemas; somebody else runs it.
        stored: What is audited: the resources of claims, templates and classes by kind.
        catalogue: What is applied.
        leading: Whether this process may write now.
    """

    def __init__(
        self,
        api: Client,
        keeper: SchemaKeeper,
        stored: Mapping[str, Resource],
        catalogue: Sequence[Mapping[str, Any]],
        leading: Callable[[], bool],
    ) -> None:
        self._api = api
        self._keeper = keeper
        self._leading = leading
        self._auditor = Auditor(api, keeper, stored, leading)
        self._catalogue = catalogue
        self._waiting: dict[str, Mapping[str, Any]] = {}
        self._applied = float("-inf")

    async def run(self) -> None:
        """Work until cancelled; does nothing while another process leads."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._auditor.recorder.run())
            for work in (self._apply_catalogue, self._write_statuses, self._auditor.audit_if_due):
                tasks.create_task(self._again(work))

    async def _again(self, work: Callable[[], Awaitable[None]]) -> None:
        pauses = Backoff()
        while True:
            await asyncio.sleep(TICK)
            if not self._leading() or not self._keeper.reflector.synced.is_set():
                continue
            try:
                await work()
            except ApiError as error:
                pause = pauses.next(error.retry_after)
                log.warning("Will try again", error=str(error), code=error.code, seconds=pause)
                await asyncio.sleep(pause)
            except Exception:  # a fault here is no reason to stop making claims
                log.exception("Cannot work on DriverConfigSchemas")
                await asyncio.sleep(pauses.next())

    async def _apply_catalogue(self) -> None:
        if time.monotonic() - self._applied > APPLY_INTERVAL:
            self._waiting = {one["metadata"]["name"]: one for one in self._catalogue}
            self._applied = time.monotonic()
        failure: ApiError | None = None
        for name, document in list(self._waiting.items()):
            try:
                await self._apply(name, document)
            except ApiError as error:
                # One that is refused does not keep the others from being applied.
                failure = error
            else:
                del self._waiting[name]
        if failure is not None:
            raise failure

    async def _apply(self, name: str, document: Mapping[str, Any]) -> None:
        """Apply an object; what admins have taken over stays theirs."""
        for _ in range(CONFLICTS):
            try:
                await self._api.patch(SCHEMAS.path(name=name), document, APPLY_PATCH)
            except ApiError as error:
                if error.code != 409 or not error.has_cause("FieldManagerConflict"):
                    raise
                fields = [cause["field"] for cause in error.details["causes"]]
                log.info("Left to their owners", name=name, fields=fields)
                for field in fields:
                    document = without(document, field)
            else:
                return
        raise ApiError(409, "Conflict", f"DriverConfigSchema {name}: its fields change owners")

    async def _write_statuses(self) -> None:
        registry = self._keeper.registry
        errors: dict[str, int] = {}
        for name, installed in registry.objects.items():
            stored = self._keeper.objects.get("", name)
            driver, count = installed.parsed.driver, len(installed.compilation.errors)
            errors[driver] = errors.get(driver, 0) + count
            if stored is None or stored.metadata.deleting:
                continue
            old = stored.document.get("status") or {}
            wanted: dict[str, Any] = status.status(registry, name, old, _now())
            if installed.parsed.mode == OFF:
                wanted["audit"] = None
            if any(old.get(key) != value for key, value in wanted.items()):
                await self._keeper.write_status(name, stored.metadata.uid, wanted)
        metrics.SCHEMA_ERRORS.clear()
        for driver, count in errors.items():
            metrics.SCHEMA_ERRORS.labels(driver).set(count)


def stored_resources(claims: Resource) -> dict[str, Resource]:
    """Return the resources that carry config entries, by kind, in the version of one of them."""
    plurals = {
        "ResourceClaim": "resourceclaims",
        "ResourceClaimTemplate": "resourceclaimtemplates",
        "DeviceClass": "deviceclasses",
    }
    return {kind: Resource(claims.group, claims.version, name) for kind, name in plurals.items()}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
