"""The audit of what is stored: when it is made, and where its account goes.

Objects that were there before a schema, or that came while no webhook was there to look, are found
here: by number and sample in the schema's status, in metrics, and by an Event on each.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import orjson

from dragoman import metrics, surroundings
from dragoman.controllers.context import Context
from dragoman.controllers.driverconfigschemas.schemas import Schemas
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client, pages
from dragoman.kube.errors import ApiError
from dragoman.kube.events import ObjectReference
from dragoman.kube.reflector import INITIAL_EVENTS_END
from dragoman.kube.resources import Resource
from dragoman.logs import logger
from dragoman_configs.review.audit import EVENTS, Audit, SchemaAudit, ViolatingObject
from dragoman_configs.review.validation import ResultCache
from dragoman_configs.strictjson import InvalidJSONError, parse

TICK = 1.0
"""Seconds between checks whether an audit is due."""
INTERVAL = 600.0
"""Seconds between audits while no schema changes."""
SETTLING = 2.0
"""Seconds without a change of schemas before they are audited with: they come in groups."""
REMEMBERED = 10_000
"""Validation results that one pass keeps."""
REASON = "DriverConfigInvalid"

BATCH = 100
_STREAM = {
    "watch": "true",
    "sendInitialEvents": "true",
    "allowWatchBookmarks": "true",
    "resourceVersionMatch": "NotOlderThan",
    "resourceVersion": "",
    "timeoutSeconds": "600",
}

log = logger("dragoman.audit")


@dataclass
class Auditor:
    """Reviews everything that is stored."""

    context: Context  # Of the process
    schemas: Schemas  # The schemas
    stored: Mapping[str, Resource]  # The resources of claims, templates and classes by kind
    _known: tuple[Any, ...] = ()
    _changed: float = float("-inf")
    _audited: tuple[Any, ...] | None = None
    _ended: float = float("-inf")

    async def run(self) -> None:
        """Audit whenever it is due, until cancelled; only while this process leads."""
        backoff = Backoff()
        while True:
            await asyncio.sleep(TICK)
            if not self.context.leading():
                continue
            try:
                await self.audit_if_due()
            except ApiError as error:
                delay = backoff.next(error.retry_after)
                log.warning("Cannot audit", error=str(error), code=error.code, seconds=delay)
                await asyncio.sleep(delay)
            except Exception:  # a fault here must not end the claim controller
                log.exception("Cannot audit")
                await asyncio.sleep(backoff.next())

    async def audit_if_due(self) -> None:
        """Audit when schemas changed, and every ten minutes; raise ApiError to be called again."""
        now = surroundings.monotonic()
        known = tuple(
            (name, one.parsed.uid, one.parsed.generation, one.active is not None)
            for name, one in sorted(self.schemas.registry.objects.items())
        )
        if known != self._known:
            self._known, self._changed = known, now
        if self.schemas.unready() or now - self._changed < SETTLING:
            return
        if known != self._audited or now - self._ended > INTERVAL:
            await self._audit()
            self._audited, self._ended = known, surroundings.monotonic()

    async def _audit(self) -> None:
        began = surroundings.monotonic()
        cache: ResultCache = {}
        audit = Audit(self.schemas.registry, self._reported(), cache)
        if audit.schemas:
            for kind, resource in self.stored.items():
                async for batch in batches(self.context.client, resource):
                    await surroundings.in_thread(_review, audit, kind, batch)
                    if len(cache) > REMEMBERED:
                        cache.clear()
        if not self.context.leading():  # the next leader audits itself
            return
        room = EVENTS
        for name, account in sorted(audit.schemas.items()):
            room -= await self._publish(name, account, room)
        _measure(audit)
        log.info(
            "Audited",
            objects=sum(audit.checked.values()),
            violations=sum(audit.violations.values()),
            seconds=round(surroundings.monotonic() - began, 3),
        )

    async def _publish(self, name: str, account: SchemaAudit, room: int) -> int:
        """Write one schema's account; returns how many Events were sent."""
        stored = self.schemas.objects.get("", name)
        registered = self.schemas.registry.objects.get(name)
        if stored is None or registered is None or registered.active is None:
            return 0
        reported = account.to_report(room)
        status = account.status(registered.active.generation, reported, surroundings.timestamp())
        # First the status: an Event too few is better than one again at every restart.
        await self.schemas.write_status(stored, {"audit": status})
        for violating in reported:
            self.context.recorder.warn(
                self._regarding(violating),
                reason=REASON,
                action="Auditing",
                note=f"DriverConfigSchema {name}: {violating.message}",
            )
        return len(reported)

    def _regarding(self, violating: ViolatingObject) -> ObjectReference:
        version = self.stored[violating.kind].api_version
        return ObjectReference(
            version, violating.kind, violating.namespace, violating.name, violating.uid
        )

    def _reported(self) -> dict[str, list[str]]:
        found = {}
        for schema in self.schemas.objects:
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
    metrics.AUDIT_TIME.set(surroundings.unix())


async def batches(client: Client, resource: Resource) -> AsyncIterator[list[Any]]:
    """Yield all objects in batches; raise ApiError when they cannot all be read.

    Uses a streaming list (KEP-3157), which costs the API server no copy of the whole; where it
    has none, pages, in which repeated keys cannot be seen any more.
    """
    try:
        async for batch in _streamed(client, resource):
            yield batch
    except ApiError as error:
        if error.code not in {400, 422}:
            raise
        async for page in pages(client, resource.path()):
            yield [parse(orjson.dumps(item)) for item in page["items"] or ()]


async def _streamed(client: Client, resource: Resource) -> AsyncIterator[list[Any]]:
    batch: list[Any] = []
    async with aclosing(client.lines(resource.path(), _STREAM)) as lines:
        async for line in lines:
            try:
                event = parse(line)
            except InvalidJSONError:  # the webhook refuses it as a bad request
                continue
            if event["type"] == "ERROR":
                raise ApiError(0, "NoAnswer", f"list {resource.plural}: {event['object']}")
            if event["type"] == "BOOKMARK":
                if INITIAL_EVENTS_END in (event["object"]["metadata"].get("annotations") or {}):
                    yield batch
                    return
                continue
            batch.append(event["object"])
            if len(batch) >= BATCH:
                yield batch
                batch = []
    raise ApiError(0, "NoAnswer", f"list {resource.plural}: ended before it was complete")
