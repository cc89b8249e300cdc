"""ResourceSlices of a pool, and pools of recorded slices. Pure.

Devices are split by the API's limits, counters stand apart.

Limits: `ResourceSliceMaxDevices` and others in k8s.io/api/resource/v1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman_drivers.pretend.shapes import Device, marked

MAX_DEVICES = 128
MAX_TAINTED = 64
"""Devices of a slice where one has taints or consumes counters."""
MAX_COUNTER_SETS = 8
MAX_STRING = 64
"""Bytes of an attribute's text."""
API_VERSION = "resource.k8s.io/v1"
Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PretendPool:
    """The devices of one node."""

    driver: str  # Name of the driver
    node: str  # Name of the node, and of the pool
    devices: tuple[Device, ...]  # Entries as slices have them
    counters: tuple[Mapping[str, Any], ...] = ()  # Entries of `sharedCounters`
    name: str = ""  # Of the pool; the node's when empty

    @property
    def title(self) -> str:
        """The name of the pool."""
        return self.name or self.node

    def without(self, lost: frozenset[str]) -> PretendPool:
        """Return the pool without some devices."""
        kept = tuple(one for one in self.devices if one["name"] not in lost)
        return PretendPool(self.driver, self.node, kept, self.counters, self.name)

    def tainted(self, taints: Mapping[str, Sequence[Mapping[str, Any]]]) -> PretendPool:
        """Return the pool with further taints on some devices."""
        devices = tuple(
            {**one, "taints": [*(one.get("taints") or ()), *taints[one["name"]]]}
            if one["name"] in taints
            else one
            for one in self.devices
        )
        return PretendPool(self.driver, self.node, devices, self.counters, self.name)


def manifests(
    pool: PretendPool, generation: int, owner: Mapping[str, Any] | None
) -> list[Manifest]:
    """Return the slices of a pool in one generation; an empty pool has one slice.

    Args:
        pool: What is published.
        generation: Of the pool.
        owner: The owner reference of each slice.
    """
    parts = [*_parts(pool)]
    found = []
    for index, part in enumerate(parts):
        meta: dict[str, Any] = {"name": slice_name(pool, index)}
        if owner:
            meta["ownerReferences"] = [dict(owner)]
        place = {
            "name": pool.title,
            "generation": generation,
            "resourceSliceCount": len(parts),
        }
        spec = {"driver": pool.driver, "nodeName": pool.node, "pool": place, **part}
        found.append(
            {"apiVersion": API_VERSION, "kind": "ResourceSlice", "metadata": meta, "spec": spec}
        )
    return found


def slice_name(pool: PretendPool, index: int) -> str:
    """Return the name of a pool's slice: the first has no number.

    Names of pools may have slashes, and those of slices none.
    """
    digest = hashlib.sha256(pool.title.encode()).hexdigest()[:8]
    other = "" if pool.title == pool.node else f"-{digest}"
    return f"{pool.node}-{pool.driver}{other}" + (f"-{index}" if index else "")


def owner_of(node: Mapping[str, Any]) -> Manifest:
    """Return the reference to a Node, which takes the slices with it when it is deleted."""
    meta = node["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }


def _parts(pool: PretendPool) -> Iterator[Manifest]:
    for at in range(0, len(pool.counters), MAX_COUNTER_SETS):
        # Without a `devices` key: the API server refuses even an empty list beside counters.
        yield {"sharedCounters": [dict(one) for one in pool.counters[at : at + MAX_COUNTER_SETS]]}
    devices = [_shortened(one) for one in pool.devices]
    narrow = any(one.get("taints") or one.get("consumesCounters") for one in devices)
    size = MAX_TAINTED if narrow else MAX_DEVICES
    for at in range(0, max(len(devices), 1), size):
        yield {"devices": devices[at : at + size]}


def _shortened(device: Device) -> Manifest:
    """Cut texts that the API server would refuse: a long product name must not hide a node."""
    attributes = {
        key: {**value, "string": _cut(value["string"])} if "string" in value else value
        for key, value in (device.get("attributes") or {}).items()
    }
    return {**device, "attributes": attributes} if attributes else dict(device)


def _cut(text: str) -> str:
    return text.encode()[:MAX_STRING].decode(errors="ignore")


def recorded_drivers(slices: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the drivers that published the slices."""
    return sorted({one["spec"]["driver"] for one in slices})


def recorded_pools(
    slices: Iterable[Mapping[str, Any]], driver: str, name: str
) -> list[PretendPool]:
    """Return the newest generation of a driver's node-local pools, in order of their nodes.

    Args:
        slices: Of any driver; slices for more than one node are left out.
        driver: Whose slices are read.
        name: Under which they are published again.
    """
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in slices:
        spec = one["spec"]
        if spec["driver"] == driver and spec.get("nodeName"):
            found.setdefault((spec["nodeName"], spec["pool"]["name"]), []).append(spec)
    return [_pool(node, title, specs, name) for (node, title), specs in sorted(found.items())]


def _pool(node: str, title: str, specs: list[Mapping[str, Any]], name: str) -> PretendPool:
    newest = max(spec["pool"]["generation"] for spec in specs)
    current = [spec for spec in specs if spec["pool"]["generation"] == newest]
    devices = [device for spec in current for device in spec.get("devices") or ()]
    counters = [one for spec in current for one in spec.get("sharedCounters") or ()]
    return PretendPool(name, node, marked(devices), tuple(counters), title)
