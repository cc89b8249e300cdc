"""An event recorder: warnings at most once per cause and object in two minutes, notes always."""

import asyncio
import hashlib
import re
import socket
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dragoman import metrics
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.recent import Recent
from dragoman.kube.resources import EVENTS
from dragoman.logs import logger

REPEAT_AFTER = 120.0
"""Seconds for which the same cause is not reported again."""
DIGITS = re.compile(r"\d+")
CAUSES_LIMIT = 20_000
"""How many causes are remembered."""
BACKLOG = 10_000
"""How many Events wait to be posted."""
NAMESPACE_BACKLOG = 1_000
"""How many of them may be of one namespace."""
NOTE_LIMIT = 1024
"""Bytes of a note (API: events.k8s.io/v1 Event)."""

log = logger("dragoman.events")


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an Event regards."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class EventRecorder:
    """Posts Events in the background; namespaces take turns.

    Args:
        client: Where Events are posted.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reported: Recent[tuple[str, str, str], float] = Recent(CAUSES_LIMIT)
        self._waiting: OrderedDict[str, deque[dict[str, Any]]] = OrderedDict()
        self._count = 0
        self._added = asyncio.Event()
        self._instance = socket.gethostname()

    def warn(  # noqa: PLR0913 — the fields of an Event
        self,
        regarding: ObjectReference,
        *,
        reason: str,
        action: str,
        note: str,
        subject: str = "",
        identity: str = "",
    ) -> None:
        """Report a fault to users, unless its cause was reported lately.

        Args:
            regarding: The object.
            reason: CamelCase constant, why.
            action: CamelCase constant, what was attempted.
            note: A sentence.
            subject: Which part of the object it concerns; another subject is another cause.
            identity: Names the Event: the API server keeps one of this object, reason and identity.
        """
        # Numbers in a note, as a quota's usage, do not make it another cause.
        cause = (regarding.uid, reason, subject + DIGITS.sub("0", note))
        now = time.monotonic()
        if now - self._reported.get(cause, float("-inf")) < REPEAT_AFTER:
            return
        log.warning(note, kind=regarding.kind, namespace=regarding.namespace, name=regarding.name)
        event = _event(regarding, "Warning", (reason, action, note), self._instance, identity)
        if not self._put(event):
            # Not remembered: the next occurrence is reported when there is room.
            metrics.EVENTS_DROPPED.inc()
            return
        self._reported[cause] = now

    def post(self, regarding: ObjectReference, *, reason: str, action: str, note: str) -> None:
        """Post a Normal Event, each time.

        Args:
            regarding: The object.
            reason: CamelCase constant, why.
            action: CamelCase constant, what is done.
            note: A sentence.
        """
        if not self._put(_event(regarding, "Normal", (reason, action, note), self._instance)):
            metrics.EVENTS_DROPPED.inc()

    async def run(self) -> None:
        """Post Events until cancelled."""
        while True:
            while not self._count:
                self._added.clear()
                await self._added.wait()
            event = self._take()
            try:
                await self._client.post(EVENTS.path(event["metadata"]["namespace"]), event)
            except ApiError as error:
                # The log has the sentence already.
                log.debug("Cannot post an Event", code=error.code, error=str(error))

    def _put(self, event: dict[str, Any]) -> bool:
        namespace = event["metadata"]["namespace"]
        waiting = self._waiting.setdefault(namespace, deque())
        if self._count >= BACKLOG or len(waiting) >= NAMESPACE_BACKLOG:
            if not waiting:
                del self._waiting[namespace]
            return False
        waiting.append(event)
        self._count += 1
        self._added.set()
        return True

    def _take(self) -> dict[str, Any]:
        namespace, waiting = next(iter(self._waiting.items()))
        event = waiting.popleft()
        self._count -= 1
        if waiting:
            self._waiting.move_to_end(namespace)
        else:
            del self._waiting[namespace]
        return event


def _event(
    regarding: ObjectReference,
    kind: str,
    content: tuple[str, str, str],
    instance: str,
    identity: str = "",
) -> dict[str, Any]:
    reason, action, note = content
    now = datetime.now(UTC)
    unique = f"{regarding.uid}\0{reason}\0{identity or f'{note}{now.isoformat()}'}"
    suffix = hashlib.sha256(unique.encode()).hexdigest()[:16]
    return {
        "apiVersion": EVENTS.api_version,
        "kind": "Event",
        "metadata": {
            "name": f"{regarding.name[:200].rstrip('.-')}.{suffix}",
            # Events about objects without a namespace live here (API: events.k8s.io/v1 Event).
            "namespace": regarding.namespace or "default",
        },
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": kind,
        "reason": reason,
        "action": action,
        "note": _limited(note),
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


def _limited(note: str) -> str:
    """Cut a note at the API's limit, between two characters."""
    encoded = note.encode()
    if len(encoded) <= NOTE_LIMIT:
        return note
    return encoded[: NOTE_LIMIT - len("…".encode())].decode(errors="ignore") + "…"
