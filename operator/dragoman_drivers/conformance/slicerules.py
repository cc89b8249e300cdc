"""Rules about published ResourceSlices. Pure: each returns a problem, or the empty text.

Those that `kubectl dra doctor` has as well are functions of `dragoman.inventory.pools.published`.

What the API server refuses by itself is not repeated; see `docs/checks.md` for what it accepts.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from dragoman.allocation import parse_slice, profile
from dragoman.inventory.pools import published
from dragoman.inventory.pools.pools import InventoryPool, pools
from dragoman_base.words.dns import SUBDOMAIN

Json = Mapping[str, Any]
EFFECTS = ("None", "NoSchedule", "NoExecute")
MAX_NAME = 63
SKEW = timedelta(minutes=5)


def newest(slices: Sequence[Json]) -> list[Json]:
    """Return the slices of each pool's newest generation."""
    tops: dict[str, int] = {}
    for one in slices:
        pool = one["spec"]["pool"]
        tops[pool["name"]] = max(tops.get(pool["name"], 0), pool["generation"])
    return [
        one
        for one in slices
        if one["spec"]["pool"]["generation"] == tops[one["spec"]["pool"]["name"]]
    ]


def devices(slices: Iterable[Json]) -> Iterator[Json]:
    """Yield the devices of slices."""
    for one in slices:
        yield from one["spec"].get("devices") or ()


def complete(slices: Sequence[Json]) -> str:
    """S1: as many slices of the newest generation as `resourceSliceCount` says."""
    found: dict[str, list[int]] = {}
    for one in newest(slices):
        pool = one["spec"]["pool"]
        found.setdefault(pool["name"], []).append(pool["resourceSliceCount"])
    for name, counts in found.items():
        if len(set(counts)) > 1 or counts[0] != len(counts):
            return f"pool {name} has {len(counts)} slices, resourceSliceCount is {counts[0]}"
    return ""


def generations(events: Sequence[Json]) -> str:
    """S2: the generation never falls, and rises when a pool of several slices changes.

    Args:
        events: ResourceSlices, as a watch reported them, in order.
    """
    last: dict[str, int] = {}
    contents: dict[tuple[str, str], tuple[int, Any]] = {}
    for one in events:
        spec = one["spec"]
        pool, generation = spec["pool"]["name"], spec["pool"]["generation"]
        if generation < last.get(pool, 0):
            return f"the generation of pool {pool} fell from {last[pool]} to {generation}"
        last[pool] = max(generation, last.get(pool, 0))
        key = (pool, one["metadata"]["name"])
        content = [
            sorted(d["name"] for d in spec.get("devices") or ()),
            spec["pool"]["resourceSliceCount"],
        ]
        before = contents.get(key)
        if before and before[0] == generation and before[1] != content and content[1] > 1:
            return f"slice {key[1]} of pool {pool} changed without a new generation"
        contents[key] = (generation, content)
    return ""


def unique(slices: Sequence[Json]) -> str:
    """S3: device names are unique in a pool."""
    names = Counter(
        (one["spec"]["pool"]["name"], device["name"])
        for one in newest(slices)
        for device in one["spec"].get("devices") or ()
    )
    (most, count), *_ = names.most_common(1) or [(("", ""), 0)]
    return f"device {most[1]} is {count} times in pool {most[0]}" if count > 1 else ""


def own_pools(slices: Sequence[Json]) -> str:
    """S4: no two nodes share the name of a node-local pool."""
    nodes: dict[str, set[str]] = {}
    for one in slices:
        if one["spec"].get("nodeName"):
            nodes.setdefault(one["spec"]["pool"]["name"], set()).add(one["spec"]["nodeName"])
    for pool, found in nodes.items():
        if len(found) > 1:
            return f"nodes {', '.join(sorted(found))} share the pool name {pool}"
    return ""


def owned(slices: Sequence[Json]) -> str:
    """S5: slices of a node are owned by the Node, others by a workload."""
    for one in slices:
        owners = one["metadata"].get("ownerReferences") or []
        name = one["metadata"]["name"]
        if not owners:
            return f"{name} has no owner: it outlives its node"
        kinds = {owner["kind"] for owner in owners}
        workloads = {"Node", "DaemonSet", "Deployment", "Pod", "StatefulSet", "ReplicaSet"}
        if not kinds & workloads:
            return f"{name} is owned by {sorted(kinds)}"
    return ""


def owned_by_node(one: Json) -> bool:
    """Whether a slice's owners are Nodes: the garbage collector follows no owner in a namespace."""
    owners = one["metadata"].get("ownerReferences") or []
    return bool(owners) and all(owner["kind"] == "Node" for owner in owners)


def names_node(one: Json) -> bool:
    """Whether any owner of a slice is a Node: then it must go with the Node."""
    return any(owner["kind"] == "Node" for owner in one["metadata"].get("ownerReferences") or ())


def garbage(slices: Sequence[Json], nodes: Collection[str]) -> list[str]:
    """Return the names of slices that the garbage collector deletes.

    Args:
        slices: ResourceSlices.
        nodes: UIDs of the Nodes that exist.
    """
    return [
        one["metadata"]["name"]
        for one in slices
        if owned_by_node(one)
        and not any(owner["uid"] in nodes for owner in one["metadata"]["ownerReferences"])
    ]


def limits(slices: Sequence[Json]) -> str:
    """S10: within what the API server takes; sizes in bytes."""
    for one in devices(slices):
        size = len(one.get("attributes") or {}) + len(one.get("capacity") or {})
        if size > 32:
            return f"device {one['name']} has {size} attributes and capacities, 32 are allowed"
        for name, value in (one.get("attributes") or {}).items():
            if len(str(value.get("string", "")).encode()) > 64:
                return f"{one['name']}: {name} has more than 64 bytes"
    return ""


def counters(slices: Sequence[Json]) -> str:
    """S12: `consumesCounters` name counters of the pool, and no more than they hold."""
    for pool in _pools(slices):
        for one in published.counter_faults(pool):
            if not one.counter:
                return f"{one.device} consumes the unknown counter set {one.set}"
            if one.holds is None:
                return f"{one.device} consumes the unknown counter {one.counter}"
            return (
                f"{one.device} consumes more of {one.counter} than there is: "
                f"{one.need} of {one.holds}"
            )
    return ""


def policies(slices: Sequence[Json]) -> str:
    """S13: a default is at most the capacity, and a shared device has a capacity."""
    for one in devices(slices):
        if one.get("allowMultipleAllocations") and not one.get("capacity"):
            return f"{one['name']} can be shared, but has no capacity"
    for pool in _pools(slices):
        for fault in published.defaults_above(pool, profile()):
            return f"{fault.device}: the default of {fault.capacity} is above its capacity"
    return ""


def taints(slices: Sequence[Json], now: datetime) -> str:
    """S16: a known effect, and not dated in the future."""
    for one in devices(slices):
        for taint in one.get("taints") or ():
            if taint.get("effect") not in EFFECTS:
                return f"{one['name']}: taint {taint.get('key')} has effect {taint.get('effect')}"
            added = taint.get("timeAdded")
            if added and datetime.fromisoformat(added) > now + SKEW:
                return f"{one['name']}: taint {taint.get('key')} is dated {added}"
    return ""


def versions(slices: Sequence[Json]) -> str:
    """S17: devices say the version of their driver or firmware."""
    found = [*devices(slices)]
    if found and not any(
        "version" in value or "version" in name.lower()
        for one in found
        for name, value in (one.get("attributes") or {}).items()
    ):
        return "no device has a version among its attributes"
    return ""


def driver_name(name: str) -> str:
    """N1: lower case DNS, at most 63 characters."""
    if len(name) > MAX_NAME:
        return f"{name} has {len(name)} characters, at most {MAX_NAME} are allowed"
    return "" if SUBDOMAIN.fullmatch(name) else f"{name!r} is not a DNS subdomain in lower case"


def own_domain(slices: Sequence[Json]) -> str:
    """N2: no attribute or capacity is qualified by the driver's own name."""
    for _, name, uses in published.own_domain(_pools(slices)):
        return f"{uses.devices[0]}: {name} repeats the driver's name: plain names mean it"
    return ""


def standard(slices: Sequence[Json]) -> str:
    """N3: standard attributes are spelled and typed right."""
    found = _pools(slices)
    for _, name, _, device, value in published.non_standard(found):
        if value is None:
            return f"{device}: {name} is not a standard attribute"
        return f"{device}: {name} is {value!r}, not dddd:bb:dd.f"
    for _, name, uses, wanted in published.mixed_type(found):
        for kind, device in uses.types.items():
            if wanted and kind != wanted:
                return f"{device}: {name} is of type {kind}, not {wanted}"
    return ""


def one_type(slices: Sequence[Json]) -> str:
    """N4: an attribute has one type over all devices."""
    for _, name, uses, _ in published.mixed_type(_pools(slices)):
        if len(uses.types) > 1:
            shown = " and ".join(f"{kind} in {device}" for kind, device in uses.types.items())
            return f"{name} is of type {shown}"
    return ""


def _pools(slices: Sequence[Json]) -> tuple[InventoryPool, ...]:
    return pools(map(parse_slice, slices), profile())


RULES: Mapping[str, Callable[[Sequence[Json]], str]] = {
    "S1": complete,
    "S3": unique,
    "S12": counters,
    "S13": policies,
    "S16": lambda slices: taints(slices, datetime.now(UTC)),
    "S17": versions,
    "N2": own_domain,
    "N3": standard,
    "N4": one_type,
}
"""By the id of the check; those that need nothing but slices at rest."""
