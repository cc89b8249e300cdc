"""The audit of what is stored: when it is made, and where its account goes.

Objects that were there before a schema, or that came while no webhook was there to look, are found
here: by number and sample in the schema's status, in metrics, and by an Event on each.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dragoman import metrics
from dragoman.controllers.driverconfigschemas.inventory import batches
from dragoman.controllers.driverconfigschemas.schemas import SchemaKeeper
from dragoman.driverconfigs.audit import EVENTS, Audit, Offender, Tally
from dragoman.driverconfigs.validation import Memory
from dragoman.kube.client import Client, Resource
from dragoman.kube.events import EventRecorder, ObjectReference
from dragoman.logs import logger

INTERVAL = 600.0
SETTLING = 2.0
"""Seconds without a change of schemas before they are audited with: they come in groups."""
REMEMBERED = 10_000
"""Judgements that one pass keeps."""
REASON = "DriverConfigInvalid"

log = logger("dragoman.audit")


class Auditor:
    """Reviews everything that is stored.

    Args:
        api: Where it is stored.
        keeper: The schemas.
        stored: The resources of claims, templates and classes by kind.
        leading: Whether this process may write now.

    Attributes:
        recorder: Posts the Events; somebody else runs it.
    """

    def __init__(
        self,
        api: Client,
        keeper: SchemaKeeper,
        stored: Mapping[str, Resource],
        leading: Callable[[], bool],
    ) -> None:
        self._api = api
        self._keeper = keeper
        self._stored = stored
        self._leading = leading
        self.recorder = EventRecorder(api)
        self._known: tuple[Any, ...] = ()
        self._changed = float("-inf")
        self._audited: tuple[Any, ...] | None = None
        self._ended = float("-inf")

    async def audit_if_due(self) -> None:
        """Audit when schemas changed, and every ten minutes; raise ApiError to be called again."""
        now = time.monotonic()
        known = tuple(
            (name, one.parsed.uid, one.parsed.generation, one.force is not None)
            for name, one in sorted(self._keeper.registry.objects.items())
        )
        if known != self._known:
            self._known, self._changed = known, now
        if self._keeper.unready() or now - self._changed < SETTLING:
            return
        if known != self._audited or now - self._ended > INTERVAL:
            await self._audit()
            self._audited, self._ended = known, time.monotonic()

    async def _audit(self) -> None:
        began = time.monotonic()
        memory: Memory = {}
        audit = Audit(self._keeper.registry, self._reported(), memory)
        if audit.tallies:
            for kind, resource in self._stored.items():
                async for batch in batches(self._api, resource):
                    await asyncio.to_thread(_review, audit, kind, batch)
                    if len(memory) > REMEMBERED:
                        memory.clear()
        if not self._leading():  # the next leader audits itself
            return
        room = EVENTS
        for name, tally in sorted(audit.tallies.items()):
            room -= await self._publish(name, tally, room)
        _measure(audit)
        log.info(
            "Audited",
            objects=sum(audit.checked.values()),
            violations=sum(audit.violations.values()),
            seconds=round(time.monotonic() - began, 3),
        )

    async def _publish(self, name: str, tally: Tally, room: int) -> int:
        """Write one schema's account; returns how many Events were sent."""
        stored = self._keeper.objects.get("", name)
        installed = self._keeper.registry.objects.get(name)
        if stored is None or installed is None or installed.force is None:
            return 0
        told = tally.told(room)
        account = tally.status(installed.force.generation, told, _now())
        # First the status: an Event too few is better than one again at every restart.
        await self._keeper.write_status(name, stored.metadata.uid, {"audit": account})
        for offender in told:
            self.recorder.warn(
                self._regarding(offender),
                reason=REASON,
                action="Auditing",
                note=f"DriverConfigSchema {name}: {offender.message}",
            )
        return len(told)

    def _regarding(self, offender: Offender) -> ObjectReference:
        version = self._stored[offender.kind].api_version
        return ObjectReference(
            version, offender.kind, offender.namespace, offender.name, offender.uid
        )

    def _reported(self) -> dict[str, list[str]]:
        found = {}
        for schema in self._keeper.objects:
            account = (schema.document.get("status") or {}).get("audit") or {}
            found[schema.metadata.name] = account.get("reported") or []
        return found


def _review(audit: Audit, kind: str, batch: Sequence[Any]) -> None:
    for document in batch:
        audit.add(kind, document)


def _measure(audit: Audit) -> None:
    for gauge, counts in (
        (metrics.AUDIT_CHECKED, audit.checked),
        (metrics.AUDIT_VIOLATIONS, audit.violations),
    ):
        gauge.clear()
        for (driver, kind), count in counts.items():
            gauge.labels(driver, kind).set(count)
    metrics.AUDIT_TIME.set(time.time())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
