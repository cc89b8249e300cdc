"""Pools of a recorded cluster: from a snapshot, or from ResourceSlice manifests. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.drivers.pretend.shapes import marked
from dragoman.drivers.pretend.slices import PretendPool


def drivers(slices: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the drivers that published the slices."""
    return sorted({one["spec"]["driver"] for one in slices})


def pools(slices: Iterable[Mapping[str, Any]], driver: str, name: str) -> list[PretendPool]:
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
