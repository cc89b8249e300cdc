"""When a pod must leave its devices, and which pods use a claim."""

from collections.abc import Callable, Iterator

from dragoman.evictions.evictionfacts import Due, Place
from dragoman.model.claim import Claim
from dragoman.model.pod import TERMINAL_PHASES, Pod

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
        if claim.is_reserved_for(pod.metadata.uid, pod.group_name if groups else None):
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
