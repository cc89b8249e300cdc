"""An event recorder: warnings at most once per cause and object in two minutes, notes always."""

import asyncio
import hashlib
import re
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dragoman import metrics, surroundings
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
TRIES = 12
"""How often an Event is posted that the API server did not take: for about four minutes."""
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
"""Seconds before the first retry, doubled with each further one up to the longest."""
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


@dataclass(frozen=True, slots=True)
class _Event:
    """An Event that waits to be posted, under the first of its names that is free."""

    namespace: str  # Where it is posted
    names: tuple[str, ...]  # The names that it may have
    fields: dict[str, Any]  # Everything but the metadata
    tries: int = 0  # How often the API server did not take it
    # Names that it may have, because a request had no answer
    doubtful: frozenset[str] = frozenset()

    def manifest(self, name: str) -> dict[str, Any]:
        return {**self.fields, "metadata": {"name": name, "namespace": self.namespace}}


class EventRecorder:
    """Posts Events in the background; namespaces take turns.

    An Event that finds the API server away is posted again: what it says may never be said again.

    Args:
        client: Where Events are posted.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reported: Recent[int, float] = Recent(CAUSES_LIMIT)  # By hash: notes hold 30 MiB
        self._waiting: OrderedDict[str, deque[_Event]] = OrderedDict()
        self._count = 0
        self._delayed: set[asyncio.TimerHandle] = set()
        self._added = asyncio.Event()
        self._instance = surroundings.current().host()

    def warn(  # noqa: PLR0913 — the fields of an Event
        self,
        regarding: ObjectReference,
        *,
        reason: str,
        action: str,
        note: str,
        subject: str = "",
        identities: Sequence[str] = ("",),
    ) -> None:
        """Report a fault to users, unless its cause was reported lately.

        Args:
            regarding: The object.
            reason: CamelCase constant, why.
            action: CamelCase constant, what was attempted.
            note: A sentence.
            subject: Which part of the object it concerns; another subject is another cause.
            identities: Each makes one name of the Event, an empty one a new name. The Event is
                posted under the first that the API server does not have for this object and reason.
        """
        # Numbers in a note, as a quota's usage, do not make it another cause.
        cause = hash((regarding.uid, reason, subject + DIGITS.sub("0", note)))
        now = surroundings.monotonic()
        if now - self._reported.get(cause, float("-inf")) < REPEAT_AFTER:
            return
        log.warning(note, kind=regarding.kind, namespace=regarding.namespace, name=regarding.name)
        event = _event(regarding, "Warning", (reason, action, note), self._instance, identities)
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
            await self._post(self._take())

    async def _post(self, event: _Event) -> None:
        for name in event.names:
            try:
                await self._client.post(EVENTS.path(event.namespace), event.manifest(name))
            except ApiError as error:
                # The log has the sentence already.
                log.debug("Cannot post an Event", code=error.code, error=str(error))
                if error.reason == "AlreadyExists" and name not in event.doubtful:
                    continue
                if error.code in {0, 429} or error.code >= 500:
                    self._post_later(event, name, error.retry_after or 0.0)
            return

    def _post_later(self, event: _Event, name: str, shortest: float) -> None:
        if event.tries + 1 >= TRIES or self._count + len(self._delayed) >= BACKLOG:
            metrics.EVENTS_DROPPED.inc()
            return
        doubtful = event.doubtful | {name}
        again = replace(event, tries=event.tries + 1, doubtful=doubtful)
        delay = max(shortest, min(LONGEST_DELAY, FIRST_DELAY * 2.0**event.tries))

        def due() -> None:
            self._delayed.discard(handle)
            if not self._put(again):
                metrics.EVENTS_DROPPED.inc()

        handle = asyncio.get_running_loop().call_later(delay, due)
        self._delayed.add(handle)

    def _put(self, event: _Event) -> bool:
        namespace = event.namespace
        waiting = self._waiting.setdefault(namespace, deque())
        if self._count + len(self._delayed) >= BACKLOG or len(waiting) >= NAMESPACE_BACKLOG:
            if not waiting:
                del self._waiting[namespace]
            return False
        waiting.append(event)
        self._count += 1
        self._added.set()
        return True

    def _take(self) -> _Event:
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
    identities: Sequence[str] = ("",),
) -> _Event:
    reason, action, note = content
    now = surroundings.now()
    new = f"{note}{now.isoformat()}"
    names = tuple(_name(regarding, f"{reason}\0{identity or new}") for identity in identities)
    fields = {
        "apiVersion": EVENTS.api_version,
        "kind": "Event",
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
    # Events about objects without a namespace live here (API: events.k8s.io/v1 Event).
    return _Event(regarding.namespace or "default", names, fields)


def _name(regarding: ObjectReference, identity: str) -> str:
    suffix = hashlib.sha256(f"{regarding.uid}\0{identity}".encode()).hexdigest()[:16]
    return f"{regarding.name[:200].rstrip('.-')}.{suffix}"


def _limited(note: str) -> str:
    """Cut a note at the API's limit, between two characters."""
    encoded = note.encode()
    if len(encoded) <= NOTE_LIMIT:
        return note
    return encoded[: NOTE_LIMIT - len("…".encode())].decode(errors="ignore") + "…"
