"""Answers to ResourcePoolStatusRequests (KEP-5677), as Kubernetes 1.38 computes them.

Differences are deliberate: a device that is both allocated and tainted is subtracted once, a pool
that the allocator finds invalid says so, only shareable devices count in the shareable view, and
of a capacity that claims consume under both of its names, all counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dragoman.allocation.features import profile
from dragoman.inventory.pools.pools import InventoryPool, invalid_reason, pools
from dragoman.inventory.poolstatus.views import Json, Published, Used, contents, view_of
from dragoman.model.allocated import AllocatedDevice
from dragoman.model.device import Content
from dragoman.model.deviceid import PoolID
from dragoman.model.slice import Slice
from dragoman.model.taints import DeviceTaintRule

LONGEST_ERROR = 256
"""Bytes of `validationError`."""
INCOMPLETE = "PoolIncomplete:"
EFFECTS = frozenset({"NoSchedule", "NoExecute"})
_PROFILE = profile("1.37")


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What the status of pools is computed from."""

    slices: Iterable[Slice]  # Of all pools that are wanted
    devices: Iterable[AllocatedDevice] = ()  # Allocated devices of all claims
    rules: Iterable[DeviceTaintRule] = ()  # DeviceTaintRules


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
    found = pools(facts.slices, _PROFILE)
    used = _used(found, facts.devices)
    return [_status(pool, used[pool.id], rules, attribute, views=views) for pool in found]


def is_incomplete(status: Json) -> bool:
    """Whether slices of a pool are missing, which its driver may still publish."""
    return str(status.get("validationError", "")).startswith(INCOMPLETE)


def _used(
    found: Iterable[InventoryPool], devices: Iterable[AllocatedDevice]
) -> Mapping[PoolID, Used]:
    """Return the allocated devices of each pool by name, without admin access."""
    used: dict[PoolID, defaultdict[str, list[AllocatedDevice]]] = {
        pool.id: defaultdict(list) for pool in found
    }
    for device in devices:
        held = used.get(device.id.pool_id)
        if held is not None and not device.admin:
            held[device.id.device].append(device)
    return used


def _status(
    pool: InventoryPool,
    used: Used,
    rules: tuple[DeviceTaintRule, ...],
    attribute: str | None,
    *,
    views: bool,
) -> Json:
    status: Json = {
        "driver": pool.id.driver,
        "poolName": pool.id.pool,
        "generation": pool.generation,
    }
    if pool.node:
        status["nodeName"] = pool.node
    if len(pool.slices) < pool.wanted:
        seen = f"observed {len(pool.slices)}/{pool.wanted} slices"
        text = f"{INCOMPLETE} pool {pool.where} is incomplete: {seen} at generation "
        status["validationError"] = _cut(f"{text}{pool.generation}")
        return status
    devices = contents(pool)
    status |= _counts(pool, devices, used, rules)
    # Of more slices than wanted, the allocator waits for others; in-tree they are counted.
    surplus = len(pool.slices) > pool.wanted
    reason = invalid_reason(pool.id, pool.slices, _PROFILE) if surplus else pool.reason
    error = f"PoolInvalid: pool {pool.where}: {reason}" if reason else ""
    if views:
        summary, shareable, problem = view_of(pool, devices, used, attribute)
        error = error or problem
        if summary and not error:
            status["partitionSummary"] = summary
        if shareable is not None:
            status["shareableSummary"] = shareable
    if error:
        status["validationError"] = _cut(error)
    return status


def _counts(
    pool: InventoryPool, devices: Published, used: Used, rules: tuple[DeviceTaintRule, ...]
) -> Json:
    tainted = {
        name
        for name, _, content in devices
        if (content.taints or rules) and _is_tainted(pool, name, content, rules)
    }
    # Devices that are not published any more count as allocated, as in-tree.
    free = sum(name not in used and name not in tainted for name, _, _ in devices)
    return {
        "resourceSliceCount": pool.wanted,
        "totalDevices": len(devices),
        "allocatedDevices": len(used),
        "availableDevices": free,
        "unavailableDevices": sum(name in tainted for name, _, _ in devices),
    }


def _is_tainted(
    pool: InventoryPool, name: str, content: Content, rules: tuple[DeviceTaintRule, ...]
) -> bool:
    """Whether the driver or a rule keeps claims without tolerations from a device."""
    return any(one.effect in EFFECTS for one in content.taints) or any(
        rule.taint.effect in EFFECTS and rule.selects((*pool.id, name)) for rule in rules
    )


def _cut(text: str) -> str:
    return text.encode()[:LONGEST_ERROR].decode(errors="ignore")
