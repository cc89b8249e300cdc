"""What the benchmark puts into a cluster: requests that make pods, claims and their states."""

from collections.abc import Iterator, Mapping
from typing import Any

from dragoman.claims.naming import claim_name
from tests.bench.claims.traffic import MERGE, STRATEGIC, Request
from tests.support import manifests as objects

Json = Mapping[str, Any]
CLASS, TEMPLATE = "gpu", "one-gpu"
PODS = "/api/v1/pods"
CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"
UNCHECKED = "?fieldValidation=Ignore"
"""As dragoman writes, so that the raw client does the same writes."""


def pods_path(namespace: str, name: str = "", subresource: str = "") -> str:
    """Return the path of a namespace's pods, of one of them or of its subresource."""
    parts = [f"/api/v1/namespaces/{namespace}/pods", name, subresource]
    return "/".join(part for part in parts if part)


def claims_path(namespace: str, name: str = "") -> str:
    """Return the path of a namespace's claims, or of one of them."""
    path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
    return f"{path}/{name}" if name else path


def create_pods(
    namespace: str, count: int, *, entries: int = 1, prefix: str = "pod"
) -> Iterator[Request]:
    """Create pods, each with so many entries that ask for a claim from the template."""
    templates = {f"entry-{index}": TEMPLATE for index in range(entries)}
    for index in range(count):
        pod = objects.pod(f"{prefix}-{index:05}", namespace, templates=templates)
        yield Request("POST", pods_path(namespace), pod)


def create_plain_pods(namespace: str, count: int) -> Iterator[Request]:
    """Create pods that have nothing to do with claims."""
    for index in range(count):
        yield Request("POST", pods_path(namespace), objects.pod(f"plain-{index:05}", namespace))


def touch_plain_pods(namespace: str, count: int, updates: int) -> Iterator[Request]:
    """Change a label of one plain pod after the other, `updates` times in all."""
    for index in range(updates):
        body = {"metadata": {"labels": {"step": str(index)}}}
        path = pods_path(namespace, f"plain-{index % count:05}")
        yield Request("PATCH", path, body, MERGE)


def finish_pods(namespace: str, count: int, prefix: str = "pod") -> Iterator[Request]:
    """Set the phase of pods to Succeeded, as a kubelet would."""
    for index in range(count):
        path = pods_path(namespace, f"{prefix}-{index:05}", "status")
        yield Request("PATCH", path, {"status": {"phase": "Succeeded"}}, STRATEGIC)


def claim_of(pod: Json, entry: str, spec: Json) -> Json:
    """Return the claim that a controller makes for one entry of a pod."""
    meta = pod["metadata"]
    name = claim_name(owner=meta["name"], owner_uid=meta["uid"], entry=entry, attempt=0)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "annotations": {"resource.kubernetes.io/pod-claim-name": entry},
            "ownerReferences": [owner | {"controller": True}],
        },
        "spec": spec,
    }


def create_claim(claim: Json) -> Request:
    """Create a claim."""
    return Request("POST", claims_path(claim["metadata"]["namespace"]) + UNCHECKED, claim)


def publish(pod: Json, claims: list[Json]) -> Request:
    """Write the names of a pod's claims into its status."""
    meta = pod["metadata"]
    statuses = [
        {
            "name": claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"],
            "resourceClaimName": claim["metadata"]["name"],
        }
        for claim in claims
    ]
    body = {"metadata": {"uid": meta["uid"]}, "status": {"resourceClaimStatuses": statuses}}
    path = pods_path(meta["namespace"], meta["name"], "status") + UNCHECKED
    return Request("PATCH", path, body, STRATEGIC)


def delete_claim(claim: Json) -> Request:
    """Delete a claim, and only the one with this UID."""
    meta = claim["metadata"]
    body = {"preconditions": {"uid": meta["uid"]}}
    return Request("DELETE", claims_path(meta["namespace"], meta["name"]), body)
