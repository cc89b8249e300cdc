"""Small clusters, as snapshots."""

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.allocation import Profile, profile
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import Inventory, take
from dragoman.inventory.snapshots.documents import KINDS, reduced
from dragoman.inventory.snapshots.queuekinds import queue_key
from dragoman.inventory.snapshots.snapshot import Snapshot, Unseen
from tests.support import manifests as objects
from tests.support.manifests import Json

NOW = "2026-11-22T12:00:00Z"
DRIVER = "gpu.example.com"
CLASS = "gpu"


def snapshot(*manifests: Mapping[str, Any], unseen: Iterable[Unseen] = ()) -> Snapshot:
    """Make a snapshot of manifests; all resources count as listed."""
    found: dict[str, list[Mapping[str, Any]]] = {plural: [] for plural in KINDS.values()}
    for number, manifest in enumerate(manifests):
        plural = queue_key(manifest) or KINDS[manifest["kind"]]
        metadata = {"uid": f"uid-{number}", "creationTimestamp": "2026-11-22T11:00:00Z"}
        whole = {**manifest, "metadata": {**metadata, **manifest["metadata"]}}
        found.setdefault(plural, []).append(reduced(plural, whole))
    objects_of = {plural: tuple(one) for plural, one in found.items()}
    return Snapshot(NOW, "v1.36.3", objects_of, tuple(unseen))


def inventory(*manifests: Mapping[str, Any], of: Profile | None = None) -> Inventory:
    """Take the inventory of manifests."""
    return take(parse(snapshot(*manifests)), of or profile("1.36"))


def device_class(name: str = CLASS, driver: str = DRIVER) -> Json:
    """Make a class of all devices of a driver."""
    return objects.device_class(name, driver)


def pool(node: str, devices: Any = 1, driver: str = DRIVER, part: int = 0, **more: Any) -> Json:
    """Make a slice of a node's pool; `more` changes `spec.pool`."""
    made = objects.resource_slice(node, devices, driver, f"{node}-{driver}-{part}")
    made["spec"]["pool"].update(more)
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": f"uid-of-node-{node}"}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def device(name: str, **more: Any) -> Json:
    """Make a device; `more` are its fields."""
    return {"name": name, **more}


def pod(name: str = "pod", namespace: str = "ns", **more: Any) -> Json:
    """Make a pod with a UID of its own; `node` places it."""
    node = more.pop("node", None)
    made = objects.pod(name, namespace, **more)
    made["metadata"]["uid"] = f"uid-of-{namespace}-{name}"
    if node:
        made["spec"]["nodeName"] = node
    return made


def held(claim: Json, *devices: tuple[str, str], pods: Iterable[Json] = (), **more: Any) -> Json:
    """Allocate devices, by pool and name, to a claim and reserve it for pods."""
    request = claim["spec"]["devices"]["requests"][0]["name"]
    results = [
        {"request": request, "driver": DRIVER, "pool": where, "device": name, **more}
        for where, name in devices
    ]
    consumers = [
        {"resource": "pods", "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]}
        for one in pods
    ]
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": consumers}
    return {**claim, "status": status}


def claim(name: str = "claim", namespace: str = "ns", count: int = 1, **more: Any) -> Json:
    """Make a claim for devices of CLASS; `more` are fields of its request."""
    made = objects.claim(name, namespace, CLASS)
    exactly = {"deviceClassName": CLASS, "allocationMode": "ExactCount", "count": count, **more}
    made["spec"]["devices"]["requests"][0]["exactly"] = exactly
    return made
