"""When a pod must leave its devices, and which pods use a claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.evictions.facts import Due, Place
from dragoman.model import Claim, Pod
from dragoman.model.pod import TERMINAL_PHASES

ClaimLookup = Callable[[Place], Claim | None]
DueLookup = Callable[[Place], Due | None]


def is_exempt(pod: Pod) -> bool:
    """Whether a pod is never evicted: it has no node yet, or its containers have ended."""
    return not pod.node_name or pod.phase in TERMINAL_PHASES


def pod_due(pod: Pod, claim_of: ClaimLookup, due_of: DueLookup, *, groups: bool) -> Due | None:
    """Return when a pod must leave, None if it may stay.

    Args:
        pod: Any pod.
        claim_of: Returns a claim by namespace and name.
        due_of: Returns when the pods of a claim must leave.
        groups: Whether PodGroups have claims.
    """
    if is_exempt(pod):
        return None
    due: Due | None = None
    for claim in used_claims(pod, claim_of, groups=groups):
        found = due_of((claim.metadata.namespace, claim.metadata.name))
        if found is not None:
            due = found.joined(due)
    return due


def used_claims(pod: Pod, claim_of: ClaimLookup, *, groups: bool) -> Iterator[Claim]:
    """Yield the allocated claims that a pod uses, that of its extended resources too (KEP-5004)."""
    namespace = pod.metadata.namespace
    for entry in pod.entries:
        name = pod.published_name(entry)
        claim = None if name is None else claim_of((namespace, name))
        if claim is None or not claim.allocated:
            continue
        if entry.claim_name is None and not _generated_for(pod, claim, groups=groups):
            continue
        if _reserved_for(pod, claim, groups=groups):
            yield claim
    if pod.extended_claim is None:
        return
    claim, uid = claim_of((namespace, pod.extended_claim)), pod.metadata.uid
    if claim is not None and claim.allocated and claim.is_for(uid) and claim.is_reserved_for(uid):
        yield claim


def _generated_for(pod: Pod, claim: Claim, *, groups: bool) -> bool:
    if claim.is_for(pod.metadata.uid):
        return True
    owner = claim.metadata.owner
    # A pod does not know the UID of its PodGroup.
    return (
        groups
        and pod.group_name is not None
        and owner is not None
        and owner.is_pod_group
        and owner.name == pod.group_name
    )


def _reserved_for(pod: Pod, claim: Claim, *, groups: bool) -> bool:
    return any(
        one.uid == pod.metadata.uid or (groups and one.is_pod_group and one.name == pod.group_name)
        for one in claim.consumers
    )


def consumers(
    claim: Claim,
    pod_of: Callable[[Place], Pod | None],
    pods_of_group: Callable[[Place], list[Pod]],
    *,
    groups: bool,
) -> Iterator[Pod]:
    """Yield the pods that a claim is reserved for, those of its PodGroups too.

    Args:
        claim: Any claim.
        pod_of: Returns a pod by namespace and name.
        pods_of_group: Returns the pods of a PodGroup by namespace and name.
        groups: Whether PodGroups have claims.
    """
    namespace = claim.metadata.namespace
    for consumer in claim.consumers:
        if consumer.is_pod:
            pod = pod_of((namespace, consumer.name))
            if pod is not None and pod.metadata.uid == consumer.uid:
                yield pod
        elif groups and consumer.is_pod_group:
            yield from pods_of_group((namespace, consumer.name))
