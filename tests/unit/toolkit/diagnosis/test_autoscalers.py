"""Why autoscalers add no node: what they wrote, and nothing that they did not write.

Statuses and Events are in the form of cluster-autoscaler 1.30 to 1.35 and Karpenter 1.0 to 1.14.
"""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from dragoman.inventory.facts.parser import pod_fact
from dragoman_toolkit.diagnosis.autoscalers import AutoscalerFacts, of_pod

NOW = "2026-04-01T12:00:00Z"
UID = "uid-of-pod"
Json = dict[str, Any]
CAUSES = (
    *("maximum", "backoff", "unhealthy", "does not run", "has said nothing", "waits for"),
    *("grows", "NodeClaim", "NodePool", "IGNORE_DRA_REQUESTS", "not read", "scheduling gates"),
)
"""Words of causes: a text has those that are expected, and no other."""


def pod(created: str = "11:00", **spec: Any) -> Json:
    entries = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    return {
        "metadata": {
            "name": "p",
            "namespace": "ml",
            "uid": UID,
            "creationTimestamp": f"2026-04-01T{created}:00Z",
        },
        "spec": {"containers": [{"name": "main"}], "resourceClaims": entries, **spec},
        "status": {"phase": "Pending"},
    }


def event(reason: str, message: str, last: str = "11:58", uid: str = UID, **more: Any) -> Json:
    return {
        "reason": reason,
        "message": message,
        "lastTimestamp": f"2026-04-01T{last}:00Z",
        "involvedObject": {"uid": uid},
        **more,
    }


def group(name: str = "gpu-pool", target: int = 2, most: int = 8, **more: Any) -> Json:
    """Make a node group of the status; `unready` nodes lack a resource."""
    unready, scaling = more.pop("unready", 0), more.pop("scaling", {"status": "NoActivity"})
    registered = {"total": target, "unready": {"total": unready, "resourceUnready": unready}}
    counts = {"registered": registered}
    health = {"status": "Healthy", "nodeCounts": counts, "cloudProviderTarget": target}
    return {"name": name, "health": {**health, "maxSize": most, **more}, "scaleUp": scaling}


def status(*groups: Json, time: str = "11:59:30", state: str = "Running") -> str:
    stamp = f"2026-04-01 {time}.546750398 +0000 UTC"
    return yaml.safe_dump({"time": stamp, "autoscalerStatus": state, "nodeGroups": [*groups]})


def backoff(code: str, message: str) -> Json:
    info = {"errorCode": code, "errorMessage": message}
    return {"status": "Backoff", "backoffInfo": info}


def node_claim(kind: str, reason: str = "", message: str = "", **annotations: str) -> Json:
    """Make a NodeClaim that has not come beyond a condition; empty for one that is ready."""
    order = ["Launched", "Registered", "Initialized"]
    at = order.index(kind) if kind else len(order)
    rows: list[Json] = [{"type": one, "status": "True", "reason": one} for one in order[:at]]
    if kind:
        failing = {"type": kind, "status": "Unknown", "reason": reason, "message": message}
        rows.append({**failing, "lastTransitionTime": "2026-04-01T11:30:00Z"})
    keys = {f"karpenter.sh/{key.replace('_', '-')}": text for key, text in annotations.items()}
    metadata = {"name": "gpu-x7f2", "uid": "uid-of-claim", "annotations": keys}
    return {"metadata": metadata, "status": {"conditions": rows}}


def pool(*conditions: tuple[str, str, str]) -> Json:
    rows = [
        {"type": kind, "status": "False", "reason": reason, "message": message}
        for kind, reason, message in conditions
    ]
    return {"metadata": {"name": "gpu", "uid": "uid-of-pool"}, "status": {"conditions": rows}}


OLD = "Cluster-autoscaler status at 2023-11-24 04:28:19.54 +0000 UTC:\nCluster-wide:\n  Health: ok"
NO_ROOM = "pod didn't trigger scale-up: 1 max node group size reached, 3 cannot allocate all claims"
UP = "pod triggered scale-up: [{gpu-pool 3->4 (max: 10)}]"
IGNORES = "Karpenter: it ignores claims of pods unless IGNORE_DRA_REQUESTS=false is set"
DRA = {"requested_dra_drivers": "gpu.nvidia.com"}
CASES: dict[str, tuple[Mapping[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    # Cluster Autoscaler: facts, texts, causes.
    "grows": (
        {"events": (event("TriggeredScaleUp", UP),), "status": status(group())},
        ("node group gpu-pool grows from 3 to 4, of at most 10, since 2m",),
        ("grows",),
    ),
    "grows in two groups": (
        {
            "events": (
                event("TriggeredScaleUp", "pod triggered scale-up: [{a 0->1 (max: 4)} {b 2->5}]"),
            )
        },
        ("node group a grows from 0 to 1, of at most 4", "node group b grows from 2 to 5, since"),
        ("grows",),
    ),
    "not triggered": (
        {"events": (event("NotTriggerScaleUp", NO_ROOM),), "status": status(group())},
        ("cluster-autoscaler, 2m ago: pod didn't trigger", "3 cannot allocate all claims"),
        (),
    ),
    "the newest event counts": (
        {
            "events": (
                event("NotTriggerScaleUp", NO_ROOM, "11:40"),
                event("TriggeredScaleUp", UP, "11:59"),
            )
        },
        ("grows from 3 to 4",),
        ("grows",),
    ),
    "an event of another pod": (
        {
            "events": (event("TriggeredScaleUp", UP, uid="another"),),
            "status": status(group()),
            "pod": pod("11:59"),
        },
        (),
        (),
    ),
    "a series of events": (
        {
            "events": (
                event(
                    "NotTriggerScaleUp",
                    NO_ROOM,
                    "09:00",
                    series={"lastObservedTime": "2026-04-01T11:59:30.000000Z"},
                ),
            )
        },
        ("cluster-autoscaler, 30s ago",),
        (),
    ),
    "at its maximum": (
        {"status": status(group(target=8)), "pod": pod("11:59")},
        ("node group gpu-pool has its maximum of 8 nodes",),
        ("maximum",),
    ),
    "maximum of one": (
        {"status": status(group(target=1, most=1)), "pod": pod("11:59")},
        ("its maximum of 1 node",),
        ("maximum",),
    ),
    "quota": (
        {
            "status": status(group(scaling=backoff("QUOTA_EXCEEDED", "Quota 'GPUS' exceeded"))),
            "pod": pod("11:59"),
        },
        ("gpu-pool is in backoff: QUOTA_EXCEEDED: Quota 'GPUS' exceeded",),
        ("backoff",),
    ),
    "stock-out": (
        {
            "status": status(
                group(scaling=backoff("RESOURCE_POOL_EXHAUSTED", "zone has\n  no capacity"))
            ),
            "pod": pod("11:59"),
        },
        ("RESOURCE_POOL_EXHAUSTED: zone has no capacity",),
        ("backoff",),
    ),
    "backoff without a cause": (
        {"status": status(group(scaling={"status": "Backoff"})), "pod": pod("11:59")},
        ("gpu-pool is in backoff",),
        ("backoff",),
    ),
    "resource unready": (
        {"status": status(group(unready=2)), "pod": pod("11:59")},
        ("gpu-pool: 2 nodes without a resource that cluster-autoscaler waits for; with DRA",),
        ("waits for",),
    ),
    "unhealthy": (
        {"status": status(group(status="Unhealthy")), "pod": pod("11:59")},
        ("gpu-pool is unhealthy: 2 of 2 nodes have registered",),
        ("unhealthy",),
    ),
    "it does not run": (
        {"status": status(group(), time="11:20:00"), "pod": pod("11:59")},
        ("its status was last written 40m ago: it does not run",),
        ("does not run",),
    ),
    "initializing": (
        {"status": status(group(), state="Initializing"), "pod": pod("11:59")},
        ("cluster-autoscaler: it is Initializing",),
        (),
    ),
    "the form before 1.30": (
        {"status": OLD, "pod": pod("11:59")},
        ("its status is not in YAML, as since version 1.30, and not read",),
        ("not read",),
    ),
    "silence": (
        {"status": status(group())},
        ("cluster-autoscaler has said nothing about the pod",),
        ("has said nothing",),
    ),
    "Events that may not be read are no silence": (
        {"status": status(group()), "unread": ("events",)},
        ("not read: events",),
        ("not read",),
    ),
    "silence about a gated pod": (
        {"status": status(group()), "held": True},
        ("has said nothing about the pod: its scheduling gates hold the pod back",),
        ("has said nothing", "scheduling gates"),
    ),
    "silence about a pod of low priority": (
        {"status": status(group()), "pod": pod(priority=-100)},
        ("its priority -100 is below -10",),
        ("has said nothing",),
    ),
    "silence about a pod of another scheduler": (
        {"status": status(group()), "pod": pod(schedulerName="volcano")},
        ("the pod is placed by volcano",),
        ("has said nothing",),
    ),
    "too early to be silent": ({"status": status(group()), "pod": pod("11:57")}, (), ()),
    # Karpenter.
    "nominated": (
        {
            "events": (event("Nominated", "Pod should schedule on: nodeclaim/gpu-x7f2"),),
            "claims": (node_claim("", **DRA),),
        },
        ("Karpenter, 2m ago: Pod should schedule on: nodeclaim/gpu-x7f2",),
        (),
    ),
    "no instance type": (
        {
            "events": (
                event(
                    "FailedScheduling",
                    'Failed to schedule pod, incompatible with nodepool "gpu", no instance type '
                    "satisfied resources",
                ),
            ),
            "claims": (node_claim("", **DRA),),
        },
        ('incompatible with nodepool "gpu", no instance type satisfied resources',),
        (),
    ),
    "a resource that does not come": (
        {
            "claims": (
                node_claim(
                    "Initialized",
                    "ResourceNotRegistered",
                    'Resource "nvidia.com/gpu" was requested but not registered',
                    **DRA,
                ),
            )
        },
        (
            "NodeClaim gpu-x7f2 is not initialized since 30m: ResourceNotRegistered",
            "It waits for nvidia.com/gpu in status.allocatable, which no DRA driver fills",
        ),
        ("NodeClaim", "waits for"),
    ),
    "pools that are not published": (
        {
            "claims": (
                node_claim(
                    "Initialized",
                    "DRADriverPoolsNotPublished",
                    'DRA driver "gpu.nvidia.com" has not published a complete resource pool',
                    **DRA,
                ),
            )
        },
        ('DRADriverPoolsNotPublished: DRA driver "gpu.nvidia.com" has not published',),
        ("NodeClaim",),
    ),
    "startup taints": (
        {
            "claims": (
                node_claim(
                    "Initialized", "StartupTaintsExist", 'StartupTaint "a:NoExecute" still exists'
                ),
            )
        },
        ("StartupTaintsExist: StartupTaint", IGNORES),
        ("NodeClaim", "IGNORE_DRA_REQUESTS"),
    ),
    "a node that is not ready": (
        {"claims": (node_claim("Initialized", "NodeNotReady", "Node status is NotReady", **DRA),)},
        ("is not initialized since 30m: NodeNotReady: Node status is NotReady",),
        ("NodeClaim",),
    ),
    "not registered": (
        {
            "claims": (
                node_claim("Registered", "NodeNotFound", "Node not registered with cluster", **DRA),
            )
        },
        ("NodeClaim gpu-x7f2 is not registered since 30m: NodeNotFound: Node not registered",),
        ("NodeClaim",),
    ),
    "not launched": (
        {
            "claims": (
                node_claim("Launched", "LaunchFailed", "creating instance, access denied", **DRA),
            )
        },
        ("is not launched since 30m: LaunchFailed: creating instance, access denied",),
        ("NodeClaim",),
    ),
    "insufficient capacity": (
        {
            "claims": (node_claim("Launched", "AwaitingReconciliation", "object is new", **DRA),),
            "events": (
                event(
                    "InsufficientCapacityError",
                    "no capacity for p5.48xlarge in us-east-1a",
                    uid="uid-of-claim",
                    type="Warning",
                ),
            ),
        },
        (
            "is not launched since 30m: object is new",
            "gpu-x7f2, InsufficientCapacityError: no capacity for p5.48xlarge in us-east-1a",
        ),
        ("NodeClaim",),
    ),
    "a condition that is not there yet": (
        {"claims": ({**node_claim("Launched", **DRA), "status": {}},)},
        ("NodeClaim gpu-x7f2 is not launched",),
        ("NodeClaim",),
    ),
    "a NodeClaim that ends": (
        {
            "claims": (
                {
                    **node_claim("Launched"),
                    "metadata": {"name": "gone", "deletionTimestamp": NOW},
                },
            ),
            "pod": pod(resourceClaims=[]),
        },
        (),
        (),
    ),
    "a ready NodeClaim": ({"claims": (node_claim("", **DRA),)}, (), ()),
    "claims are ignored": (
        {"pools": (pool(),)},
        (IGNORES,),
        ("IGNORE_DRA_REQUESTS",),
    ),
    "a pod without claims": (
        {"pools": (pool(),), "pod": pod(resourceClaims=[])},
        (),
        (),
    ),
    "a node class that is not ready": (
        {
            "pools": (pool(("NodeClassReady", "NodeClassNotReady", "subnets not found")),),
            "pod": pod(resourceClaims=[]),
        },
        ("NodePool gpu: NodeClassReady is False: NodeClassNotReady: subnets not found",),
        ("NodePool",),
    ),
    "a pool that is not valid": (
        {
            "pools": (pool(("ValidationSucceeded", "NodePoolValidationFailed", "bad label")),),
            "pod": pod(resourceClaims=[]),
        },
        ("ValidationSucceeded is False: NodePoolValidationFailed: bad label",),
        ("NodePool",),
    ),
    "nodes that do not register": (
        {
            "pools": (
                pool(
                    ("NodeRegistrationHealthy", "RegistrationFailed", "failed to register"),
                    ("Ready", "UnhealthyDependents", "NodeRegistrationHealthy=False"),
                ),
            ),
            "pod": pod(resourceClaims=[]),
        },
        ("NodeRegistrationHealthy is False: RegistrationFailed: failed to register",),
        ("NodePool",),
    ),
    "no compatible types": (
        {
            "pools": (pool(),),
            "events": (
                event(
                    "NoCompatibleInstanceTypes",
                    "NodePool requirements filtered out all compatible available instance types",
                    uid="uid-of-pool",
                ),
            ),
            "pod": pod(resourceClaims=[]),
        },
        ("NodePool gpu: NodePool requirements filtered out all compatible available",),
        ("NodePool",),
    ),
    "more NodeClaims than are shown": (
        {"claims": (node_claim("Launched", "LaunchFailed", "no", **DRA),) * 9},
        ("and 4 more such lines",),
        ("NodeClaim",),
    ),
    "what may not be read": (
        {"pools": (pool(),), "unread": ("nodeclaims.karpenter.sh",), "pod": pod(resourceClaims=[])},
        ("not read: nodeclaims.karpenter.sh",),
        ("not read",),
    ),
    "both": (
        {
            "events": (event("TriggeredScaleUp", UP),),
            "status": status(group(target=8)),
            "claims": (node_claim("Registered", "NodeNotFound", "no node", **DRA),),
        },
        ("grows from 3 to 4", "has its maximum of 8 nodes", "is not registered"),
        ("grows", "maximum", "NodeClaim"),
    ),
    "neither": ({}, (), ()),
}


@pytest.mark.parametrize("name", CASES)
def test_what_autoscalers_wrote_is_told_and_nothing_else(name: str) -> None:
    given, texts, causes = CASES[name]
    found = dict(given)
    waiting, held = pod_fact(found.pop("pod", pod())), found.pop("held", False)
    said = "\n".join(of_pod(AutoscalerFacts(NOW, **found), waiting, held=held))
    assert [text for text in texts if text not in said] == []
    assert {cause for cause in CAUSES if cause in said} == {*causes}
    assert bool(said) is bool(texts)


@pytest.mark.parametrize(
    "text",
    ["", "nodeGroups: 3", "nodeGroups: [3, {health: []}]", "a: &a [*a]", "[" * 10_000, "\x00: : :"],
)
def test_a_status_of_another_shape_is_no_error(text: str) -> None:
    facts = AutoscalerFacts(NOW, status=text, claims=({},), pools=({"status": 3},))
    said = "\n".join(of_pod(facts, pod_fact(pod())))
    assert "cluster-autoscaler has said nothing about the pod" in said
