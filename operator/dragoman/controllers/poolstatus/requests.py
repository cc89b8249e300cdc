"""ResourcePoolStatusRequests, parsed, and what is done with one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.inventory.poolstatus.status import is_incomplete
from dragoman.inventory.poolstatus.views import Json
from dragoman.model.fields import Document, items, mapping, optional_text, text
from dragoman.model.metadata import Metadata
from dragoman.model.timestamps import unix

ANSWERED_TTL = 3600.0
"""Seconds for which an answer is kept, as in-tree."""
UNANSWERED_TTL = 86400.0
"""Seconds for which a request without an answer is kept, as in-tree."""
DEFAULT_LIMIT = 100


@dataclass(frozen=True, slots=True)
class PoolStatusRequest:
    """A ResourcePoolStatusRequest."""

    metadata: Metadata  # Identity
    driver: str  # `spec.driver`.
    pool: str | None  # `spec.poolName`, None for all pools of the driver.
    limit: int  # `spec.limit`.
    attribute: str | None  # `spec.defaultPartitionTypeAttribute`, or None.
    answered: float | None  # When the answer was written, as Unix time; None without an answer
    body: Document  # The object, for the update of its status; empty once it is answered

    @classmethod
    def parse(cls, document: Document) -> "PoolStatusRequest":
        """Parse a request; raise MalformedObjectError naming the field."""
        spec = mapping(document, "spec")
        limit = spec.get("limit")
        answered = None
        metadata = Metadata.parse(document)
        if document.get("status") is not None:
            conditions = items(mapping(document, "status"), "conditions", "status.")
            times = [unix(str(one.get("lastTransitionTime") or "")) for one in conditions]
            answered = max(times, default=0.0) or unix(metadata.created)
        return cls(
            metadata=metadata,
            driver=text(spec, "driver", "spec."),
            pool=optional_text(spec, "poolName", "spec."),
            limit=limit if type(limit) is int else DEFAULT_LIMIT,
            attribute=optional_text(spec, "defaultPartitionTypeAttribute", "spec."),
            answered=answered,
            body=document if answered is None else {},
        )

    def wanted(self, pools: Mapping[str, Json]) -> list[Json]:
        """Return the status of the pools that the request asks for, out of those of its driver."""
        if self.pool is None:
            return list(pools.values())
        return [pools[self.pool]] if self.pool in pools else []

    def expires(self) -> float:
        """Return the Unix time after which the request is deleted."""
        if self.answered is not None:
            return self.answered + ANSWERED_TTL
        return unix(self.metadata.created) + UNANSWERED_TTL


@dataclass(frozen=True, slots=True)
class PoolStatusAnswer:
    """The status of a request."""

    status: Json  # As it is written
    complete: bool  # Whether every returned pool has all its slices
    pools: int  # How many pools match


def answer(request: PoolStatusRequest, pools: list[Json], now: str) -> PoolStatusAnswer:
    """Return the answer to a request.

    Args:
        request: The request.
        pools: Status of all pools that match it.
        now: API timestamp of the condition.
    """
    returned = pools[: request.limit]
    condition: dict[str, Any] = {
        "type": "Complete",
        "status": "True",
        "reason": "CalculationComplete",
        "message": f"Calculated status for {len(returned)} pools",
        "lastTransitionTime": now,
    }
    status = {"poolCount": len(pools), "pools": returned, "conditions": [condition]}
    return PoolStatusAnswer(status, not any(map(is_incomplete, returned)), len(pools))
