"""The claims of a pod that waits, and how they can come to tolerate its reservation."""

from collections.abc import Mapping
from typing import Any

from dragoman.inventory.snapshots.documents import POD_CLAIM_ANNOTATION
from dragoman.kube.client import Client, find
from dragoman.kube.resources import Resource
from dragoman.preemption.protocol import ClaimState
from dragoman.preemption.reservation import TAINT_KEY, tolerates, with_toleration

_COPIED = ("name", "namespace", "labels", "annotations", "ownerReferences")
FULL = "has a request with 16 tolerations, the most"


async def claim_states(
    client: Client, claims: Resource, templates: Resource, pod: Mapping[str, Any]
) -> tuple[ClaimState, ...]:
    """Read the claims of a pod; raise ApiError.

    Args:
        client: Who reads.
        claims: ResourceClaims in the served version.
        templates: ResourceClaimTemplates in that version.
        pod: As it is stored.
    """
    namespace = pod["metadata"]["namespace"]
    statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    names = {one["name"]: one.get("resourceClaimName") for one in statuses}
    found = []
    for entry in pod["spec"].get("resourceClaims") or ():
        template = entry.get("resourceClaimTemplateName")
        name = names.get(entry["name"]) if template else entry.get("resourceClaimName")
        if template and entry["name"] in names and not name:
            continue  # the API says that the entry needs no claim
        if not name:
            found.append(ClaimState(entry["name"], why_not="does not exist yet"))
            continue
        claim = await find(client, claims.path(namespace, name))
        if claim is not None:
            found.append(_state(claim, pod))
        elif template:
            # A process ended between the deletion and the creation of a claim.
            source = await find(client, templates.path(namespace, template))
            found.append(_from_template(source, str(name), entry["name"], pod))
        else:
            found.append(ClaimState(str(name), why_not="does not exist"))
    return tuple(found)


def _state(claim: Mapping[str, Any], pod: Mapping[str, Any]) -> ClaimState:
    metadata, uid = claim["metadata"], pod["metadata"]["uid"]
    status = claim.get("status") or {}
    state = ClaimState(
        metadata["name"],
        allocated=status.get("allocation") is not None,
        tolerates=tolerates(claim["spec"], uid),
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
    )
    if state.allocated or state.tolerates:
        return state
    why_not = _why_not(metadata, status, uid)
    spec = None if why_not else with_toleration(claim["spec"], uid)
    if spec is None:
        return ClaimState(state.name, why_not=why_not or FULL)
    manifest = {
        "apiVersion": claim["apiVersion"],
        "kind": claim["kind"],
        "metadata": {key: metadata[key] for key in _COPIED if key in metadata},
        "spec": spec,
    }
    return ClaimState(state.name, replacement=manifest, uid=state.uid, version=state.version)


def _why_not(metadata: Mapping[str, Any], status: Mapping[str, Any], uid: str) -> str:
    """Return why a claim may not be replaced: it holds nothing, and its pod alone uses it."""
    owners = metadata.get("ownerReferences") or ()
    generated = any(one.get("controller") and one.get("uid") == uid for one in owners)
    if not generated or POD_CLAIM_ANNOTATION not in (metadata.get("annotations") or {}):
        return (
            "was not made from a template of the pod, and does not tolerate its reservation: "
            f"use a template, or evict by hand ({TAINT_KEY})"
        )
    if metadata.get("deletionTimestamp"):
        return "is being deleted"
    if metadata.get("finalizers") or status.get("reservedFor"):
        return "is in use, or has a finalizer"
    return ""


def _from_template(
    template: Mapping[str, Any] | None, name: str, entry: str, pod: Mapping[str, Any]
) -> ClaimState:
    if template is None:
        return ClaimState(name, why_not="does not exist, nor does its template")
    owner = pod["metadata"]
    spec = with_toleration(template["spec"]["spec"], owner["uid"])
    if spec is None:
        return ClaimState(name, why_not=FULL)
    carried = template["spec"].get("metadata") or {}
    metadata = {
        "name": name,
        "namespace": owner["namespace"],
        "annotations": {**(carried.get("annotations") or {}), POD_CLAIM_ANNOTATION: entry},
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": owner["name"],
                "uid": owner["uid"],
                "controller": True,
            }
        ],
    }
    if carried.get("labels"):
        metadata["labels"] = dict(carried["labels"])
    manifest = {
        "apiVersion": template["apiVersion"],
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": spec,
    }
    return ClaimState(name, replacement=manifest)
