"""Fields that several kinds of a snapshot without names have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dragoman.inventory.snapshots.documents import (
    EXTENDED_RESOURCE_ANNOTATION,
    KINDS,
    LEFT_CONSUMERS_ANNOTATION,
    MAINTENANCE,
    OVERLAPPED,
    POD_CLAIM_ANNOTATION,
    PREEMPTION,
)
from dragoman.model.departure import record, recorded
from dragoman_toolkit.anonymous.tokens import NODE
from dragoman_toolkit.anonymous.treatments import (
    API_VERSION,
    ATTRIBUTE,
    CAPACITY,
    CLASS,
    CONDITION,
    DEVICE,
    DRIVER,
    ENTRY,
    EXPRESSION,
    FACT,
    FINALIZER,
    IMAGE,
    KEY,
    KIND,
    NAMESPACE,
    NODE_NAME,
    OWNER,
    PROGRAM,
    REASON,
    REQUEST,
    RESOURCE_ID,
    RESOURCE_NAME,
    TIME,
    UID,
    VALUE,
    NameTreatment,
    Treatment,
    named,
    number,
    quantity,
    words,
)
from dragoman_toolkit.anonymous.walk import (
    KeyedValues,
    MapOf,
    Tree,
)


def _without_names(names: NameTreatment, value: Any) -> Any:
    if not isinstance(value, str):
        return ""
    found = [
        replace(
            one,
            uid=names.token("uid", one.uid),
            pod=names.token("object", one.pod),
            node=names.token(NODE, one.node) if one.node else "",
            node_uid=names.token("uid", one.node_uid) if one.node_uid else "",
        )
        for one in recorded(value).values()
    ]
    return record(found)


DEPARTURES: Treatment = _without_names


_EFFECT = words("NoSchedule", "NoExecute", "PreferNoSchedule", "None")
BOOLEAN = words("true", "false")
STATUS = words("True", "False", "Unknown")
_TERM: Tree = {"matchExpressions": [KeyedValues()], "matchFields": [KeyedValues()]}
NODE_SELECTOR: Tree = {"nodeSelectorTerms": [_TERM]}
TAINT: Tree = {"key": KEY, "value": VALUE, "effect": _EFFECT, "timeAdded": TIME}
TOLERATION: Tree = {
    "key": KEY,
    "operator": words("Equal", "Exists", "Gt", "Lt"),
    "value": VALUE,
    "effect": _EFFECT,
    "tolerationSeconds": number,
}
CONDITIONS: Tree = [
    {"type": CONDITION, "status": STATUS, "reason": REASON, "lastTransitionTime": TIME}
]
AMOUNTS = MapOf(RESOURCE_NAME, quantity)
_CAPACITIES = MapOf(CAPACITY, quantity)
COUNTERS = MapOf(FACT, {"value": quantity})


def metadata(name: Treatment) -> Mapping[str, Tree]:
    """Return the fields of an object's metadata; names are treated as said."""
    return {
        "name": name,
        "namespace": NAMESPACE,
        "uid": UID,
        "creationTimestamp": TIME,
        "deletionTimestamp": TIME,
        "ownerReferences": [
            {
                "apiVersion": API_VERSION,
                "kind": KIND,
                "name": OWNER,
                "uid": UID,
                "controller": number,
                "blockOwnerDeletion": number,
            }
        ],
        "finalizers": [FINALIZER],
        "managedFields": [
            {
                "manager": PROGRAM,
                "apiVersion": API_VERSION,
                "subresource": words("status"),
                "time": TIME,
            }
        ],
        "annotations": {
            POD_CLAIM_ANNOTATION: ENTRY,
            EXTENDED_RESOURCE_ANNOTATION: words("true"),
            LEFT_CONSUMERS_ANNOTATION: DEPARTURES,
            OVERLAPPED: words("true"),
        },
        "labels": {MAINTENANCE: named("maintenance"), PREEMPTION: UID},
    }


SELECTORS: Tree = [{"cel": {"expression": EXPRESSION}}]
_EXACTLY: Mapping[str, Tree] = {
    "deviceClassName": CLASS,
    "allocationMode": words("All", "ExactCount"),
    "count": number,
    "adminAccess": number,
    "selectors": SELECTORS,
    "tolerations": [TOLERATION],
    "capacity": {"requests": _CAPACITIES},
    "derivedAttributes": [{"name": ATTRIBUTE, "expression": EXPRESSION}],
}
CONFIG: Tree = [
    {
        "requests": [REQUEST],
        "source": words("FromClass", "FromClaim"),
        "opaque": {"driver": DRIVER},
    }
]
CLAIM_SPEC: Tree = {
    "devices": {
        "requests": [
            {
                "name": REQUEST,
                "exactly": _EXACTLY,
                "firstAvailable": [{"name": REQUEST, **_EXACTLY}],
            }
        ],
        "constraints": [
            {"requests": [REQUEST], "matchAttribute": ATTRIBUTE, "distinctAttribute": ATTRIBUTE}
        ],
        "config": CONFIG,
    }
}
RESULT: Tree = {
    "request": REQUEST,
    "driver": DRIVER,
    "pool": NODE_NAME,
    "device": DEVICE,
    "adminAccess": number,
    "shareID": named("share"),
    "consumedCapacity": _CAPACITIES,
    "tolerations": [TOLERATION],
    "bindingConditions": [CONDITION],
    "bindingFailureConditions": [CONDITION],
}
DEVICE_FIELDS: Tree = {
    "name": DEVICE,
    "attributes": MapOf(
        FACT,
        {
            **dict.fromkeys(("bool", "int"), number),
            **{key: [number] for key in ("bools", "ints")},
            **dict.fromkeys(("string", "version"), FACT),
            **{key: [FACT] for key in ("strings", "versions")},
        },
    ),
    "capacity": MapOf(
        FACT,
        {
            "value": quantity,
            "requestPolicy": {
                "default": quantity,
                "validValues": [quantity],
                "validRange": dict.fromkeys(("min", "max", "step"), quantity),
            },
        },
    ),
    "consumesCounters": [{"counterSet": FACT, "counters": COUNTERS, "compatibilityGroups": [FACT]}],
    "nodeName": NODE_NAME,
    "nodeSelector": NODE_SELECTOR,
    "allNodes": number,
    "allowMultipleAllocations": number,
    "bindsToNode": number,
    "bindingConditions": [CONDITION],
    "bindingFailureConditions": [CONDITION],
    "taints": [TAINT],
}
_CLAIMS: Tree = [{"name": ENTRY, "request": REQUEST}]
RESOURCES: Tree = {"requests": AMOUNTS, "limits": AMOUNTS, "claims": _CLAIMS}
CONTAINERS: Tree = [
    {
        "name": PROGRAM,
        "image": IMAGE,
        "restartPolicy": words("Always", "Never", "OnFailure"),
        "resources": RESOURCES,
        "ports": [{"hostPort": number}],
    }
]
API_WORDS = words(
    *("*", "resource.k8s.io", "v1", "v1beta1", "v1beta2", "v1alpha3"),
    *("CREATE", "UPDATE", "DELETE", "CONNECT", "Cluster", "Namespaced"),
    *KINDS.values(),
)
CONTAINER_STATUSES: Tree = [
    {
        "name": PROGRAM,
        "imageID": IMAGE,
        "allocatedResourcesStatus": [
            {
                "resources": [
                    {
                        "resourceID": RESOURCE_ID,
                        "health": words("Healthy", "Unhealthy", "Unknown"),
                    }
                ]
            }
        ],
        # Messages of the kubelet name images, paths and devices.
        "state": {
            "waiting": {"reason": REASON, "message": words()},
            "terminated": {"reason": REASON, "exitCode": number, "finishedAt": TIME},
        },
    }
]
