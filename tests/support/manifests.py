"""Manifests for tests: nodes, devices, classes, templates, claims and pods, all as plain dicts.

They are written in resource.k8s.io/v1; `in_version` turns them into what older API servers take.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
GROUP = "resource.k8s.io"
DRIVER = "gpu.example.com"


def namespace(name: str, labels: Mapping[str, str] | None = None) -> Json:
    """Return a Namespace."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": dict(labels or {})},
    }


def config_map(name: str, namespace: str) -> Json:
    """Return an empty ConfigMap: the cheapest object there is."""
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def node(name: str, pods: int = 1000) -> Json:
    """Return a Node that is Ready and has room for so many pods."""
    room = {"cpu": "1000", "memory": "1Ti", "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def resource_slice(
    node_name: str,
    devices: int | Sequence[str | Mapping[str, Any]] = 1,
    driver: str = DRIVER,
    name: str = "",
) -> Json:
    """Return the ResourceSlice of one node's devices, given by number, names or full entries."""
    entries = (
        [f"device-{index}" for index in range(devices)] if isinstance(devices, int) else devices
    )
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"{node_name}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": entry} if isinstance(entry, str) else dict(entry) for entry in entries
            ],
        },
    }


def device_class(name: str, driver: str = DRIVER) -> Json:
    """Return a DeviceClass that any device of the driver satisfies."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver}'"}}]},
    }


def claim_spec(class_name: str, count: int = 1) -> Json:
    """Return the spec of a claim for `count` devices of a class."""
    exactly: Json = {"deviceClassName": class_name}
    if count != 1:
        exactly |= {"allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "devices", "exactly": exactly}]}}


def claim(name: str, namespace: str, class_name: str, count: int = 1, **meta: Any) -> Json:
    """Return a ResourceClaim; `meta` goes into its metadata."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, **meta},
        "spec": claim_spec(class_name, count),
    }


def template(
    name: str,
    namespace: str,
    class_name: str,
    count: int = 1,
    metadata: Mapping[str, Any] | None = None,
) -> Json:
    """Return a ResourceClaimTemplate; `metadata` is what its claims shall carry."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"metadata": dict(metadata or {}), "spec": claim_spec(class_name, count)},
    }


def pod(
    name: str,
    namespace: str,
    *,
    templates: Mapping[str, str] | None = None,
    claims: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """Return a Pod of one container that uses all its claims.

    Args:
        name: Of the pod.
        namespace: Of the pod.
        templates: Template names by entry name.
        claims: Claim names by entry name.
        labels: Of the pod.
        spec: Further fields of the spec, such as `nodeName` or `schedulingGates`.
    """
    entries = [
        *(
            {"name": key, "resourceClaimTemplateName": value}
            for key, value in (templates or {}).items()
        ),
        *({"name": key, "resourceClaimName": value} for key, value in (claims or {}).items()),
    ]
    container: Json = {"name": "main", "image": "pause"}
    if entries:
        container["resources"] = {"claims": [{"name": entry["name"]} for entry in entries]}
        spec["resourceClaims"] = entries
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
    }


def in_version(manifest: Mapping[str, Any], version: str) -> Json:
    """Return a resource.k8s.io/v1 manifest as v1beta2 (the same shape) or v1beta1 takes it."""
    if not str(manifest["apiVersion"]).startswith(f"{GROUP}/"):
        return dict(manifest)
    changed = copy.deepcopy(dict(manifest)) | {"apiVersion": f"{GROUP}/{version}"}
    if version == "v1beta1":
        flatten(changed)
    return changed


def flatten(manifest: Json) -> None:
    """Spell requests and devices as v1beta1 did: no `exactly`, and a `basic` around a device."""
    spec = manifest["spec"]
    if manifest["kind"] == "ResourceSlice":
        spec["devices"] = [basic(device) for device in spec["devices"]]
    spec = spec["spec"] if manifest["kind"] == "ResourceClaimTemplate" else spec
    if isinstance(requests := spec.get("devices"), dict):
        requests["requests"] = [without_exactly(request) for request in requests["requests"]]


def basic(device: Mapping[str, Any]) -> Json:
    """Return a device with all but its name below `basic`."""
    return {
        "name": device["name"],
        "basic": {key: value for key, value in device.items() if key != "name"},
    }


def without_exactly(request: Mapping[str, Any]) -> Json:
    """Return a request with the fields of `exactly` beside its name."""
    rest = {key: value for key, value in request.items() if key != "exactly"}
    return rest | dict(request.get("exactly", {}))


def owner_reference(owner: Mapping[str, Any], *, controller: bool = True) -> Json:
    """Return the reference by which an object names its owner."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": controller,
        "blockOwnerDeletion": controller,
    }


def names(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of objects, sorted."""
    return sorted(one["metadata"]["name"] for one in objects)


def cluster_role(name: str, rules: Iterable[Mapping[str, Any]], user: str) -> tuple[Json, Json]:
    """Return a ClusterRole and the ClusterRoleBinding that gives it to the user."""
    group = "rbac.authorization.k8s.io"
    common = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
    binding = {
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    return (
        {**common, "kind": "ClusterRole", "rules": [dict(rule) for rule in rules]},
        {**common, "kind": "ClusterRoleBinding", **binding},
    )


def access_review(user: str, path: str) -> Json:
    """Return the question whether a user may get a path that is none of a resource."""
    attributes = {"verb": "get", "path": path}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {"user": user, "nonResourceAttributes": attributes},
    }
