"""Pods and claims as watches deliver them, for tests of what is made of them."""

from typing import Any

from dragoman.model.claim import EXTENDED_RESOURCE_ANNOTATION, POD_CLAIM_ANNOTATION, Claim
from dragoman.model.pod import STOCK_MANAGER, Pod

NAMESPACE = "ns"


def claim_of(
    owner: str | None,
    uid: str | None,
    entry: str | None,
    *,
    name: str,
    version: int = 1,
    extended: bool = False,
) -> Claim:
    """Return a claim that a pod owns, for one of its entries."""
    annotations = {POD_CLAIM_ANNOTATION: entry} if entry is not None else {}
    if extended:
        annotations[EXTENDED_RESOURCE_ANNOTATION] = "true"
    reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": uid, "controller": True}
    metadata: dict[str, Any] = {
        "namespace": NAMESPACE,
        "name": name,
        "uid": f"uid-of-{name}",
        "resourceVersion": str(version),
        "annotations": annotations,
        "ownerReferences": [reference] if owner is not None else [],
    }
    return Claim.parse({"metadata": metadata})


def pod_with(
    published: dict[str, str | None],
    *,
    version: int = 1,
    phase: str = "Pending",
    stock: str = "",
    uid: str = "pod-uid",
) -> Pod:
    """Return pod `pod` with entries `a` and `b`, its status, and the stock controller's stamp."""
    fields = [{"manager": STOCK_MANAGER, "time": stock}] if stock else []
    statuses = [{"name": key, "resourceClaimName": name} for key, name in published.items()]
    return Pod.parse(
        {
            "metadata": {
                "namespace": NAMESPACE,
                "name": "pod",
                "uid": uid,
                "resourceVersion": str(version),
                "managedFields": fields,
            },
            "spec": {
                "resourceClaims": [
                    {"name": name, "resourceClaimTemplateName": "template"} for name in "ab"
                ]
            },
            "status": {"phase": phase, "resourceClaimStatuses": statuses},
        }
    )
