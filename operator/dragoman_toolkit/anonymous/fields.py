"""The fields of a snapshot without names, and how each is treated; all others are left out."""

from collections.abc import Mapping

from dragoman.inventory.snapshots.documents import (
    HARMLESS_VOLUMES,
    MIRROR,
    PREEMPTIBLE,
    QUEUE_ANNOTATIONS,
)
from dragoman_toolkit.anonymous.parts import (
    AMOUNTS,
    API_WORDS,
    BOOLEAN,
    CLAIM_SPEC,
    CONDITIONS,
    CONFIG,
    CONTAINER_STATUSES,
    CONTAINERS,
    COUNTERS,
    DEVICE_FIELDS,
    NODE_SELECTOR,
    RESOURCES,
    RESULT,
    SELECTORS,
    STATUS,
    TAINT,
    TOLERATION,
    metadata,
)
from dragoman_toolkit.anonymous.treatments import (
    ATTRIBUTE,
    CLASS,
    CONDITION,
    DEVICE,
    DRIVER,
    ENTRY,
    FACT,
    NAMESPACE,
    NODE_NAME,
    OBJECT,
    PATH,
    PROGRAM,
    REASON,
    REQUEST,
    RESOURCE_NAME,
    SCHEDULER,
    TIME,
    UID,
    VERSION,
    WEBHOOK,
    named,
    number,
    quantity,
    quota_key,
    words,
)
from dragoman_toolkit.anonymous.walk import (
    KeyedValues,
    MapOf,
    Tree,
    labels,
)

LABEL_SELECTOR: Tree = {"matchLabels": labels, "matchExpressions": [KeyedValues()]}
FIELDS: Mapping[str, Mapping[str, Tree]] = {
    "nodes": {
        "metadata": {**metadata(NODE_NAME), "labels": labels},
        "spec": {"unschedulable": number, "taints": [TAINT]},
        "status": {
            "allocatable": AMOUNTS,
            "capacity": AMOUNTS,
            "nodeInfo": {"kubeletVersion": VERSION},
            "declaredFeatures": [named("feature")],
            "conditions": CONDITIONS,
        },
    },
    "pods": {
        "metadata": {
            **metadata(OBJECT),
            "annotations": {
                PREEMPTIBLE: BOOLEAN,
                MIRROR: named("uid"),
                **dict.fromkeys(QUEUE_ANNOTATIONS, OBJECT),
            },
            "labels": labels,
        },
        "spec": {
            "nodeName": NODE_NAME,
            "schedulerName": SCHEDULER,
            "schedulingGates": [{"name": named("gate")}],
            "schedulingGroup": {"podGroupName": OBJECT},
            "nodeSelector": labels,
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": NODE_SELECTOR},
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]},
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "topologyKey": named("topology"),
                            "labelSelector": LABEL_SELECTOR,
                            "namespaces": [NAMESPACE],
                            "namespaceSelector": LABEL_SELECTOR,
                        }
                    ]
                },
            },
            "topologySpreadConstraints": [
                {"whenUnsatisfiable": words("DoNotSchedule", "ScheduleAnyway")}
            ],
            "priority": number,
            "preemptionPolicy": words("Never", "PreemptLowerPriority"),
            "terminationGracePeriodSeconds": number,
            "tolerations": [TOLERATION],
            "overhead": AMOUNTS,
            "resourceClaims": [
                {"name": ENTRY, "resourceClaimName": OBJECT, "resourceClaimTemplateName": OBJECT}
            ],
            "resources": RESOURCES,
            "containers": CONTAINERS,
            "initContainers": CONTAINERS,
            "volumes": [
                {
                    "hostPath": {"path": PATH},
                    "persistentVolumeClaim": {},
                    "ephemeral": {},
                    "csi": {},
                    **{kind: {} for kind in HARMLESS_VOLUMES - {"hostPath"}},
                }
            ],
        },
        "status": {
            "nominatedNodeName": NODE_NAME,
            "phase": words("Pending", "Running", "Succeeded", "Failed", "Unknown"),
            "startTime": TIME,
            "resourceClaimStatuses": [{"name": ENTRY, "resourceClaimName": OBJECT}],
            "extendedResourceClaimStatus": {
                "resourceClaimName": OBJECT,
                "requestMappings": [
                    {
                        "containerName": PROGRAM,
                        "resourceName": RESOURCE_NAME,
                        "requestName": REQUEST,
                    }
                ],
            },
            "containerStatuses": CONTAINER_STATUSES,
            "initContainerStatuses": CONTAINER_STATUSES,
            # Messages of the scheduler name nodes and claims.
            "conditions": [
                {
                    "type": CONDITION,
                    "status": STATUS,
                    "reason": REASON,
                    "message": words(),
                    "lastTransitionTime": TIME,
                }
            ],
        },
    },
    "resourceclaims": {
        "metadata": metadata(OBJECT),
        "spec": CLAIM_SPEC,
        "status": {
            "allocation": {
                "devices": {"results": [RESULT], "config": CONFIG},
                "nodeSelector": NODE_SELECTOR,
                "allocationTimestamp": TIME,
            },
            "reservedFor": [
                {
                    "apiGroup": words("scheduling.k8s.io"),
                    "resource": words("pods", "podgroups"),
                    "name": OBJECT,
                    "uid": UID,
                }
            ],
            "devices": [
                {
                    "driver": DRIVER,
                    "pool": NODE_NAME,
                    "device": DEVICE,
                    "shareID": named("share"),
                    "conditions": CONDITIONS,
                }
            ],
        },
    },
    "resourceclaimtemplates": {"metadata": metadata(OBJECT), "spec": {"spec": CLAIM_SPEC}},
    "resourceslices": {
        "metadata": {**metadata(named("slice")), "generation": number},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": NODE_NAME, "generation": number, "resourceSliceCount": number},
            "nodeName": NODE_NAME,
            "nodeSelector": NODE_SELECTOR,
            "allNodes": number,
            "perDeviceNodeSelection": number,
            "devices": [DEVICE_FIELDS],
            "sharedCounters": [{"name": FACT, "counters": COUNTERS}],
            "partitionTypeAttribute": ATTRIBUTE,
            "skipNodeOperations": [FACT],
        },
    },
    "deviceclasses": {
        "metadata": metadata(CLASS),
        "spec": {
            "selectors": SELECTORS,
            "extendedResourceName": RESOURCE_NAME,
            "config": CONFIG,
        },
    },
    "devicetaintrules": {
        "metadata": metadata(named("rule")),
        "spec": {
            "deviceSelector": {"driver": DRIVER, "pool": NODE_NAME, "device": DEVICE},
            "taint": TAINT,
        },
    },
    "resourcequotas": {
        "metadata": metadata(OBJECT),
        "spec": {"hard": MapOf(quota_key, quantity)},
        "status": {"hard": MapOf(quota_key, quantity), "used": MapOf(quota_key, quantity)},
    },
    "namespaces": {
        "metadata": {
            **metadata(NAMESPACE),
            "annotations": {PREEMPTIBLE: BOOLEAN},
            "labels": labels,
        }
    },
    "poddisruptionbudgets": {
        "metadata": {**metadata(OBJECT), "generation": number},
        "spec": {
            "selector": LABEL_SELECTOR,
            "unhealthyPodEvictionPolicy": words("IfHealthyBudget", "AlwaysAllow"),
        },
        "status": {
            "disruptionsAllowed": number,
            "currentHealthy": number,
            "desiredHealthy": number,
            "disruptedPods": MapOf(OBJECT, TIME),
            "observedGeneration": number,
        },
    },
    "driverconfigschemas": {
        "metadata": metadata(named("schema")),
        "spec": {"driver": DRIVER, "mode": words("Enforce", "Warn", "Audit", "Off")},
    },
    "validatingwebhookconfigurations": {
        "metadata": metadata(named("webhook")),
        "webhooks": [
            {
                "name": WEBHOOK,
                "rules": [
                    {
                        "apiGroups": [API_WORDS],
                        "apiVersions": [API_WORDS],
                        "operations": [API_WORDS],
                        "resources": [API_WORDS],
                        "scope": API_WORDS,
                    }
                ],
            }
        ],
    },
}
"""By plural; every field that the toolkit reads is here."""
