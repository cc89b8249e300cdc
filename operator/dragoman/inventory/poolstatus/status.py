"""Answers to ResourcePoolStatusRequests (KEP-5677), as Kubernetes 1.37 computes them.

Differences are deliberate: a device that is both allocated and tainted is subtracted once, a pool
that the allocator finds invalid says so, and only shareable devices count in the shareable view.
"""

from __future__ import annotations

from typing import Final

from dragoman.allocation.features import profile
from dragoman.inventory.pools import pools
from dragoman.inventory.pools.currentpools import CurrentPool, PoolFacts, current_pools
from dragoman.inventory.poolstatus.views import Json, view_of
from dragoman.model.device import Content
from dragoman.model.taints import DeviceTaintRule

LONGEST_ERROR: Final = 256
"""Bytes of `validationError`."""
INCOMPLETE: Final = "PoolIncomplete:"
EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
_PROFILE: Final = profile("1.37")


def pool_statuses(
    facts: PoolFacts, *, attribute: str | None = None, views: bool = True
) -> list[Json]:
    """Return the items of `status.pools`, by driver and pool.

    Args:
        facts: The wanted pools.
        attribute: `spec.defaultPartitionTypeAttribute` of the request.
        views: Whether the server knows the views of partitions and shares (1.37).
    """
    rules = tuple(facts.rules)
    return [_status(pool, rules, attribute, views=views) for pool in current_pools(facts)]


def is_incomplete(status: Json) -> bool:
    """Whether slices of a pool are missing, which its driver may still publish."""
    return str(status.get("validationError", "")).startswith(INCOMPLETE)


def _status(
    pool: CurrentPool, rules: tuple[DeviceTaintRule, ...], attribute: str | None, *, views: bool
) -> Json:
    first = pool.slices[0]
    status: Json = {
        "driver": pool.id.driver,
        "poolName": pool.id.pool,
        "generation": first.generation,
    }
    if pool.node:
        status["nodeName"] = pool.node
    if pool.missing:
        seen = f"observed {len(pool.slices)}/{first.slice_count} slices"
        text = f"{INCOMPLETE} pool {pool.where} is incomplete: {seen} at generation "
        status["validationError"] = _cut(f"{text}{first.generation}")
        return status
    status |= _counts(pool, rules)
    reason = invalid_reason(pool)
    error = f"PoolInvalid: pool {pool.where}: {reason}" if reason else ""
    if views:
        summary, shareable, problem = view_of(pool, attribute)
        error = error or problem
        if summary and not error:
            status["partitionSummary"] = summary
        if shareable is not None:
            status["shareableSummary"] = shareable
    if error:
        status["validationError"] = _cut(error)
    return status


def _counts(pool: CurrentPool, rules: tuple[DeviceTaintRule, ...]) -> Json:
    devices = pool.contents
    tainted = {
        name
        for name, _, content in devices
        if (content.taints or rules) and is_tainted(pool, name, content, rules)
    }
    # Devices that are not published any more count as allocated, as in-tree.
    free = sum(name not in pool.used and name not in tainted for name, _, _ in devices)
    return {
        "resourceSliceCount": pool.slices[0].slice_count,
        "totalDevices": len(devices),
        "allocatedDevices": len(pool.used),
        "availableDevices": free,
        "unavailableDevices": sum(name in tainted for name, _, _ in devices),
    }


def is_tainted(
    pool: CurrentPool, name: str, content: Content, rules: tuple[DeviceTaintRule, ...]
) -> bool:
    """Whether the driver or a rule keeps claims without tolerations from a device."""
    return any(one.effect in EFFECTS for one in content.taints) or any(
        rule.taint.effect in EFFECTS and rule.selects((*pool.id, name)) for rule in rules
    )


def invalid_reason(pool: CurrentPool) -> str:
    """Return why the allocator ignores a pool, in its words; empty if it does not."""
    slices = [one.content for one in pool.slices if one.content is not None]
    return pools.invalid_reason(pool.id, slices, _PROFILE)


def _cut(text: str) -> str:
    return text.encode()[:LONGEST_ERROR].decode(errors="ignore")
