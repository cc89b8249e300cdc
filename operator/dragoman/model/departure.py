"""Departures: pods that left the API, and how; their record in an annotation of a claim.

The record also has pods that run, with grace periods that are longer than assumed ones.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from dragoman.model.claim import RESERVED_FOR_LIMIT

_NODE_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
"""About a DNS subdomain (RFC 1123), as names of nodes are: it becomes part of a URL path."""
_LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
RECORD_LIMIT = 256 * 1024
"""Characters of a record that are read: the API's limit of all annotations of an object."""


@dataclass(frozen=True, slots=True)
class Departure:
    """A pod that left the API."""

    uid: str  # Of the pod
    pod: str  # Its name
    node: str  # Its node; empty where that is not known
    node_uid: str  # UID of the Node as it was first read after that; empty where it was not yet
    grace: float  # Seconds that its containers have to end
    # When it left, or was first missed; seconds since the epoch, 0 while it runs
    left: float
    asked: float = 0.0  # Seconds that the pod says, where `grace` is a limit; 0 elsewhere
    # When the record says that it left, for people alone; 0 where it says nothing earlier
    told: float = 0.0

    @property
    def since(self) -> float:
        """When it left, for people."""
        return self.told or self.left

    def is_about(self, other: "Departure") -> bool:
        """Whether two departures are about the same event: replicas see it at different times."""
        same = (self.uid, self.node, self.grace, self.asked)
        if same != (other.uid, other.node, other.grace, other.asked):
            return False
        return abs(self.since - other.since) < SAME_EVENT

    def within(self, limit: float) -> "Departure":
        """Return it with a grace period of at most so many seconds."""
        if self.grace <= limit:
            return self
        return replace(self, grace=limit, asked=max(self.asked, self.grace))

    def waits(self, namespace: str) -> str:
        """Say what a claim waits for, as in `waits for node-4 to end ml/trainer-0`."""
        return f"waits for {self.node or 'an unknown node'} to end {namespace}/{self.pod}"

    def document(self) -> dict[str, Any]:
        """Return its item of the record."""
        return {
            "uid": self.uid,
            "pod": self.pod,
            "node": self.node,
            "graceSeconds": self.grace,
            **({"askedSeconds": self.asked} if self.asked else {}),
            **({"left": timestamp(self.since)} if self.since else {}),
        }


SAME_EVENT = 30.0
"""Seconds between the first looks of two replicas at one departure, at most."""


def record(departures: Iterable[Departure]) -> str:
    """Return the annotation that records departures."""
    return json.dumps([one.document() for one in departures], separators=(",", ":"))


def recorded(text: str) -> Mapping[str, Departure]:
    """Return the departures of an annotation by UID of the pod; see `noted`."""
    return {uid: one for uid, one in noted(text).items() if one.left}


def noted(text: str) -> Mapping[str, Departure]:
    """Return what an annotation says of pods that left, and of pods that run, by their UID.

    Users of the namespace may be able to write it: items that are malformed are left out.
    """
    if not text or len(text) > RECORD_LIMIT:
        return {}
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(items, list):
        return {}
    parsed = (_parse(item) for item in items[:RESERVED_FOR_LIMIT])
    return {one.uid: one for one in parsed if one is not None}


def timestamp(seconds: float) -> str:
    """Return a time since the epoch as the API writes times, with milliseconds; at most 9999."""
    # A grace period may be of any length.
    moment = datetime.fromtimestamp(min(seconds, _LATEST), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def epoch(text: str) -> float | None:
    """Return an API timestamp in seconds since the epoch; None where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


def _parse(item: Any) -> Departure | None:
    if not isinstance(item, dict):
        return None
    texts = [item.get(key) for key in ("uid", "pod", "node")]
    if not all(isinstance(text, str) for text in texts):
        return None
    uid, pod, node = map(str, texts)
    left = epoch(str(item["left"])) if "left" in item else 0.0
    grace, asked = _seconds(item, "graceSeconds"), _seconds(item, "askedSeconds", 0.0)
    if not uid or left is None or grace is None or asked is None:
        return None
    if node and not _NODE_NAME.fullmatch(node):
        return None
    return Departure(uid, pod, node, "", grace, left, asked)


def _seconds(item: Mapping[str, Any], key: str, absent: float | None = None) -> float | None:
    found = item.get(key, absent)
    if not isinstance(found, int | float) or isinstance(found, bool):
        return None
    return float(found) if 0 <= found < float("inf") else None
