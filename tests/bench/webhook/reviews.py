"""The AdmissionReviews of the benchmark, as an API server sends them.

What is `@NUMBER@` in them becomes another number in every request, as uids and names do.
"""

import json
from collections.abc import Sequence
from typing import Any

NUMBER = "@NUMBER@"
_LITERAL = f'"{NUMBER}"'
DRIVER = "gpu.example.com"
KIND = {"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "GpuConfig"}
VERSION = {"group": "resource.k8s.io", "version": "v1"}
USER = {
    "username": "system:serviceaccount:kube-system:resource-claim-controller",
    "uid": "7c1f2c1a-95a4-4f0e-8a25-0a5d7e6a1f11",
    "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    "extra": {
        "authentication.kubernetes.io/credential-id": ["JTI=3d5f1c0e-6c62-4f0b-8a57-b7d8a4b6e0c1"]
    },
}


def shared(count: Any) -> dict[str, Any]:
    """Return a GpuConfig that shares a GPU between so many partitions."""
    partitions = {"partitionCount": count}
    return {
        **KIND,
        "sharing": {"strategy": "SpacePartitioning", "spacePartitioningConfig": partitions},
    }


def body(parameters: Sequence[dict[str, Any]], driver: str = DRIVER) -> bytes:
    """Write the review of a new claim with one config entry, and request, for each parameters.

    Args:
        parameters: A value `NUMBER` in them becomes a number.
        driver: The driver of all entries.
    """
    names = [f"gpu-{index}" for index in range(len(parameters))]
    config = [
        {"requests": [name], "opaque": {"driver": driver, "parameters": one}}
        for name, one in zip(names, parameters, strict=True)
    ]
    text = json.dumps(_review(_claim(names, config)), separators=(",", ":"), ensure_ascii=False)
    return text.replace(_LITERAL, NUMBER).encode()


def _claim(names: Sequence[str], config: Sequence[dict[str, Any]]) -> dict[str, Any]:
    requests = [
        {
            "name": name,
            "exactly": {
                "deviceClassName": "gpu.example.com",
                "allocationMode": "ExactCount",
                "count": 1,
            },
        }
        for name in names
    ]
    return {
        "kind": "ResourceClaim",
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {
            "name": f"train-{NUMBER}-gpu-x7k2p",
            "generateName": f"train-{NUMBER}-gpu-",
            "namespace": "research",
            "uid": f"5a0d7c5e-1111-4222-8333-0000{NUMBER}",
            "creationTimestamp": "2026-11-21T12:00:00Z",
            "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": f"train-{NUMBER}",
                    "uid": f"0d9c7a55-1111-4222-8333-0000{NUMBER}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"devices": {"requests": requests, "config": config}},
        "status": {},
    }


def _review(claim: dict[str, Any]) -> dict[str, Any]:
    kind, resource = {**VERSION, "kind": "ResourceClaim"}, {**VERSION, "resource": "resourceclaims"}
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": f"9e4b6a10-1111-4222-8333-0000{NUMBER}",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": f"train-{NUMBER}-gpu-x7k2p",
            "namespace": "research",
            "operation": "CREATE",
            "userInfo": USER,
            "object": claim,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }
