"""Which fields of API objects the toolkit reads: all others are dropped where objects come in.

A snapshot holds exactly these fields, so opaque parameters, environment variables, annotations and
free labels never reach it. Node labels stay only where a selector can name them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dragoman.inventory.snapshots.queuekinds import KAI_LABEL, QUEUE_KINDS
from dragoman.inventory.snapshots.versions import upgraded
from dragoman.model.taints import RESERVATION

Document = Mapping[str, Any]
Tree = bool | Mapping[str, Any] | list[Any]
"""True keeps a value, a mapping keeps these keys of an object, a list its tree for each item."""

POD_CLAIM_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
EXTENDED_RESOURCE_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
LEFT_CONSUMERS_ANNOTATION = "dragoman.dev/left-consumers"
REASON = "dragoman.dev/reason"
AUTHOR = "dragoman.dev/author"
DEVICE = "dragoman.dev/device"
OVERLAPPED = "dragoman.dev/overlapped"
MAINTENANCE = "dragoman.dev/maintenance"
PREEMPTIBLE = "dragoman.dev/preemptible"
PREEMPTION = RESERVATION
"""Taint and label of rules that reserve devices; the value is the UID of the pod."""
MIRROR = "kubernetes.io/config.mirror"
"""Of a pod that the kubelet read from a file of its node."""
REGISTRATION = "plugins_registry"
"""The folder of the kubelet in which every kubelet plugin registers itself (KEP-4381)."""
KUEUE = (
    *("kueue.x-k8s.io/managed", "kueue.x-k8s.io/podset"),
    *("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/pod-group-name"),
)
"""Labels of pods whose place Kueue decides: plain pods, and those of Jobs that it admits."""
QUEUE_LABELS = (*("kueue.x-k8s.io/role-hash", "jobset.sigs.k8s.io/jobset-name", KAI_LABEL),)
"""Labels of pods that say of which part of a workload they are, and of which queue."""
QUEUE_ANNOTATIONS = ("kueue.x-k8s.io/workload", "scheduling.k8s.io/group-name")
"""Annotations of pods that name their Workload of Kueue, and their PodGroup of Volcano."""
GANGS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
"""Labels by which pods name their gang to the scheduler plugin Coscheduling."""
TEMPLATE_HASH = "pod-template-hash"
"""Label of the pods of a Deployment: the end of the name of their ReplicaSet."""
WORKLOADS = (
    *("jobset.sigs.k8s.io/jobset-name", "leaderworkerset.sigs.k8s.io/name"),
    *("ray.io/cluster", "ray.io/originated-from-cr-name", "training.kubeflow.org/job-name"),
    "serving.kserve.io/inferenceservice",
)
"""Labels by which pods name the workload that they are of, where another object owns them."""
MIGRATION_LABELS = (
    *("nvidia.com/", "amd.com/", "beta.amd.com/", "gpu.intel.com/"),
    *("intel.feature.node.kubernetes.io/", "feature.node.kubernetes.io/"),
    *("node.kubernetes.io/", "topology.kubernetes.io/", "karpenter.sh/", "kueue.x-k8s.io/"),
    *("dragoman.dev/", "devices.dragoman.dev/"),
)
"""Prefixes of labels of nodes that `kubectl dra migrate` reads."""
WELL_KNOWN_LABELS = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Labels of nodes that every snapshot keeps."""

_METADATA: Mapping[str, Tree] = {
    "name": True,
    "namespace": True,
    "uid": True,
    "creationTimestamp": True,
    "deletionTimestamp": True,
    "ownerReferences": True,
    "finalizers": True,
    # When a status was last written, by whichever component, which driver publishes a slice, and in
    # which version.
    "managedFields": [{"manager": True, "apiVersion": True, "subresource": True, "time": True}],
    # Two of the API say what a generated claim stands for; our own say who holds a device, and why.
    "annotations": {
        POD_CLAIM_ANNOTATION: True,
        EXTENDED_RESOURCE_ANNOTATION: True,
        LEFT_CONSUMERS_ANNOTATION: True,
        REASON: True,
        AUTHOR: True,
        DEVICE: True,
        OVERLAPPED: True,
    },
    "labels": {MAINTENANCE: True, PREEMPTION: True},
}
_CONDITIONS: Tree = [{"type": True, "status": True, "reason": True, "lastTransitionTime": True}]
_POD_METADATA: Mapping[str, Tree] = {
    **_METADATA,
    "annotations": {PREEMPTIBLE: True, MIRROR: True, **dict.fromkeys(QUEUE_ANNOTATIONS, True)},
    # PodDisruptionBudgets select by them; `dump` keeps those that one does.
    "labels": True,
}
_CONTAINER: Mapping[str, Tree] = {
    "name": True,
    "restartPolicy": True,
    "resources": True,
    "ports": [{"hostPort": True}],
}
_CONTAINER_STATUS: Mapping[str, Tree] = {
    "name": True,
    "allocatedResourcesStatus": True,
    # Why a container does not start, or has ended, although its devices are allocated.
    "state": {
        "waiting": {"reason": True, "message": True},
        "terminated": {"reason": True, "exitCode": True, "finishedAt": True},
    },
}
_CONFIG: Tree = [{"requests": True, "source": True, "opaque": {"driver": True}}]
_CLAIM_SPEC: Tree = {
    "devices": {"requests": True, "constraints": True, "config": _CONFIG},
}
_TERM: Tree = dict.fromkeys(
    ("topologyKey", "labelSelector", "namespaces", "namespaceSelector"), True
)
HARMLESS_VOLUMES = frozenset(
    {"configMap", "secret", "emptyDir", "projected", "downwardAPI", "hostPath", "image"}
)
"""Volumes that tie a pod to no place, and that no other pod can be in the way of."""
_POD_SPEC: Mapping[str, Tree] = {
    "nodeName": True,
    "schedulerName": True,
    "schedulingGates": True,
    "schedulingGroup": True,
    "nodeSelector": True,
    "affinity": {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": True},
        # That there is one is all that counts: plans say that it is not computed.
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]},
        # Those of pods that run keep other pods away; `dump` leaves out what they say.
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]},
    },
    "topologySpreadConstraints": [{"whenUnsatisfiable": True}],
    "priority": True,
    "preemptionPolicy": True,
    "terminationGracePeriodSeconds": True,
    "tolerations": True,
    "overhead": True,
    "resourceClaims": True,
    "resources": True,
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    # Kubelet plugins mount the folder of their registration; of others only the kind counts, and of
    # kinds that are not harmless that there is a volume.
    "volumes": [
        {
            **{kind: {} for kind in sorted(HARMLESS_VOLUMES)},
            "hostPath": {"path": True},
            "persistentVolumeClaim": {},
            "ephemeral": {},
            "csi": {},
        }
    ],
}
_POD_STATUS: Mapping[str, Tree] = {
    "phase": True,
    "nominatedNodeName": True,
    "startTime": True,
    "resourceClaimStatuses": True,
    "extendedResourceClaimStatus": True,
    "containerStatuses": [_CONTAINER_STATUS],
    "initContainerStatuses": [_CONTAINER_STATUS],
    # The scheduler's message is what an explanation is compared with.
    "conditions": [
        {
            "type": True,
            "status": True,
            "reason": True,
            "message": True,
            "lastTransitionTime": True,
        }
    ],
}
KEPT: Mapping[str, Tree] = {
    "nodes": {
        "metadata": {**_METADATA, "labels": True},
        "spec": {"unschedulable": True, "taints": True},
        "status": {
            "allocatable": True,
            # What a device plugin had published before it ended, and how old the kubelet is.
            "capacity": True,
            "nodeInfo": {"kubeletVersion": True},
            "declaredFeatures": True,
            "conditions": _CONDITIONS,
        },
    },
    "pods": {
        "metadata": _POD_METADATA,
        "spec": _POD_SPEC,
        "status": _POD_STATUS,
    },
    "resourceclaims": {
        "metadata": _METADATA,
        "spec": _CLAIM_SPEC,
        "status": {
            "allocation": {
                "devices": {"results": True, "config": _CONFIG},
                "nodeSelector": True,
                "allocationTimestamp": True,
            },
            "reservedFor": True,
            "devices": [
                {
                    "driver": True,
                    "pool": True,
                    "device": True,
                    "shareID": True,
                    "conditions": _CONDITIONS,
                }
            ],
        },
    },
    "resourceclaimtemplates": {"metadata": _METADATA, "spec": {"spec": _CLAIM_SPEC}},
    "resourceslices": {  # `generation` counts the changes of its spec.
        "metadata": {**_METADATA, "generation": True},
        "spec": True,
    },
    "deviceclasses": {
        "metadata": _METADATA,
        "spec": {"selectors": True, "extendedResourceName": True, "config": _CONFIG},
    },
    "devicetaintrules": {"metadata": _METADATA, "spec": True},
    "resourcequotas": {
        "metadata": _METADATA,
        "spec": {"hard": True},
        "status": {"hard": True, "used": True},
    },
    # Rules between pods select namespaces by labels; `dump` leaves them out.
    "namespaces": {"metadata": {**_METADATA, "annotations": {PREEMPTIBLE: True}, "labels": True}},
    "poddisruptionbudgets": {
        "metadata": {**_METADATA, "generation": True},
        "spec": {"selector": True, "unhealthyPodEvictionPolicy": True},
        "status": {
            "disruptionsAllowed": True,
            "currentHealthy": True,
            "desiredHealthy": True,
            "disruptedPods": True,
            "observedGeneration": True,
        },
    },
    "driverconfigschemas": {
        "metadata": _METADATA,
        "spec": {"driver": True, "mode": True},
    },
    "validatingwebhookconfigurations": {
        "metadata": _METADATA,
        "webhooks": [{"name": True, "rules": True}],
    },
}
"""What is kept of each resource, by its plural; these are all resources that a snapshot has."""
_PLUGIN: Tree = {
    "metadata": _POD_METADATA,
    "spec": {**_POD_SPEC, "containers": [{**_CONTAINER, "image": True}]},
    "status": {**_POD_STATUS, "containerStatuses": [{**_CONTAINER_STATUS, "imageID": True}]},
}
"""Of a kubelet plugin: its image says which version of a driver runs."""

KINDS = {
    "Node": "nodes",
    "Pod": "pods",
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
    "DeviceTaintRule": "devicetaintrules",
    "ResourceQuota": "resourcequotas",
    "Namespace": "namespaces",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "DriverConfigSchema": "driverconfigschemas",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
"""Plural by kind."""

PLANNING = frozenset({"namespaces", "poddisruptionbudgets"})
"""What only plans of preemption need."""
OPTIONAL = PLANNING | {"driverconfigschemas", "validatingwebhookconfigurations"}
"""What few users may list, and only findings or plans need: a refusal leaves others complete."""


def reduced(plural: str, document: Document) -> dict[str, Any]:
    """Return the fields of an object that the toolkit reads, in the shape of resource.k8s.io/v1.

    Args:
        plural: One of `KEPT`.
        document: The object as the API server sent it, of any served version.
    """
    if plural in QUEUE_KINDS:
        of_queue: dict[str, Any] = pruned(document, QUEUE_KINDS[plural][0].tree)
        return of_queue
    plugin = plural == "pods" and _registers(document)
    kept: dict[str, Any] = pruned(upgraded(plural, document), _PLUGIN if plugin else KEPT[plural])
    return kept


def _registers(pod: Document) -> bool:
    """Whether a pod mounts the folder in which kubelet plugins register themselves."""
    spec = pod.get("spec")
    volumes = spec.get("volumes") if isinstance(spec, Mapping) else None
    return isinstance(volumes, list) and any(REGISTRATION in str(one) for one in volumes)


def pruned(value: Any, tree: Tree) -> Any:
    """Return the part of a value that a tree names; what has another shape stays as it is."""
    if isinstance(tree, dict) and isinstance(value, dict):
        return {
            key: value[key] if inner is True else pruned(value[key], inner)
            for key, inner in tree.items()
            if key in value
        }
    if isinstance(tree, list) and isinstance(value, list):
        return [pruned(item, tree[0]) for item in value]
    # A scalar where the API has an object is malformed, and parsing will name the field.
    return value if tree is True or not isinstance(value, dict | list) else None


def named_labels(objects: Mapping[str, Iterable[Document]]) -> frozenset[str]:
    """Return the label keys that a selector in any of the objects names, and the well-known ones.

    Args:
        objects: Reduced objects by plural.
    """
    found = set(WELL_KNOWN_LABELS)
    for plural in ("resourceslices", "resourceclaims", "pods"):
        for document in objects.get(plural, ()):
            found.update(_selector_keys(document))
    return frozenset(found)


def _selector_keys(value: Any) -> Iterator[str]:
    """Yield the keys of `matchExpressions` and of `nodeSelector` maps, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from _selector_keys(item)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key == "matchExpressions" and isinstance(inner, list):
            yield from (str(one.get("key")) for one in inner if isinstance(one, dict))
        elif key == "nodeSelector" and isinstance(inner, dict):
            yield from map(str, inner)
        yield from _selector_keys(inner)


def selected_labels(budgets: Iterable[Document]) -> frozenset[str]:
    """Return the label keys of pods that a PodDisruptionBudget names, and those with a meaning."""
    found = {*KUEUE, *QUEUE_LABELS, MAINTENANCE, *GANGS, TEMPLATE_HASH, *WORKLOADS}
    for budget in budgets:
        spec = budget.get("spec")
        selector = spec.get("selector") if isinstance(spec, Mapping) else None
        if isinstance(selector, Mapping):
            found.update(_selector_keys(selector))
            labels = selector.get("matchLabels")
            found.update(map(str, labels) if isinstance(labels, Mapping) else ())
    return frozenset(found)


def with_labels(
    node: Document, keys: frozenset[str], prefixes: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return a reduced Node or Pod with these of its labels, and those with a prefix, alone."""
    metadata = node.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(labels, Mapping):
        return dict(node)
    kept = {key: value for key, value in labels.items() if key in keys or key.startswith(prefixes)}
    return {**node, "metadata": {**metadata, "labels": kept}}


def without_terms(pod: Document) -> Document:
    """Return a reduced Pod that says only how many terms of anti-affinity it has."""
    spec = pod.get("spec")
    affinity = spec.get("affinity") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(affinity, Mapping):
        return pod
    kept = pruned(dict(affinity), {**_POD_SPEC["affinity"], "podAntiAffinity": _BARE})  # type: ignore[dict-item]  # it is a mapping
    return {**pod, "spec": {**spec, "affinity": kept}}


_BARE: Tree = {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}
