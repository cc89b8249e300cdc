"""Departures: pods that left the API, and how; their record in an annotation of a claim."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
    left: float  # When it left, or was first missed; seconds since the epoch

    def is_about(self, other: "Departure") -> bool:
        """Whether two departures are about the same event: replicas see it at different times."""
        same = (self.uid, self.node, self.node_uid, self.grace)
        if same != (other.uid, other.node, other.node_uid, other.grace):
            return False
        return abs(self.left - other.left) < SAME_EVENT

    def waits(self, namespace: str) -> str:
        """Say what a claim waits for, as in `waits for node-4 to end ml/trainer-0`."""
        return f"waits for {self.node or 'an unknown node'} to end {namespace}/{self.pod}"

    def document(self) -> dict[str, Any]:
        """Return its item of the record."""
        return {
            "uid": self.uid,
            "pod": self.pod,
            "node": self.node,
            "nodeUID": self.node_uid,
            "graceSeconds": self.grace,
            "left": timestamp(self.left),
        }


SAME_EVENT = 30.0
"""Seconds between the first looks of two replicas at one departure, at most."""


def record(departures: Iterable[Departure]) -> str:
    """Return the annotation that records departures."""
    return json.dumps([one.document() for one in departures], separators=(",", ":"))


def recorded(text: str) -> Mapping[str, Departure]:
    """Return the departures of an annotation by UID of the pod.

    Users of the namespace can write it: items that are malformed are left out.
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
    texts = [item.get(key) for key in ("uid", "pod", "node", "left")]
    if not all(isinstance(text, str) for text in texts):
        return None
    uid, pod, node, moment = map(str, texts)
    left, grace, node_uid = epoch(moment), item.get("graceSeconds"), item.get("nodeUID")
    if not isinstance(grace, int | float) or isinstance(grace, bool):
        return None
    if not uid or left is None or not 0 <= grace < float("inf"):
        return None
    if node and not _NODE_NAME.fullmatch(node):
        return None
    node_uid = node_uid if isinstance(node_uid, str) else ""
    return Departure(uid, pod, node, node_uid, float(grace), left)
