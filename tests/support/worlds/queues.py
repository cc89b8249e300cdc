"""Clusters with queue managers, as snapshots."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.support import manifests as objects
from tests.support.manifests import Json
from tests.support.worlds.plugins import GPU, NVIDIA, gpus, node, serving

MAPPING = f"""\
resources:
  deviceClassMappings:
  - name: {GPU}
    deviceClassNames: [{NVIDIA}]
"""


def kueue(version: str = "v0.19.0", config: str = MAPPING, args: Iterable[str] = ()) -> list[Json]:
    """Make Kueue's Deployment and configuration."""
    name, namespace = "kueue-controller-manager", "kueue-system"
    image = f"registry.k8s.io/kueue/kueue:{version}"
    containers = [{"name": "manager", "image": image, "args": [*args]}]
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"template": {"spec": {"containers": containers}}},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kueue-manager-config", "namespace": namespace},
            "data": {"controller_manager_config.yaml": config},
        },
    ]


def cluster_queue(
    name: str, nominal: Any, charged: Any = 0, resource: str = GPU, **more: Any
) -> list[Json]:
    """Make a ClusterQueue of one flavor and its LocalQueue `main` in namespace ml.

    Args:
        name: Of the ClusterQueue, and of the LocalQueue.
        nominal: The quota.
        charged: What its status says is reserved.
        resource: That it has a quota for.
        more: `cohort`, `namespace`, further fields of the quota, and `status`.
    """
    cohort, namespace = more.pop("cohort", ""), more.pop("namespace", "ml")
    status = more.pop("status", {})
    quota = {"name": resource, "nominalQuota": str(nominal), **more}
    flavors = [{"name": "default", "resources": [quota]}]
    used = [{"name": resource, "total": str(charged), "borrowed": "0"}]
    return [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {
                "resourceGroups": [{"coveredResources": [resource], "flavors": flavors}],
                **({"cohortName": cohort} if cohort else {}),
            },
            "status": {
                "flavorsReservation": [{"name": "default", "resources": used}],
                "conditions": [{"type": "Active", "status": "True", "reason": "Ready"}],
                **status,
            },
        },
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"clusterQueue": name},
        },
    ]


def workload(
    job: str,
    queue: str,
    count: int = 1,
    each: Mapping[str, Any] | None = None,
    *,
    admitted: bool = True,
    spec: Mapping[str, Any] | None = None,
    conditions: Iterable[Mapping[str, Any]] = (),
    **status: Any,
) -> Json:
    """Make the Workload of a Job in namespace ml; `each` is what each of its pods is charged."""
    usage = {key: str(int(value) * count) for key, value in (each or {}).items()}
    assignment = {"name": "main", "count": count, "resourceUsage": usage, "flavors": {}}
    admission = {"clusterQueue": queue, "podSetAssignments": [assignment]}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job, "uid": f"u-{job}"}}
    pods = {"name": "main", "count": count, "template": {"spec": dict(spec or {})}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": f"job-{job}",
            "namespace": "ml",
            "ownerReferences": [objects.owner_reference(owner)],
        },
        "spec": {"queueName": queue, "podSets": [pods]},
        "status": {
            **({"admission": admission} if admitted else {}),
            "conditions": [*conditions],
            **status,
        },
    }


def pod_of(job: str, number: int = 0, node_name: str = "n", **spec: Any) -> Json:
    """Make a pod of a Job; `template` gives it a claim, `limits` a resource of a plug-in."""
    template, limits = spec.pop("template", ""), spec.pop("limits", None)
    templates = {"gpu": template} if template else None
    name = f"{job}-{number}"
    made = objects.pod(name, spec.pop("namespace", "ml"), templates=templates, **spec)
    made["metadata"]["uid"] = f"uid-of-{name}"
    if job:
        owner = {"apiVersion": "batch/v1", "kind": "Job"}
        whole = {**owner, "metadata": {"name": job, "uid": f"u-{job}"}}
        made["metadata"]["ownerReferences"] = [objects.owner_reference(whole)]
    if node_name:
        made["spec"]["nodeName"] = node_name
    made["status"] = {"phase": "Running" if node_name else "Pending"}
    if template:
        statuses = [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]
        made["status"]["resourceClaimStatuses"] = statuses
    if limits:
        made["spec"]["containers"][0]["resources"] = {"requests": limits, "limits": limits}
    return made


def held(
    pod: Mapping[str, Any] | None,
    *devices: str,
    name: str = "",
    spec: Mapping[str, Any] | None = None,
    **result: Any,
) -> Json:
    """Make an allocated claim of a pod, or, without a pod, one that nothing reserves."""
    name = name or f"{pod['metadata']['name']}-gpu" if pod else name
    namespace = pod["metadata"]["namespace"] if pod else "ml"
    made = objects.claim(name, namespace, NVIDIA, max(len(devices), 1))
    made["spec"] = dict(spec) if spec else made["spec"]
    request = result.pop("request", "devices")
    made["status"] = {
        "allocation": {
            "devices": {
                "results": [
                    {
                        "request": request,
                        "driver": NVIDIA,
                        "pool": "n",
                        "device": one,
                        **result,
                    }
                    for one in devices
                ]
            }
        },
        "reservedFor": [
            {
                "resource": "pods",
                "name": pod["metadata"]["name"],
                "uid": pod["metadata"]["uid"],
            }
        ]
        if pod
        else [],
    }
    return made


def devices(count: int = 16) -> list[Json]:
    """Make node `n` with GPUs of a DRA driver, and their class."""
    return [node("n", allocatable={"pods": "110"}), gpus("n", count), serving()]
