"""Findings about claims: idle, unowned, outdated, crowded and stuck."""

from collections.abc import Iterator
from typing import Any

from dragoman.doctor.devices import few, kept_by
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, Id
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.snapshots.documents import Document
from dragoman.model.claim import RESERVED_FOR_LIMIT, Claim
from dragoman.model.departure import recorded, timestamp
from dragoman.model.fields import part
from dragoman_base.words import counted

NEAR_LIMIT = 240
"""Consumers of one claim from which on the API's limit of 256 is near."""

OVERDUE = 3600.0
"""Seconds after the grace period of a pod that left from which on its claim is overdue."""


def claim_idle(facts: DoctorFacts) -> Iterator[Finding]:
    """A claim has kept devices for a while although no pod reserves it, or only ended ones do."""
    for claim in _claims(facts):
        if not claim.devices or claim.metadata.deleting:
            continue
        since = claim.changed_at or claim.since
        ended = _ended_users(facts, claim)
        # A pod that is bound waits for the reservation: without the claim it never starts.
        bound = [one for one in facts.pods_by_claim.get(claim.key, ()) if one.pod.node_name]
        patience = facts.thresholds.settle if ended or bound else facts.thresholds.idle
        if (claim.consumers and not ended) or facts.age(since) < patience:
            continue
        reserved = f"reserved only for {few(ended)}" if ended else "reserved for no pod"
        message = f"holds {_devices(claim)}, {reserved}"
        if bound:
            pod = bound[0].pod
            message += f", although pod {pod.metadata.name} on {pod.node_name} names it"
        yield Finding(
            Id.CLAIM_IDLE,
            facts.claim_subject(claim),
            message,
            kept_by(bound[0]) if bound else f"kubectl dra release {claim.key}",
            since,
        )


def _ended_users(facts: DoctorFacts, claim: Claim) -> tuple[str, ...]:
    """Return the pods that a user's claim is reserved for, where all have ended or are gone.

    What is generated for a pod is ClaimUnowned.
    """
    unknown = claim.entry is not None or claim.extended or not facts.read("pods")
    if unknown or _is_used(facts, claim):
        return ()
    namespace, pods = claim.metadata.namespace, facts.inventory.world.pods
    found = {one.name: pods.get(f"{namespace}/{one.name}") for one in claim.consumers}
    ended = {name for name, pod in found.items() if pod is not None and pod.pod.done}
    return tuple(f"{name}, {'ended' if name in ended else 'gone'}" for name in found)


def claim_unowned(facts: DoctorFacts) -> Iterator[Finding]:
    """A generated claim has no owner, or one that has ended, so that nothing deletes it."""
    if not facts.read("pods"):
        return
    for claim in _claims(facts):
        metadata = claim.metadata
        generated = claim.entry is not None or claim.extended
        # What was written lately may be of a pod that ended just now.
        if not generated or metadata.deleting or _young(facts, claim):
            continue
        owner = metadata.owner
        if owner is None:
            yield _ownerless(facts, claim)
        elif owner.is_pod and owner.uid not in facts.pods_by_uid:
            yield Finding(
                Id.CLAIM_UNOWNED,
                facts.claim_subject(claim),
                f"its pod {owner.name} has ended or is deleted",
                f"kubectl delete resourceclaim -n {metadata.namespace} {metadata.name}",
                claim.changed_at or metadata.created,
            )


def _young(facts: DoctorFacts, claim: Claim) -> bool:
    newest = max(claim.changed_at, claim.metadata.created)
    return facts.age(newest) < facts.thresholds.settle


def _ownerless(facts: DoctorFacts, claim: Claim) -> Finding:
    metadata = claim.metadata
    users = adopters(claim, facts.pods_by_claim.get(claim.key, ()))
    user = users[0] if len(users) == 1 else None
    remedy = (
        f"kubectl dra adopt {claim.key}"
        if user
        else f"kubectl delete resourceclaim -n {metadata.namespace} {metadata.name}"
    )
    return Finding(
        Id.CLAIM_UNOWNED,
        facts.claim_subject(claim),
        "has no owner" + (f", pod {user.pod.metadata.name} uses it" if user else ""),
        f"{remedy}: nothing deletes it with its pod" if user else remedy,
        metadata.created,
    )


def adopters(claim: Claim, pods: tuple[PodFact, ...]) -> list[PodFact]:
    """Return the pods whose status names a generated claim for the claim's own entry."""
    name = claim.metadata.name
    return [
        pod
        for pod in pods
        if not pod.pod.done
        and (
            pod.pod.extended_claim == name
            if claim.extended
            else pod.pod.published.get(claim.entry or "") == name
        )
    ]


def template_drift(facts: DoctorFacts) -> Iterator[Finding]:
    """A claim differs from the template that its pod names: the template was replaced.

    Specs of templates are immutable, so only a template that is younger than the claim differs.
    Opaque parameters are not compared: snapshots leave them out.
    """
    for claim in _claims(facts):
        entry = claim.entry
        for pod in facts.pods_by_claim.get(claim.key, ()):
            if entry is None or pod.pod.published.get(entry) != claim.metadata.name:
                continue
            name = next((one.template_name for one in pod.pod.entries if one.name == entry), None)
            template = facts.templates.get(f"{claim.metadata.namespace}/{name}")
            if template is not None and (finding := _drift(facts, claim, pod, template)):
                yield finding


def _drift(facts: DoctorFacts, claim: Claim, pod: PodFact, template: Document) -> Finding | None:
    created = str(part(template, "metadata").get("creationTimestamp") or "")
    if created < claim.metadata.created:
        return None
    wanted = part(template, "spec", "spec", "devices")
    path = difference(part(facts.claims[claim.key], "spec", "devices"), wanted)
    if path is None:
        return None
    name = str(part(template, "metadata").get("name"))
    return Finding(
        Id.TEMPLATE_DRIFT,
        facts.claim_subject(claim),
        f"template {name} was replaced, and differs in spec.devices{path}",
        f"replace pod {pod.pod.metadata.name} if it needs what the template says now",
        created,
    )


def difference(one: Any, other: Any) -> str | None:
    """Return the path of the first field in which two JSON values differ, None where none does."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            inner = difference(one.get(key), other.get(key))
            if inner is not None:
                return f".{key}{inner}"
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            inner = difference(*pair)
            if inner is not None:
                return f"[{index}]{inner}"
        return None
    return None if one == other else ""


def consumers_near_limit(facts: DoctorFacts) -> Iterator[Finding]:
    """A claim can soon be reserved for no further pod."""
    for claim in _claims(facts):
        count = len(claim.consumers)
        if count >= NEAR_LIMIT:
            yield Finding(
                Id.CONSUMERS_NEAR_LIMIT,
                facts.claim_subject(claim),
                f"{count} of at most {RESERVED_FOR_LIMIT} consumers",
                "give further pods another claim, or a template each",
                claim.since,
            )


def finalizer_stuck(facts: DoctorFacts) -> Iterator[Finding]:
    """A deleted claim stays because of finalizers although no live pod uses it."""
    if not facts.read("pods"):
        return
    for claim in facts.inventory.world.claims.values():
        metadata = part(facts.claims[claim.key], "metadata")
        since = str(metadata.get("deletionTimestamp") or "")
        if not since or facts.age(since) < facts.thresholds.settle or _is_used(facts, claim):
            continue
        others = [one for one in claim.finalizers if not one.startswith("resource.k8s.io")]
        foreign = [one for one in others if not one.startswith("resource.kubernetes.io/")]
        remedy = (
            f"start the component that owns finalizer {foreign[0]}"
            if foreign
            else f"kubectl dra release {claim.key}; see why no claim controller does it"
        )
        yield Finding(
            Id.FINALIZER_STUCK,
            facts.claim_subject(claim),
            f"deleted, but kept by {few(list(claim.finalizers)) or 'no finalizer'}"
            + (f" with {_devices(claim)}" if claim.devices else ""),
            remedy,
            since,
        )


def containers_not_ended(facts: DoctorFacts) -> Iterator[Finding]:
    """Safe release keeps a claim whose pod left for longer than the pod may have needed."""
    for claim in _claims(facts):
        left = recorded(claim.left_consumers)
        for one in (left[user.uid] for user in claim.consumers if user.uid in left):
            since = timestamp(one.left)
            over = one.asked or facts.age(since) >= one.grace + OVERDUE
            if not (claim.devices and over):
                continue
            why = f", which asked for {one.asked:g} s of grace" if one.asked else ""
            yield Finding(
                Id.CONTAINERS_NOT_ENDED,
                facts.claim_subject(claim),
                f"holds {_devices(claim)}: {one.waits(claim.namespace)}{why}",
                f"kubectl dra release {claim.key} --force, once its containers have ended; "
                "delete the Node, or taint it node.kubernetes.io/out-of-service, once it is off",
                since,
            )


def _is_used(facts: DoctorFacts, claim: Claim) -> bool:
    left = recorded(claim.left_consumers)
    if any(one.uid in left for one in claim.consumers):
        return True  # a node has to end containers first
    return any(not one.is_pod or one.uid in facts.pods_by_uid for one in claim.consumers)


def _devices(claim: Claim) -> str:
    return counted(len(claim.devices), "device")


def _claims(facts: DoctorFacts) -> Iterator[Claim]:
    """Yield all claims but holds."""
    return (one for one in facts.inventory.world.claims.values() if not one.is_hold)
