"""What the API serves, and what parts of its objects mean."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name."""
Device = tuple[str, str]
"""Pool and name."""

SERVED: Mapping[str, tuple[str, ...]] = {
    "v1": ("pods", "nodes", "namespaces", "resourcequotas", "secrets", "configmaps"),
    "resource.k8s.io/v1": (
        *("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses"),
        "resourcepoolstatusrequests",
    ),
    "resource.k8s.io/v1beta2": ("devicetaintrules",),
    "coordination.k8s.io/v1": ("leases",),
    "events.k8s.io/v1": ("events",),
    "policy/v1": ("poddisruptionbudgets",),
    "dragoman.dev/v1alpha1": (
        *("devicemaintenances", "devicepreemptions", "clusterresourceclaimtemplates"),
        *("driverconfigschemas", "devicepoolreports"),
    ),
    "admissionregistration.k8s.io/v1": ("validatingwebhookconfigurations",),
}
"""Resources by API version."""
API_OF = {plural: version for version, plurals in SERVED.items() for plural in plurals}
KIND_OF = {
    "pods": "Pod",
    "nodes": "Node",
    "namespaces": "Namespace",
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "resourceslices": "ResourceSlice",
    "deviceclasses": "DeviceClass",
    "devicetaintrules": "DeviceTaintRule",
    "leases": "Lease",
    "events": "Event",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "devicemaintenances": "DeviceMaintenance",
    "devicepreemptions": "DevicePreemption",
    "clusterresourceclaimtemplates": "ClusterResourceClaimTemplate",
    "resourcequotas": "ResourceQuota",
    "secrets": "Secret",
    "configmaps": "ConfigMap",
    "resourcepoolstatusrequests": "ResourcePoolStatusRequest",
    "driverconfigschemas": "DriverConfigSchema",
    "devicepoolreports": "DevicePoolReport",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}
# Served on demand: the simulated operator would follow them.
API_OF["podgroups"], KIND_OF["podgroups"] = "scheduling.k8s.io/v1alpha2", "PodGroup"
STATUSLESS = {
    *("leases", "events", "deviceclasses", "resourceclaimtemplates", "resourceslices", "secrets"),
    "configmaps",
}
GENERATIONS = {
    *("devicetaintrules", "resourceslices", "devicemaintenances", "devicepreemptions"),
    "clusterresourceclaimtemplates",
}
"""Resources whose `metadata.generation` counts changes of the spec."""
FINALIZER = "resource.kubernetes.io/delete-protection"
ENTRY = "resource.kubernetes.io/pod-claim-name"
DRIVER = "gpu.example.com"
TERMINAL = ("Succeeded", "Failed")


def timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def uid_of(one: Json) -> str:
    return str(one["metadata"]["uid"])


def deleting(one: Json) -> bool:
    return bool(one["metadata"].get("deletionTimestamp"))


def entries_of(pod: Json) -> Iterable[Json]:
    return (pod.get("spec") or {}).get("resourceClaims") or ()


def claim_name(pod: Json, entry: Json) -> str:
    """Return the name of the claim of an entry; empty while there is none."""
    if entry.get("resourceClaimName"):
        return str(entry["resourceClaimName"])
    for status in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
        if status["name"] == entry["name"]:
            return str(status.get("resourceClaimName") or "")
    return ""


def owner_of(one: Json) -> Json | None:
    owners = one["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def is_for(claim: Json, pod: Json) -> bool:
    owner = owner_of(claim)
    return owner is not None and owner["uid"] == pod["metadata"]["uid"]


def entry_of(claim: Json) -> str:
    return str((claim["metadata"].get("annotations") or {}).get(ENTRY) or "")


def reserved_for(claim: Json) -> list[Json]:
    return (claim.get("status") or {}).get("reservedFor") or []


def devices_of(claim: Json) -> list[Device]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return [(one["pool"], one["device"]) for one in results]


def node_of(claim: Json) -> str:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    return str(terms[0]["matchFields"][0]["values"][0]) if terms else ""


def finished(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in TERMINAL


def done(pod: Json) -> bool:
    """Whether a pod uses no devices any more."""
    return finished(pod) or (deleting(pod) and not pod["spec"].get("nodeName"))


def published(slices: Iterable[Json]) -> set[Device]:
    """Return all devices."""
    return {
        (one["spec"]["pool"]["name"], str(device["name"]))
        for one in slices
        for device in one["spec"]["devices"]
    }


def tainted(
    slices: Iterable[Json], rules: Iterable[Json], effect: str = "NoExecute"
) -> set[Device]:
    """Return the devices with a taint of an effect, of drivers and of rules."""
    slices = list(slices)
    found = {
        (one["spec"]["pool"]["name"], device["name"])
        for one in slices
        for device in one["spec"]["devices"]
        if any(taint["effect"] == effect for taint in device.get("taints") or ())
    }
    for rule in rules:
        if rule["spec"]["taint"]["effect"] != effect:
            continue
        selector = rule["spec"].get("deviceSelector") or {}
        found |= {
            (one["spec"]["pool"]["name"], device["name"])
            for one in slices
            for device in one["spec"]["devices"]
            if selector.get("pool") in (None, one["spec"]["pool"]["name"])
            and selector.get("device") in (None, device["name"])
        }
    return found
