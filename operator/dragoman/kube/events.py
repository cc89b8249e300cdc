"""Events for people: at most one a cause and object in two minutes, never in the way of work."""

import asyncio
import hashlib
import re
import socket
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import EVENTS
from dragoman.logs import logger

REPEAT_AFTER = 120.0
"""Seconds for which the same cause is not told again."""
DIGITS = re.compile(r"\d+")
REMEMBERED = 20_000
BACKLOG = 10_000
NOTE_LIMIT = 1024
"""Characters of a note (API: events.k8s.io/v1 Event)."""

log = logger("dragoman.events")


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class EventRecorder:
    """Posts Warning Events in the background."""

    def __init__(self, api: Client) -> None:
        self._api = api
        self._told: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        self._queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(BACKLOG)
        self._instance = socket.gethostname()

    def warn(
        self, regarding: ObjectReference, *, reason: str, action: str, note: str, subject: str = ""
    ) -> None:
        """Tell people about a fault, unless they were told lately.

        Args:
            regarding: The object.
            reason: CamelCase constant, why.
            action: CamelCase constant, what was tried.
            note: A sentence.
            subject: Which part of the object it is about; another subject is another cause.
        """
        # Numbers in a note, as of a quota's use, do not make it another cause.
        cause = (regarding.uid, reason, subject + DIGITS.sub("0", note))
        now = time.monotonic()
        told = self._told.get(cause)
        if told is not None and now - told < REPEAT_AFTER:
            return
        self._told[cause] = now
        self._told.move_to_end(cause)
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        log.warning(note, kind=regarding.kind, namespace=regarding.namespace, name=regarding.name)
        try:
            self._queue.put_nowait(_event(regarding, reason, action, note, self._instance))
        except asyncio.QueueFull:
            log.error("Dropped an Event: too many are waiting", waiting=BACKLOG)

    async def run(self) -> None:
        """Post Events until cancelled."""
        while True:
            event = await self._queue.get()
            namespace = event["metadata"]["namespace"]
            try:
                await self._api.post(EVENTS.path(namespace), event)
            except ApiError as error:
                # An Event lost is a line in the log, which is there already.
                log.debug("Event refused", code=error.code, message=str(error))


def _event(
    regarding: ObjectReference, reason: str, action: str, note: str, instance: str
) -> dict[str, Any]:
    now = datetime.now(UTC)
    identity = f"{regarding.uid}\0{reason}\0{note}\0{now.isoformat()}"
    suffix = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return {
        "apiVersion": EVENTS.api_version,
        "kind": "Event",
        "metadata": {
            "name": f"{regarding.name[:200].rstrip('.-')}.{suffix}",
            # Events about objects without a namespace live here (API: events.k8s.io/v1 Event).
            "namespace": regarding.namespace or "default",
        },
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": "Warning",
        "reason": reason,
        "action": action,
        "note": note if len(note) <= NOTE_LIMIT else note[: NOTE_LIMIT - 1] + "…",
        "regarding": {
            "apiVersion": regarding.api_version,
            "kind": regarding.kind,
            "namespace": regarding.namespace,
            "name": regarding.name,
            "uid": regarding.uid,
        },
        "reportingController": "dragoman",
        "reportingInstance": instance[:128],
    }
