"""Answers to ResourcePoolStatusRequests (KEP-5677), as Kubernetes 1.37 computes them.

Differences are deliberate: a device that is both allocated and tainted is subtracted once, a pool
that the allocator finds invalid says so, and only shareable devices count in the shareable view.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

from dragoman.allocation.facts.objects import Content, DeviceTaintRule, PoolID, Slice
from dragoman.allocation.features import profile
from dragoman.allocation.pools.assembly import assemble
from dragoman.cel.values.quantity import Quantity
from dragoman.cel.values.quantityparser import parse_quantity
from dragoman.inventory.counters import Counters
from dragoman.inventory.stored import StoredSlice
from dragoman.model.allocated import AllocatedDevice

LONGEST_ERROR: Final = 256
"""Bytes of `validationError`."""
MOST_ITEMS: Final = 32
"""Items of `partitionSummary` and of `capacity`."""
INCOMPLETE: Final = "PoolIncomplete:"
EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
_PROFILE: Final = profile("1.37")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What the status of pools is computed from.

    Attributes:
        slices: ResourceSlices with content, of all pools that are wanted.
        devices: Allocated devices of all claims.
        rules: DeviceTaintRules.
    """

    slices: Iterable[StoredSlice]
    devices: Iterable[AllocatedDevice] = ()
    rules: Iterable[DeviceTaintRule] = ()


@dataclass(frozen=True, slots=True)
class CurrentPool:
    """A pool in its highest generation.

    Attributes:
        id: Driver and pool.
        slices: Those of that generation, by name.
        used: Allocated devices by name, without admin access.
    """

    id: PoolID
    slices: tuple[StoredSlice, ...]
    used: Mapping[str, tuple[AllocatedDevice, ...]] = field(default_factory=dict)

    @property
    def contents(self) -> list[tuple[str, str, Content]]:
        """Name, own partition attribute and content of each device."""
        return [
            (device.name, one.partition_attribute, device.content)
            for one in self.slices
            if one.content is not None
            for device in one.content.devices
        ]

    @property
    def node(self) -> str:
        """The node that all slices belong to; empty where they have none or differ."""
        nodes = {one.content.node_name or "" for one in self.slices if one.content is not None}
        return nodes.pop() if len(nodes) == 1 else ""

    @property
    def missing(self) -> bool:
        """Whether slices are missing."""
        return len(self.slices) < self.slices[0].slice_count

    @property
    def where(self) -> str:
        """`driver/pool`, for messages."""
        return f"{self.id.driver}/{self.id.pool}"


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


def current_pools(facts: PoolFacts) -> list[CurrentPool]:
    """Return the wanted pools, by driver and pool."""
    grouped: defaultdict[PoolID, list[StoredSlice]] = defaultdict(list)
    for one in facts.slices:
        grouped[one.pool_id].append(one)
    used: dict[PoolID, defaultdict[str, list[AllocatedDevice]]] = {
        key: defaultdict(list) for key in grouped
    }
    for device in facts.devices:
        held = used.get(PoolID(device.driver, device.pool))
        if held is not None and not device.admin:
            held[device.device].append(device)
    found = []
    for key in sorted(grouped):
        newest = max(one.generation for one in grouped[key])
        current = [one for one in grouped[key] if one.generation == newest]
        current.sort(key=lambda one: one.metadata.name)
        held = used[key]
        found.append(CurrentPool(key, tuple(current), {name: tuple(held[name]) for name in held}))
    return found


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
        summary, shareable, problem = _views(pool, attribute)
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
        rule.taint.effect in EFFECTS
        and rule.has_selector
        and rule.driver in (None, pool.id.driver)
        and rule.pool in (None, pool.id.pool)
        and rule.device in (None, name)
        for rule in rules
    )


def invalid_reason(pool: CurrentPool) -> str:
    """Return why the allocator ignores a pool, in its words; empty if it does not."""
    slices = [one.content for one in pool.slices if one.content is not None]
    for node in sorted({one.node_name or "" for one in slices}):
        seen = [one for one in slices if (one.node_name or "") in {"", node}]
        built = assemble(pool.id, seen, slices, _PROFILE)
        if built is not None and built.invalid:
            return built.invalid
    return ""


# Views ------------------------------------------------------------------------------------------


def _views(pool: CurrentPool, attribute: str | None) -> tuple[list[Json], Json | None, str]:
    """Return the views of partitions and of shares, and the first problem."""
    declared = any(own for _, own, _ in pool.contents)
    devices = [
        (name, own or ("" if declared else attribute or ""), content)
        for name, own, content in pool.contents
    ]
    summary: list[Json] = []
    problem = ""
    if any(own for _, own, _ in devices):
        slices = [one.content for one in pool.slices if one.content is not None]
        if any(one.shared_counters for one in slices):
            summary, problem = _partitions(pool, devices, slices)
        else:
            problem = (
                f"PartitionTypeMissing: pool {pool.where} declares partitionTypeAttribute but "
                "publishes no sharedCounters"
            )
    shareable, excess = _shareable(pool)
    return summary, shareable, problem or excess


def _partitions(
    pool: CurrentPool, devices: list[tuple[str, str, Content]], slices: list[Slice]
) -> tuple[list[Json], str]:
    groups: dict[tuple[str, str], list[tuple[str, Content]]] = {}
    for name, attribute, content in devices:
        if not content.consumes or not attribute:
            continue
        kind = _partition_type(pool.id.driver, content, attribute)
        if kind is None:
            where = f'device "{name}" in pool {pool.where}'
            return [], (
                f"PartitionTypeMissing: {where} does not carry partition type attribute "
                f'"{attribute}"'
            )
        members = groups.setdefault((attribute, kind), [])
        members.append((name, content))
        if _cost(content) != _cost(members[0][1]):
            return [], (
                f'PartitionCostMismatch: devices of partition type "{kind}" in pool '
                f"{pool.where} consume different counters"
            )
    left = _counters(pool, devices, slices)
    summary = [
        {
            "attribute": attribute,
            "type": kind,
            "total": len(members),
            "allocatable": left.most(one for name, one in members if name not in pool.used),
        }
        for (attribute, kind), members in sorted(groups.items())
    ]
    if len(summary) > MOST_ITEMS:
        return [], (
            f"PartitionSummaryOverCap: pool {pool.where} has {len(summary)} partition types, "
            f"exceeding the maximum of {MOST_ITEMS}"
        )
    return summary, ""


def _counters(
    pool: CurrentPool, devices: list[tuple[str, str, Content]], slices: list[Slice]
) -> Counters:
    left = Counters(
        {
            (group.name, name): amount.nanos
            for one in slices
            for group in one.shared_counters
            for name, amount in group.counters.items()
        }
    )
    for name, _, content in devices:
        if name in pool.used:
            left.deduct(content)
    return left


def _partition_type(driver: str, content: Content, attribute: str) -> str | None:
    """Return the value of an attribute, whose domain is the driver's where it has none."""
    found = content.attributes.get(attribute)
    if found is None and attribute.startswith(f"{driver}/"):
        found = content.attributes.get(attribute.removeprefix(f"{driver}/"))
    value = None if found is None else found.get("string")
    return value if isinstance(value, str) else None


def _cost(content: Content) -> frozenset[tuple[str, str, int]]:
    return frozenset(
        (one.counter_set, name, amount.nanos)
        for one in content.consumes
        for name, amount in one.counters.items()
    )


def _shareable(pool: CurrentPool) -> tuple[Json | None, str]:
    shareable = {name: content for name, _, content in pool.contents if content.shareable}
    if not shareable:
        return None, ""
    totals: defaultdict[str, list[Quantity]] = defaultdict(list)
    for content in shareable.values():
        for name, capacity in content.capacity.items():
            totals[name].append(parse_quantity(str(capacity.value)))
    if len(totals) > MOST_ITEMS:
        return None, (
            f"ShareableSummaryOverCap: pool {pool.where} has {len(totals)} shareable capacity "
            f"keys, exceeding the maximum of {MOST_ITEMS}"
        )
    used = sum(name in pool.used for name in shareable)
    return {
        "fullyAvailableDevices": len(shareable) - used,
        "partiallyAvailableDevices": used,
        "capacity": [_capacity(pool, shareable, name, totals[name]) for name in sorted(totals)],
    }, ""


def _capacity(
    pool: CurrentPool, shareable: Mapping[str, Content], name: str, totals: list[Quantity]
) -> Json:
    consumed = [
        parse_quantity(amount)
        for device, held in pool.used.items()
        if device in shareable
        for one in held
        for key, amount in one.consumed
        if key == name
    ]
    total = reduce(Quantity.add, totals)
    taken = reduce(Quantity.add, consumed) if consumed else parse_quantity("0")
    available = total.sub(taken)
    if available.sign() < 0:
        available = parse_quantity("0")
    return {
        "name": name,
        "total": str(total),
        "consumed": str(taken),
        "available": str(available),
    }


def _cut(text: str) -> str:
    return text.encode()[:LONGEST_ERROR].decode(errors="ignore")
