"""Clusters with device plug-ins, as snapshots of `kubectl dra snapshot --with migration`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dragoman.inventory.snapshots.snapshot import MIGRATION, Snapshot
from dragoman_toolkit.migration.companions import Companions, reduced
from tests.support import manifests as objects
from tests.support.worlds.inventory import pool, snapshot

GPU = "nvidia.com/gpu"
NVIDIA = "gpu.nvidia.com"
Json = dict[str, Any]


def node(name: str, labels: Mapping[str, str] | None = None, **amounts: Json) -> Json:
    """Make a node; `allocatable` and `capacity` are counts of extended resources."""
    allocatable = amounts.get("allocatable", {})
    version = str(amounts.get("kubelet", {}).get("version", "v1.36.3"))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "status": {
            "allocatable": {"cpu": "8", **allocatable},
            "capacity": {"cpu": "8", **amounts.get("capacity", allocatable)},
            "nodeInfo": {"kubeletVersion": version},
        },
    }


def asking(name: str, wanted: Mapping[str, str], namespace: str = "ml", **spec: Any) -> Json:
    """Make a pod of one container that asks for amounts; `owner` is kind and name of its owner."""
    owner = spec.pop("owner", None)
    made = objects.pod(name, namespace)
    made["metadata"]["uid"] = f"uid-of-{namespace}-{name}"
    resources = {"requests": dict(wanted), "limits": dict(wanted)}
    made["spec"] = {
        "schedulerName": "default-scheduler",
        "priority": 0,
        "containers": [{"name": "main", "resources": resources}],
        **spec,
    }
    if owner:
        reference = {
            "apiVersion": "v1",
            "kind": owner[0],
            "name": owner[1],
            "uid": "uid",
            "controller": True,
        }
        made["metadata"]["ownerReferences"] = [reference]
        made["metadata"]["labels"] = {"pod-template-hash": owner[1].rpartition("-")[2]}
    return made


def gpus(name: str, count: int, kind: str = "gpu", **more: str) -> Json:
    """Make the slice of a node with devices of a type; `more` are further attributes."""
    attributes = {key: {"string": value} for key, value in {"type": kind, **more}.items()}
    devices = [{"name": f"{kind}-{number}", "attributes": attributes} for number in range(count)]
    return pool(name, devices, NVIDIA)


def serving(name: str = NVIDIA, resource: str = GPU, kind: str = "gpu", **more: str) -> Json:
    """Make a class that serves an extended resource with devices of a type."""
    made = objects.device_class(name, NVIDIA)
    expression = f"device.driver == '{NVIDIA}' && device.attributes['{NVIDIA}'].type == '{kind}'"
    made["spec"] = {
        "extendedResourceName": resource,
        "selectors": [{"cel": {"expression": expression}}],
    }
    made["metadata"].update(more)
    return made


def plugin(name: str, image: str, *args: str, config: str = "", **environment: str) -> Json:
    """Make the DaemonSet of a device plug-in; `config` is the ConfigMap that it mounts."""
    container = {
        "image": image,
        "args": [*args],
        "env": [{"name": key, "value": value} for key, value in environment.items()],
    }
    volumes = [{"name": "configs", "configMap": {"name": config}}] if config else []
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "plugins"},
        "spec": {"template": {"spec": {"containers": [container], "volumes": volumes}}},
    }


def config_map(name: str, **data: str) -> Json:
    """Make a ConfigMap of a device plug-in; `_` in keys stands for a dot."""
    data = {key.replace("_", "."): text for key, text in data.items()}
    metadata = {"name": name, "namespace": "plugins"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def cluster(*manifests: Mapping[str, Any]) -> Snapshot:
    """Make a snapshot that `kubectl dra migrate` reads whole."""
    beside = [one for one in manifests if reduced(one)]
    made = snapshot(*(one for one in manifests if one not in beside))
    lines = Companions(tuple(found for one in beside if (found := reduced(one)))).lines()
    return replace(made, extras=frozenset({MIGRATION}), objects={**made.objects, MIGRATION: lines})
