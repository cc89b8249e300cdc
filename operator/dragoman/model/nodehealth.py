"""Nodes, as far as the end of containers on them is concerned."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Self

from dragoman.model.fields import Document, items, mapping, optional_text
from dragoman.model.metadata import Metadata

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""Taint by which an admin says that the machine is off (KEP-2268)."""


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """A Node."""

    metadata: Metadata  # Identity
    ready: bool = False  # Whether its condition `Ready` is `True`
    # Since when it is, as an API timestamp; empty where the condition has none
    ready_since: str = ""
    out_of_service: bool = False  # Whether it has the taint of that name
    # What a controller wants of it beside; None where none does
    content: object | None = field(default=None, compare=False, repr=False)

    def ready_not_before(self, seconds: float) -> Self:
        """Return the node, Ready since a time since the epoch where its own is earlier."""
        moment = datetime.fromtimestamp(seconds, UTC).isoformat()
        own = self.ready_since and datetime.fromisoformat(self.ready_since).timestamp()
        later = self.ready and (not own or own < seconds)
        return replace(self, ready_since=moment) if later else self

    @classmethod
    def parse(cls, body: Document) -> Self:
        """Parse a Node; raise MalformedObjectError naming the field."""
        status, spec = mapping(body, "status"), mapping(body, "spec")
        since = next(_ready(status), None)
        taints = items(spec, "taints", "spec.")
        return cls(
            metadata=Metadata.parse(body),
            ready=since is not None,
            ready_since=since or "",
            out_of_service=any(taint.get("key") == OUT_OF_SERVICE for taint in taints),
        )


def _ready(status: Document) -> Iterator[str]:
    for condition in items(status, "conditions", "status."):
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            within = "status.conditions[]."
            yield optional_text(condition, "lastTransitionTime", within) or ""
