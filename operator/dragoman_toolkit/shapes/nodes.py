"""Nodes and ResourceSlices of a shape. Unknown values are made up, alike where they are alike."""

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman_toolkit.shapes.shape import Document, Shape, ShapePool

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
HOSTNAME = "kubernetes.io/hostname"
UNBOUNDED = {"cpu": "100000", "memory": "1000Ti", "pods": "1000"}
"""What a node has where its shape does not know: it is not checked."""
UNRECORDED = "unrecorded-"
"""How devices are called that a machine has, and of which only the common values are known."""
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_NAMESPACE = uuid.UUID("3d9a3a7a-5a41-4f3c-9f58-6f1d3f2b7c50")
_SLICE_SIZE = 64
"""Devices of a slice: the API's limit where devices consume counters."""
_COUNTER_SETS = 8
"""Counter sets of a slice: the API's limit."""
CAPI = "capacity.cluster-autoscaler.kubernetes.io"
"""Of annotations by which Cluster API's autoscaler knows nodes of a group at zero."""


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """How virtual nodes of a shape differ from it."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=dict)  # In place of the nominal capacity
    drivers: frozenset[str] = frozenset()  # The only ones; empty for all
    plugin: bool = False  # Whether a device plug-in publishes the devices, and no driver


def devices(pool: ShapePool, node: str) -> list[dict[str, Any]]:
    """Return the devices of a pool on a node, with made up values where none is known.

    A value is a fixed function of node and device, equal within a group of an equality.
    """
    found = [dict(one) for one in pool.devices]
    common = {part: dict(value) for part, value in pool.common.items() if value}
    found += [
        {"name": f"{UNRECORDED}{number}", **common} for number in range(len(found), pool.total)
    ]
    for one in found:
        made = {
            name: _made_up(pool, name, kind, node, str(one["name"]))
            for name, kind in pool.unknown.items()
        }
        if made:
            one["attributes"] = {**made, **one.get("attributes", {})}
    return found


def _made_up(pool: ShapePool, name: str, kind: str, node: str, device: str) -> dict[str, Any]:
    groups = pool.equalities.get(name, ())
    same = next(
        (f"group {number}" for number, group in enumerate(groups) if device in group), device
    )
    where = f"{node}/{pool.name}" if pool.name else node
    made = uuid.uuid5(_NAMESPACE, f"{where}/{pool.driver}/{name}/{same}")
    if kind.endswith("s"):
        single = _value(made, name, kind.removesuffix("s"))
        return {f"{key}s": [value] for key, value in single.items()}
    return _value(made, name, kind)


def _value(made: uuid.UUID, name: str, kind: str) -> dict[str, Any]:
    if kind == "int":
        return {"int": made.int % 2**31}
    if kind == "bool":
        return {"bool": bool(made.int % 2)}
    if kind == "version":
        return {"version": f"0.0.0-{made.hex[:16]}"}
    return {"string": f"GPU-{made}" if name.rpartition("/")[2] == "uuid" else str(made)}


def node_of(shape: Shape, name: str, options: NodeOptions) -> dict[str, Any]:
    """Return a Node of a shape."""
    capacity = {**UNBOUNDED, **shape.capacity, **options.allocatable}
    if options.plugin:
        capacity |= {key: str(count) for key, count in shape.plugin.items()}
    labels = {HOSTNAME: name, **_labels(shape), "kubernetes.io/os": "linux", **options.labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [*options.taints]} if options.taints else {},
        "status": {
            "allocatable": capacity,
            "capacity": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated"}],
        },
    }


def _labels(shape: Shape) -> dict[str, str]:
    """Return labels by which nodes of a shape are known; names of machines need not be values."""
    typed = {INSTANCE_TYPE: shape.machine} if _LABEL.fullmatch(shape.machine) else {}
    return {**typed, "kubernetes.io/arch": shape.architecture}


def slices_of(
    shape: Shape, name: str, options: NodeOptions = NodeOptions()
) -> Iterator[dict[str, Any]]:
    """Yield the ResourceSlices of a node of a shape."""
    for pool in () if options.plugin else shape.pools:
        if options.drivers and pool.driver not in options.drivers:
            continue
        parts: list[dict[str, Any]] = []
        sets = [dict(one) for one in pool.counters]
        starts = range(0, len(sets), _COUNTER_SETS)
        parts += [{"sharedCounters": sets[at : at + _COUNTER_SETS]} for at in starts]
        found = devices(pool, name)
        starts = range(0, len(found), _SLICE_SIZE)
        parts += [{"devices": found[at : at + _SLICE_SIZE]} for at in starts]
        for number, part in enumerate(parts):
            whole = f"{name}-{pool.name}" if pool.name else name
            place = {"name": whole, "generation": 1, "resourceSliceCount": len(parts)}
            yield {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"{whole}-{pool.driver}-{number}"},
                "spec": {"driver": pool.driver, "nodeName": name, "pool": place, **part},
            }


def trees(shape: Shape, names: Iterable[str], options: NodeOptions) -> list[Document]:
    """Return Nodes and ResourceSlices of a shape."""
    return [
        tree
        for name in names
        for tree in (node_of(shape, name, options), *slices_of(shape, name, options))
    ]


def capi(shape: Shape, options: NodeOptions = NodeOptions()) -> dict[str, str]:
    """Return the annotations of a MachineDeployment by which Cluster API's autoscaler knows it.

    It knows devices of one driver. Without cpu and memory it does not scale from zero.
    Source: cluster-autoscaler cloudprovider/clusterapi/clusterapi_{unstructured,utils}.go.
    """
    found: dict[str, str] = {}
    chosen = [one for one in shape.pools if not options.drivers or one.driver in options.drivers]
    if options.plugin:
        for name, count in [*shape.plugin.items()][:1]:
            found |= {"gpu-type": name, "gpu-count": str(count)}
    else:
        driver = min(chosen, key=lambda one: "gpu" not in one.driver).driver
        total = sum(one.total for one in chosen if one.driver == driver)
        found |= {"dra-driver": driver, "gpu-count": str(total)}
    capacity = {**shape.capacity, **options.allocatable}
    keys = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "ephemeral-disk"}
    found |= {key: capacity[name] for name, key in keys.items() if name in capacity}
    if "pods" in capacity:
        found["maxPods"] = capacity["pods"]
    labels = {**_labels(shape), **options.labels}
    found["labels"] = ",".join(f"{key}={value}" for key, value in labels.items())
    if options.taints:
        found["taints"] = ",".join(
            f"{one['key']}={one.get('value', '')}:{one['effect']}" for one in options.taints
        )
    return {f"{CAPI}/{key}": value for key, value in found.items()}
