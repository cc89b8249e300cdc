"""Repairs of one claim: what is written, or why nothing is.

Both repairs are planned on objects that were read live, and the write fails where the claim has
changed since: uid and resourceVersion are part of the patch.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dragoman.doctor.claims import adopters
from dragoman.inventory.facts.parser import pod_fact
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.snapshots.documents import Document, reduced
from dragoman.model.claim import DELETE_PROTECTION, Claim
from dragoman.model.claimcontent import parse_claim
from dragoman.model.departure import recorded
from dragoman.model.fields import part, parts
from dragoman_base.words import counted


@dataclass(frozen=True, slots=True)
class Write:
    """One merge patch."""

    subresource: str  # `status`, or empty for the object itself
    patch: dict[str, Any]  # The merge patch, with its preconditions
    done: str  # What the write does, in words


@dataclass(frozen=True, slots=True)
class RepairRefusal:
    """Why nothing is written."""

    reason: str  # In words, with what helps
    settled: bool = False  # Whether the claim already is as it should be


Plan = Write | RepairRefusal


def plan_release(claim: Document, pods: Iterable[Document], *, force: bool = False) -> Plan:
    """Plan the release of a claim's devices.

    Args:
        claim: The ResourceClaim as the API server has it.
        pods: All pods of its namespace.
        force: Whether to release it also from pods that left the API before their containers ended.

    Returns:
        A write that clears allocation and reservations, or, where a deleted claim holds no devices,
        removes the scheduler's finalizer; a refusal while a pod uses the claim.

    Raises:
        MalformedObjectError: An object does not have the shape of its API.
    """
    fact = parse_claim(reduced("resourceclaims", claim))
    if fact.is_hold:
        return RepairRefusal(f"{fact.key} keeps a device out of service: see `kubectl dra holds`")
    if not fact.allocated:
        return _unprotect(fact, claim)
    user = _user(fact, [pod_fact(reduced("pods", pod)) for pod in pods])
    if user:
        return RepairRefusal(user)
    waits = _waits(fact)
    if waits and not force:
        return RepairRefusal(
            f"claim {fact.key} {waits}: delete its Node, or taint it "
            "node.kubernetes.io/out-of-service, once the machine is off; "
            "--force releases the devices although containers may still use them"
        )
    count = len(fact.devices)
    status = {"allocation": None, "reservedFor": None}
    return Write(
        "status",
        {"metadata": _precondition(claim), "status": status},
        f"released {counted(count, 'device')} of claim {fact.key}",
    )


def _unprotect(fact: Claim, claim: Document) -> Plan:
    if not (fact.metadata.deleting and fact.protected):
        return RepairRefusal(f"claim {fact.key} holds no devices", settled=True)
    kept = [name for name in fact.finalizers if name != DELETE_PROTECTION]
    return Write(
        "",
        {"metadata": {**_precondition(claim), "finalizers": kept or None}},
        f"removed finalizer {DELETE_PROTECTION} of claim {fact.key}",
    )


def _user(fact: Claim, pods: list[PodFact]) -> str:
    """Say what uses a claim; empty where nothing does."""
    alive = {pod.pod.metadata.uid: pod for pod in pods if not pod.pod.done}
    for consumer in fact.consumers:
        if not consumer.is_pod:
            return f"claim {fact.key} is reserved for {consumer.resource} {consumer.name}"
        if consumer.uid in alive:
            return f"claim {fact.key} is reserved for pod {consumer.name}: delete the pod first"
    name = fact.metadata.name
    for pod in alive.values():
        # A pod with a node has devices prepared, or soon, whatever the reservations are.
        if pod.pod.node_name and name in pod.pod.claim_names():
            where = f"on node {pod.pod.node_name}"
            return f"pod {pod.pod.metadata.name} {where} uses claim {fact.key}: delete it first"
    return ""


def _waits(fact: Claim) -> str:
    """Say which pod that left the API keeps a claim; empty where none does."""
    left = recorded(fact.left_consumers)
    found = (left[one.uid] for one in fact.consumers if one.uid in left)
    return next((one.waits(fact.metadata.namespace) for one in found), "")


def plan_adoption(claim: Document, pods: Iterable[Document]) -> Plan:
    """Plan to make the pod that uses a generated claim its owner.

    Args:
        claim: The ResourceClaim as the API server has it.
        pods: All pods of its namespace.

    Returns:
        A write that adds the owner reference which the claim controller would have set.

    Raises:
        MalformedObjectError: An object does not have the shape of its API.
    """
    fact = parse_claim(reduced("resourceclaims", claim))
    owner = fact.metadata.owner
    if owner is not None:
        return RepairRefusal(f"{owner.kind} {owner.name} owns claim {fact.key}", settled=True)
    if fact.entry is None and not fact.extended:
        return RepairRefusal(
            f"claim {fact.key} was made by a user, and needs no owner", settled=True
        )
    users = adopters(fact, tuple(pod_fact(reduced("pods", pod)) for pod in pods))
    if len(users) > 1:
        return RepairRefusal(
            f"several pods name claim {fact.key} in their status: delete all but one"
        )
    if not users:
        return RepairRefusal(
            f"no pod names claim {fact.key} in its status: "
            f"kubectl delete resourceclaim -n {fact.metadata.namespace} "
            f"{fact.metadata.name}"
        )
    reference = users[0].pod.reference
    added = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "name": reference.name,
        "uid": reference.uid,
        "controller": True,
    }
    others = [dict(one) for one in parts(claim, "metadata", "ownerReferences")]
    return Write(
        "",
        {"metadata": {**_precondition(claim), "ownerReferences": [*others, added]}},
        f"pod {reference.name} owns claim {fact.key}",
    )


def _precondition(claim: Document) -> dict[str, Any]:
    metadata = part(claim, "metadata")
    return {"uid": metadata.get("uid"), "resourceVersion": metadata.get("resourceVersion")}
