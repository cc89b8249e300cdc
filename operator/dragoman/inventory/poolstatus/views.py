"""The views of a pool in its status: partitions, and shares of devices."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from dragoman.inventory.pools.counters import PoolCounters
from dragoman.inventory.pools.pools import InventoryPool
from dragoman.model.allocated import AllocatedDevice
from dragoman.model.device import Content, qualified, unambiguous
from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.quantityparser import parse_quantity

MOST_ITEMS = 32
"""Items of `partitionSummary` and of `capacity`."""
Json = dict[str, Any]
Used = Mapping[str, Sequence[AllocatedDevice]]
"""Allocated devices of a pool by name, without admin access."""
Published = list[tuple[str, str, Content]]
"""Name, own partition attribute and content of each device of a pool."""


def contents(pool: InventoryPool) -> Published:
    """Return name, own partition attribute and content of each device."""
    return [
        (device.name, one.partition_attribute, device.content)
        for one in pool.slices
        for device in one.devices
    ]


def view_of(
    pool: InventoryPool, published: Published, used: Used, attribute: str | None
) -> tuple[list[Json], Json | None, str]:
    """Return the views of partitions and of shares, and the first problem."""
    declared = any(own for _, own, _ in published)
    devices = [
        (name, own or ("" if declared else attribute or ""), content)
        for name, own, content in published
    ]
    summary: list[Json] = []
    problem = ""
    if any(own for _, own, _ in devices):
        if any(one.shared_counters for one in pool.slices):
            summary, problem = _partitions(pool, used, devices)
        else:
            problem = (
                f"PartitionTypeMissing: pool {pool.where} declares partitionTypeAttribute but "
                "publishes no sharedCounters"
            )
    shareable, excess = _shareable(pool, used, published)
    return summary, shareable, problem or excess


def _partitions(
    pool: InventoryPool, used: Used, devices: list[tuple[str, str, Content]]
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
    left = _counters(pool, used, devices)
    summary = [
        {
            "attribute": attribute,
            "type": kind,
            "total": len(members),
            "allocatable": left.most(one for name, one in members if name not in used),
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
    pool: InventoryPool, used: Used, devices: list[tuple[str, str, Content]]
) -> PoolCounters:
    left = PoolCounters(
        {
            (group.name, name): amount.nanos
            for one in pool.slices
            for group in one.shared_counters
            for name, amount in group.counters.items()
        }
    )
    for name, _, content in devices:
        if name in used:
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


def _shareable(
    pool: InventoryPool, used: Used, devices: list[tuple[str, str, Content]]
) -> tuple[Json | None, str]:
    shareable = {name: content for name, _, content in devices if content.shareable}
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
    shared = sum(name in used for name in shareable)
    driver = pool.id.driver
    taken = _taken((one for name in shareable for one in used.get(name, ())), driver)
    return {
        "fullyAvailableDevices": len(shareable) - shared,
        "partiallyAvailableDevices": shared,
        "capacity": [
            _capacity(taken[qualified(name, driver)], name, totals[name]) for name in sorted(totals)
        ],
    }, ""


def _taken(held: Iterable[AllocatedDevice], driver: str) -> Mapping[str, list[Quantity]]:
    """Return what shares consume by name with domain: claims may write either spelling."""
    found: defaultdict[str, list[Quantity]] = defaultdict(list)
    for one in held:
        for name, amount in unambiguous(dict(one.consumed or ()), driver).items():
            found[qualified(name, driver)].append(parse_quantity(amount))
    return found


def _capacity(consumed: list[Quantity], name: str, totals: list[Quantity]) -> Json:
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
