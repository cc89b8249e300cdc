"""Deallocation: devices, finalizers and generated claims that are not used any more.

Following kubernetes/pkg/controller/resourceclaim (syncClaim, reserveForPod), without its faults.
"""

from dragoman.claims.actions import Action, DeleteClaim, RemoveFinalizer, UpdateReservedFor
from dragoman.claims.claimfacts import ClaimFacts, ClaimPlan, LiveRead, Pending
from dragoman.claims.reasons import ClaimReason
from dragoman.claims.reservation import (
    Reservations,
    forget_departures,
    is_done,
    over_limit_notice,
    record_departures,
    reservations,
    unseen,
    update_reserved_for,
    waits,
)
from dragoman.model.claim import Claim
from dragoman.model.metadata import Owner
from dragoman.model.pod import Pod

OWNER_GRACE = 10.0
"""Seconds that the garbage collector has for claims of deleted pods."""

DUPLICATE_GRACE = 30.0
"""Seconds for which two claims of one entry are kept: the pod's status may still change."""

PROTECTION_GRACE = 60.0
"""Seconds after which a finalizer on a claim without devices counts as left over.

The scheduler sets the finalizer just before it writes the allocation, so the state alone proves
nothing; that it did not change for this long does, together with the resourceVersion in the write.
"""


def plan_claim(facts: ClaimFacts) -> ClaimPlan:
    """Plan the next write to a claim; settled when there is none.

    The order is that of the API's own rules: consumers are released, the last release deallocates
    in the same write, a generated claim whose pod is done is deleted, and the scheduler's
    finalizer is removed last.
    """
    reserved = reservations(facts)
    if isinstance(reserved, tuple):
        return ClaimPlan(live_reads=reserved)
    for step in STEPS:
        plan = step(facts, reserved)
        if plan is not None:
            return plan
    pending = over_limit_notice(facts, reserved) + waits(facts, reserved) + unseen(facts, reserved)
    return ClaimPlan(pending=pending, left=reserved.left)


def _unused_and_deleted(facts: ClaimFacts, reserved: Reservations) -> ClaimPlan | None:
    claim = facts.claim
    if reserved.remaining or not claim.protected or not claim.metadata.deleting:
        return None
    if claim.allocated:
        return _do(UpdateReservedFor(ClaimReason.CLAIM_DELETED, claim, (), deallocate=True))
    return _do(RemoveFinalizer(ClaimReason.CLAIM_DELETED, claim))


def _owner_is_done(facts: ClaimFacts, reserved: Reservations) -> ClaimPlan | None:
    """Delete the claim that was generated for a pod which will not use it any more."""
    claim = facts.claim
    owner = claim.metadata.owner
    if reserved.remaining or claim.metadata.deleting or owner is None or not owner.is_pod:
        return None
    pod = facts.pods.get(owner.name)
    if pod is not None and pod.metadata.uid == owner.uid:
        return _do(DeleteClaim(ClaimReason.OWNER_DONE, claim)) if pod.done else None
    if pod is not None and owner.uid in facts.deleted:
        return _do(DeleteClaim(ClaimReason.OWNER_REPLACED, claim))
    if pod is None and not is_generated(claim):
        return None
    if pod is None and facts.owner_missing_for < OWNER_GRACE:
        message = f'pod "{owner.name}" is deleted; the garbage collector has the first turn'
        return _wait(ClaimReason.OWNER_GONE, claim, message, OWNER_GRACE - facts.owner_missing_for)
    return _owner_not_found(facts, owner)


def _owner_not_found(facts: ClaimFacts, owner: Owner) -> ClaimPlan | None:
    """Delete after a live read only: the watch may not have delivered the pod yet."""
    claim = facts.claim
    read = LiveRead("pods", claim.metadata.namespace, owner.name)
    if read not in facts.live:
        return ClaimPlan(live_reads=(read,))
    pod = facts.live[read]
    if pod is None:
        return _do(DeleteClaim(ClaimReason.OWNER_GONE, claim))
    if pod.metadata.uid != owner.uid:
        return _do(DeleteClaim(ClaimReason.OWNER_REPLACED, claim))
    return _do(DeleteClaim(ClaimReason.OWNER_DONE, claim)) if is_done(pod) else None


def _is_duplicate(facts: ClaimFacts, reserved: Reservations) -> ClaimPlan | None:
    """Remove the claim that the pod's status does not name, where two controllers made one each."""
    claim = facts.claim
    owner = claim.metadata.owner
    used = claim.allocated or reserved.remaining or claim.metadata.deleting
    if used or owner is None or not owner.is_pod:
        return None
    pod = facts.pods.get(owner.name)
    if pod is None or not _names_another(facts, pod):
        return None
    if facts.duplicate_for < DUPLICATE_GRACE:
        message = f'pod "{owner.name}" has another claim for the same entry'
        return _wait(ClaimReason.DUPLICATE, claim, message, DUPLICATE_GRACE - facts.duplicate_for)
    read = LiveRead("pods", claim.metadata.namespace, owner.name)
    if read not in facts.live:
        return ClaimPlan(live_reads=(read,))
    live = facts.live[read]
    if not isinstance(live, Pod) or not _names_another(facts, live):
        return None
    return _do(DeleteClaim(ClaimReason.DUPLICATE, claim, exact=True))


def _names_another(facts: ClaimFacts, pod: Pod) -> bool:
    claim = facts.claim
    if claim.entry is None or claim.extended or not claim.is_for(pod.metadata.uid):
        return False
    bound = pod.published.get(claim.entry)
    return bound != claim.metadata.name and any(twin.metadata.name == bound for twin in facts.twins)


def _left_protected(facts: ClaimFacts, reserved: Reservations) -> ClaimPlan | None:
    """Finish a release of which only the first of the two writes was made."""
    claim = facts.claim
    if reserved.remaining or not claim.protected or claim.allocated:
        return None
    if facts.unchanged_for >= PROTECTION_GRACE:
        return _do(RemoveFinalizer(ClaimReason.NOTHING_TO_PROTECT, claim))
    message = (
        "holds no devices: either the scheduler is about to allocate, or a release was cut short"
    )
    return _wait(
        ClaimReason.NOTHING_TO_PROTECT, claim, message, PROTECTION_GRACE - facts.unchanged_for
    )


def _do(action: Action) -> ClaimPlan:
    return ClaimPlan(actions=(action,))


def _wait(reason: ClaimReason, claim: Claim, message: str, seconds: float) -> ClaimPlan:
    return ClaimPlan(pending=(Pending(reason, claim.metadata.name, message, after=seconds),))


STEPS = (
    record_departures,
    update_reserved_for,
    _unused_and_deleted,
    _owner_is_done,
    _is_duplicate,
    _left_protected,
    forget_departures,
)
"""Tried in this order; the first plan is taken."""


def is_generated(claim: Claim) -> bool:
    """Whether a controller generated the claim for a pod or PodGroup."""
    return claim.metadata.owner is not None and (claim.entry is not None or claim.extended)
