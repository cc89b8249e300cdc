"""Kinds of queue managers, as snapshots have them: which versions are read, and which fields.

Sources: Kueue v0.19 apis/kueue/v1beta2, Volcano v1.15 scheduling.volcano.sh/v1beta1, KAI v0.18
scheduling.run.ai/v2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Tree = bool | Mapping[str, Any] | list[Any]

_METADATA: Tree = {
    "name": True,
    "namespace": True,
    "uid": True,
    "creationTimestamp": True,
    "deletionTimestamp": True,
    "ownerReferences": True,
    "labels": {
        "app.kubernetes.io/version": True,
        "kueue.x-k8s.io/queue-name": True,
    },
}
_CONDITIONS: Tree = [
    {"type": True, "status": True, "reason": True, "message": True, "lastTransitionTime": True}
]
_CONTAINER: Tree = {"name": True, "restartPolicy": True, "resources": True}
_POD_SPEC: Tree = {
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "resourceClaims": True,
}


@dataclass(frozen=True, slots=True)
class QueueKind:
    """One kind."""

    group: str  # API group
    plural: str  # In URLs
    kind: str  # In objects
    versions: tuple[str, ...]  # That are understood, the best first
    tree: Tree  # Fields that are kept, in the notation of `documents.KEPT`
    namespaced: bool = False  # Whether its objects have namespaces
    # Fields of the list, which is all that a right with `resourceNames` allows
    selector: str = ""
    helpful: bool = False  # Whether answers are complete without it

    @property
    def key(self) -> str:
        """Under which snapshots have its objects: `queues` alone would be three kinds."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_KUEUE = ("kueue.x-k8s.io", ("v1beta2", "v1beta1"))
_VOLCANO = ("scheduling.volcano.sh", ("v1beta1",))


def _kind(
    api: tuple[str, tuple[str, ...]],
    plural: str,
    kind: str,
    tree: Mapping[str, Any],
    **more: Any,
) -> QueueKind:
    return QueueKind(api[0], plural, kind, api[1], {"metadata": _METADATA, **tree}, **more)


_KINDS = (
    _kind(
        _KUEUE,
        "clusterqueues",
        "ClusterQueue",
        {
            "spec": {
                **dict.fromkeys(("cohort", "cohortName", "resourceGroups", "stopPolicy"), True),
                "admissionChecks": True,
            },
            "status": {
                "conditions": _CONDITIONS,
                "flavorsReservation": True,
                "flavorsUsage": True,
            },
        },
    ),
    _kind(
        _KUEUE,
        "localqueues",
        "LocalQueue",
        {
            "spec": {"clusterQueue": True, "stopPolicy": True},
            "status": {"conditions": _CONDITIONS, "flavorsReservation": True},
        },
        namespaced=True,
    ),
    _kind(
        _KUEUE,
        "cohorts",
        "Cohort",
        {"spec": {"parent": True, "parentName": True, "resourceGroups": True}},
    ),
    _kind(
        _KUEUE,
        "workloads",
        "Workload",
        {
            "spec": {
                "active": True,
                "queueName": True,
                "podSets": [{"name": True, "count": True, "template": {"spec": _POD_SPEC}}],
            },
            "status": {
                "conditions": _CONDITIONS,
                "admission": {
                    "clusterQueue": True,
                    "podSetAssignments": [
                        {"name": True, "flavors": True, "resourceUsage": True, "count": True}
                    ],
                },
                "reclaimablePods": True,
                "resourceRequests": True,
                "admissionChecks": [{"name": True, "state": True, "message": True}],
            },
        },
        namespaced=True,
    ),
    _kind(
        _VOLCANO,
        "queues",
        "Queue",
        {
            "spec": dict.fromkeys(("capability", "deserved", "guarantee", "parent"), True),
            "status": {"allocated": True, "state": True},
        },
    ),
    _kind(
        _VOLCANO,
        "podgroups",
        "PodGroup",
        {
            "spec": {"queue": True, "minMember": True, "minResources": True},
            "status": {"phase": True, "conditions": _CONDITIONS},
        },
        namespaced=True,
    ),
    _kind(
        ("scheduling.run.ai", ("v2",)),
        "queues",
        "Queue",
        {
            "spec": {"parentQueue": True, "resources": True},
            "status": dict.fromkeys(("allocated", "requested", "childQueues"), True),
        },
    ),
    _kind(
        ("batch", ("v1",)),
        "jobs",
        "Job",
        {
            "spec": {"suspend": True},
            "status": {"succeeded": True, "failed": True},
        },
        namespaced=True,
        helpful=True,
    ),
    *(
        kind
        for name, config in (
            ("kueue-controller-manager", "kueue-manager-config"),
            ("volcano-scheduler", "volcano-scheduler-configmap"),
        )
        for kind in (
            _kind(
                ("apps", ("v1",)),
                "deployments",
                "Deployment",
                {"spec": {"template": {"spec": {"containers": [{"image": True, "args": True}]}}}},
                namespaced=True,
                selector=f"metadata.name={name}",
                helpful=True,
            ),
            _kind(
                ("", ("v1",)),
                "configmaps",
                "ConfigMap",
                {
                    "data": {
                        "controller_manager_config.yaml": True,
                        "volcano-scheduler.conf": True,
                    }
                },
                namespaced=True,
                selector=f"metadata.name={config}",
                helpful=True,
            ),
        )
    ),
)
MANAGERS: Mapping[str, str] = {
    "kueue.x-k8s.io": "kueue",
    "scheduling.volcano.sh": "volcano",
    "scheduling.run.ai": "kai",
}
"""Queue managers by their group: without one of them nothing here is read."""
KAI_LABEL = "kai.scheduler/queue"
"""Label of pods whose place KAI decides; it sets no scheduling gates."""


def _by_key() -> dict[str, tuple[QueueKind, ...]]:
    found: dict[str, tuple[QueueKind, ...]] = {}
    for one in _KINDS:
        found[one.key] = (*found.get(one.key, ()), one)
    return found


QUEUE_KINDS: Mapping[str, tuple[QueueKind, ...]] = _by_key()
"""By key; kinds of one key differ in what is selected of them."""
_KEYS = {(one.group, one.kind): one.key for one in _KINDS}


def queue_key(document: Mapping[str, Any]) -> str:
    """Return the key of an object in a file; empty for one of no queue manager."""
    group = str(document.get("apiVersion") or "").rpartition("/")[0]
    return _KEYS.get((group, str(document.get("kind") or "")), "")
