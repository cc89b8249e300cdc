"""A shape of the ResourceSlices of nodes: constant values, those of one machine, and equal ones."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dragoman.model.fields import part, parts
from dragoman_toolkit.shapes.nodes import INSTANCE_TYPE
from dragoman_toolkit.shapes.shape import API_VERSION, KIND, Document

PER_MACHINE = frozenset(
    {
        *("uuid", "parentUUID", "serial", "deviceID", "parentDeviceID", "dra.net/mac"),
        *("azure.dra.net/placementGroupId", "dra.net/ipv4", "dra.net/ipv6"),
        *(f"resource.aws.com/devicegroup{size}_id" for size in (1, 4, 8, 16)),
        *(f"networkNodeLayer{layer}" for layer in (1, 2, 3)),
        *("oke.dra.net/gpuMemoryFabricId", "oke.dra.net/hpcIslandId", "oke.dra.net/rackId"),
        *("oke.dra.net/localBlockId", "oke.dra.net/networkBlockId"),
    }
)
"""Attributes that are known to differ from machine to machine, and may name one."""
_GROUPED = "resource.aws.com/"
"""Whose attributes say which devices belong together, by equal values."""


def recorded(
    name: str, node: Document, slices: Iterable[Document], twins: Sequence[Iterable[Document]] = ()
) -> dict[str, Any]:
    """Return the shape of a node.

    Args:
        name: Of the shape; empty for that of its machine type.
        node: The Node.
        slices: Its ResourceSlices.
        twins: ResourceSlices of other nodes of the same type: what differs there is not recorded.
    """
    labels = part(node, "metadata", "labels")
    machine = str(labels.get(INSTANCE_TYPE) or name or "unknown")
    others = [_by_pool(one) for one in twins]
    shape: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name or machine},
        "provider": "own",
        "machineType": machine,
        "node": {"architecture": str(labels.get("kubernetes.io/arch") or "amd64")},
    }
    capacity = part(node, "status", "capacity")
    kept = {key: str(capacity[key]) for key in ("cpu", "memory") if key in capacity}
    if kept:
        shape["node"] |= {"capacity": kept, "capacitySource": "capacity of the recorded node"}
    shape["pools"] = [
        _pool(driver, found, [one.get((driver, number), []) for one in others])
        | ({"name": str(number)} if number > 1 else {})
        for (driver, number), found in sorted(_by_pool(slices).items())
    ]
    return shape


def _by_pool(slices: Iterable[Document]) -> dict[tuple[str, int], list[Document]]:
    """Return the specs of the newest slices of each pool, by its driver and number.

    Pools are numbered by driver in the order of their devices: their names may be of machines.
    """
    pools: defaultdict[tuple[str, str], list[Document]] = defaultdict(list)
    for one in slices:
        spec = part(one, "spec")
        pools[str(spec.get("driver")), str(part(spec, "pool").get("name"))].append(spec)
    numbers: Counter[str] = Counter()
    found: dict[tuple[str, int], list[Document]] = {}
    for place, specs in pools.items():
        newest = max(_of_pool(one, "generation") for one in specs)
        pools[place] = [one for one in specs if _of_pool(one, "generation") == newest]
    ordered = sorted(
        pools, key=lambda one: (sorted(str(d["name"]) for d in _devices(pools[one])), one)
    )
    for place in ordered:
        numbers[place[0]] += 1
        found[place[0], numbers[place[0]]] = pools[place]
    return found


def _of_pool(spec: Document, name: str) -> int:
    """Return a number of a slice's pool; 0 for what is none."""
    found = part(spec, "pool").get(name)
    return found if isinstance(found, int) else 0


def _devices(specs: Iterable[Document]) -> list[dict[str, Any]]:
    fields = ("name", "attributes", "capacity", "allowMultipleAllocations", "consumesCounters")
    return [
        {
            key: {name: part(value) for name, value in part(one, key).items()}
            if key in ("attributes", "capacity")
            else one[key]
            for key in fields
            if key in one
        }
        for spec in specs
        for one in parts(spec, "devices")
        if isinstance(one.get("name"), str)
    ]


def _pool(
    driver: str, specs: Sequence[Document], twins: Sequence[Sequence[Document]]
) -> dict[str, Any]:
    devices = sorted(_devices(specs), key=lambda one: str(one["name"]))
    differing = _differing(devices, [_devices(one) for one in twins])
    unknown: dict[str, str] = {}
    groups: dict[str, defaultdict[Any, list[str]]] = {}
    for one in devices:
        attributes = {key: value for key, value in one.get("attributes", {}).items() if value}
        for name in [key for key in attributes if _per_machine(driver, key) or key in differing]:
            kind, value = next(iter(attributes.pop(name).items()))
            unknown[name] = kind
            groups.setdefault(name, defaultdict(list))[str(value)].append(str(one["name"]))
        one["attributes"] = attributes
    common = {field: _common(devices, field) for field in ("attributes", "capacity")}
    wanted = max((_of_pool(one, "resourceSliceCount") for one in specs), default=0) or 1
    pool: dict[str, Any] = {
        "driver": driver,
        "evidence": "recorded",
        "complete": wanted == len(specs),
        "source": "recorded from a node",
    }
    if unknown:
        pool["notRecorded"] = dict(sorted(unknown.items()))
    # Each value of its own says nothing; others say which devices belong together.
    alike = [
        {"attribute": name, "groups": [*found.values()]}
        for name, found in sorted(groups.items())
        if name.startswith(_GROUPED) or 1 < len(devices) != len(found)
    ]
    if alike:
        pool["equalities"] = alike
    pool["common"] = {field: value for field, value in common.items() if value}
    pool["devices"] = [_bare(one) for one in devices]
    counters = [one for spec in specs for one in parts(spec, "sharedCounters")]
    if counters:
        pool["sharedCounters"] = counters
    return pool


def _per_machine(driver: str, name: str) -> bool:
    """Whether an attribute is known to name a machine, with the driver's own domain or without."""
    return name.removeprefix(f"{driver}/") in PER_MACHINE


def _differing(devices: Iterable[Document], twins: Iterable[Iterable[Document]]) -> frozenset[str]:
    """Return the attributes whose value on a device of one name differs between two machines."""
    own = {str(one["name"]): one.get("attributes", {}) for one in devices}
    found: set[str] = set()
    for twin in twins:
        for one in twin:
            theirs, mine = one.get("attributes", {}), own.get(str(one["name"]), {})
            found |= {key for key in mine.keys() & theirs.keys() if mine[key] != theirs[key]}
    return frozenset(found)


def _common(devices: Sequence[dict[str, Any]], field: str) -> dict[str, Any]:
    """Take what all devices have alike out of them, and return it."""
    if len(devices) < 2:
        return {}
    first = devices[0].get(field, {})
    found = {
        key: value
        for key, value in first.items()
        if all(one.get(field, {}).get(key) == value for one in devices)
    }
    for one in devices:
        one[field] = {key: value for key, value in one.get(field, {}).items() if key not in found}
    return found


def _bare(device: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in device.items() if value not in ({}, None)}
