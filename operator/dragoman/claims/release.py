"""Who uses a claim: reservation, release of devices, and the end of generated claims.

Following kubernetes/pkg/controller/resourceclaim (syncClaim, reserveForPod), without its faults.
"""

from dataclasses import dataclass
from enum import Enum

from dragoman.claims.actions import Action, DeleteClaim, RemoveFinalizer, UpdateReservedFor
from dragoman.claims.facts import ClaimFacts, Found, LiveRead, Pending, Plan
from dragoman.claims.reasons import Reason
from dragoman.model import Claim, Consumer, Owner, Pod, PodGroup
from dragoman.model.claim import RESERVED_FOR_LIMIT

OWNER_GRACE = 10.0
"""Seconds for which the garbage collector goes first with claims of deleted pods."""

DUPLICATE_GRACE = 30.0
"""Seconds for which two claims for one entry are left alone: the pod's status may yet change."""

PROTECTION_GRACE = 60.0
"""Seconds after which a finalizer on a claim without devices counts as left over.

The scheduler sets the finalizer just before it writes the allocation, so the state alone proves
nothing; that it did not change for this long does, together with the resourceVersion in the write.
"""


def plan_claim(facts: ClaimFacts) -> Plan:
    """Plan the next write to a claim; settled when there is none.

    The order is that of the API's own rules: consumers leave, the last one gives the devices
    back in the same write, a generated claim whose pod is done is deleted, and the scheduler's
    finalizer goes last.
    """
    sifted = _sift(facts)
    if isinstance(sifted, tuple):
        return Plan(live_reads=sifted)
    for step in STEPS:
        plan = step(facts, sifted)
        if plan is not None:
            return plan
    return Plan(pending=_full(facts, sifted))


class _Standing(Enum):
    """What became of a consumer."""

    USING = "using"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Sifted:
    """The consumers that stay, those that go, and those that come."""

    kept: tuple[Consumer, ...]
    dropped: tuple[Consumer, ...]
    added: tuple[Consumer, ...]
    turned_away: tuple[Consumer, ...]

    @property
    def remaining(self) -> tuple[Consumer, ...]:
        return self.kept + self.added


def _sift(facts: ClaimFacts) -> _Sifted | tuple[LiveRead, ...]:
    """Tell consumers that use the claim from those that do not; or what must be seen first."""
    kept: list[Consumer] = []
    dropped: list[Consumer] = []
    live_reads: list[LiveRead] = []
    for consumer in facts.claim.consumers:
        standing, read = _standing(facts, consumer)
        if standing is _Standing.UNKNOWN:
            live_reads.append(read)
        elif standing is _Standing.GONE:
            dropped.append(consumer)
        else:
            kept.append(consumer)
    if live_reads:
        return tuple(live_reads)
    wanted = _wanting(facts)
    room = RESERVED_FOR_LIMIT - len(kept)
    return _Sifted(tuple(kept), tuple(dropped), wanted[:room], wanted[room:])


def _standing(facts: ClaimFacts, consumer: Consumer) -> tuple[_Standing, LiveRead]:
    namespace = facts.claim.metadata.namespace
    read = LiveRead("podgroups" if consumer.is_pod_group else "pods", namespace, consumer.name)
    known: Pod | PodGroup | None
    if consumer.is_pod:
        known = facts.pods.get(consumer.name)
    elif consumer.is_pod_group and facts.groups is not None:
        known = facts.groups.get(consumer.name)
    else:
        # Somebody else's consumer, or a PodGroup where the API does not serve them: it stays,
        # and does not keep the others from being cleaned up (kubernetes#136450).
        return _Standing.USING, read
    if consumer.uid in facts.deleted:
        return _Standing.GONE, read
    if known is None or known.metadata.uid != consumer.uid:
        if read not in facts.live:
            return _Standing.UNKNOWN, read
        live = facts.live[read]
        known = live if isinstance(live, Pod | PodGroup) else None
    return (_Standing.USING if _uses(known, consumer.uid) else _Standing.GONE), read


def _uses(known: Pod | PodGroup | None, uid: str) -> bool:
    if known is None or known.metadata.uid != uid:
        return False
    return not _is_done(known)


def _wanting(facts: ClaimFacts) -> tuple[Consumer, ...]:
    """Consumers that must be added: those of pods that got their node without the scheduler.

    The scheduler reserves for the pods that it places. Terminal pods never come back in
    (kubernetes#141274), and no reservation is possible once the claim is being deleted.
    """
    claim = facts.claim
    if not claim.allocated or claim.metadata.deleting:
        return ()
    wanted: dict[str, Consumer] = {}
    for pod in facts.users:
        consumer = _consumer_for(facts, pod)
        if consumer is not None and not claim.is_reserved_for(consumer.uid):
            wanted[consumer.uid] = consumer
    return tuple(wanted.values())


def _consumer_for(facts: ClaimFacts, pod: Pod) -> Consumer | None:
    if not pod.node_name or pod.done or pod.metadata.deleting:
        return None
    claim = facts.claim
    group = None
    if pod.group_name is not None and facts.groups is not None:
        group = facts.groups.get(pod.group_name)
        if group is None:
            # Whether the pod or its group is the consumer is known when the group is.
            return None
    for entry in pod.entries:
        if pod.published_name(entry) != claim.metadata.name:
            continue
        if entry.claim_name is not None or _is_of(claim, pod, group):
            return _consumer(group if group is not None and group.shares(entry) else pod)
    return None


def _is_of(claim: Claim, pod: Pod, group: PodGroup | None) -> bool:
    ours = claim.is_for(pod.metadata.uid)
    return ours or (group is not None and claim.is_for(group.metadata.uid))


def _consumer(holder: Pod | PodGroup) -> Consumer:
    name, uid = holder.metadata.name, holder.metadata.uid
    if isinstance(holder, PodGroup):
        return Consumer("podgroups", name, uid, "scheduling.k8s.io")
    return Consumer("pods", name, uid)


def _consumers_changed(facts: ClaimFacts, sifted: _Sifted) -> Plan | None:
    if not sifted.dropped and not sifted.added:
        return None
    claim = facts.claim
    unused = not sifted.remaining
    # Without the scheduler's finalizer somebody else allocated, and takes back.
    deallocate = unused and claim.protected and claim.allocated
    if sifted.added:
        reason = Reason.POD_SCHEDULED
    else:
        reason = Reason.LAST_CONSUMER_GONE if unused else Reason.CONSUMERS_GONE
    action = UpdateReservedFor(reason, claim, sifted.remaining, deallocate)
    return Plan((action,), _full(facts, sifted))


def _unused_and_deleted(facts: ClaimFacts, sifted: _Sifted) -> Plan | None:
    claim = facts.claim
    if sifted.remaining or not claim.protected or not claim.metadata.deleting:
        return None
    if claim.allocated:
        return _do(UpdateReservedFor(Reason.CLAIM_DELETED, claim, (), deallocate=True))
    return _do(RemoveFinalizer(Reason.CLAIM_DELETED, claim))


def _owner_is_done(facts: ClaimFacts, sifted: _Sifted) -> Plan | None:
    """Delete the claim that was generated for a pod which will not use it any more."""
    claim = facts.claim
    owner = claim.metadata.owner
    if sifted.remaining or claim.metadata.deleting or owner is None or not owner.is_pod:
        return None
    pod = facts.pods.get(owner.name)
    if pod is not None and pod.metadata.uid == owner.uid:
        return _do(DeleteClaim(Reason.OWNER_DONE, claim)) if pod.done else None
    if pod is not None and owner.uid in facts.deleted:
        return _do(DeleteClaim(Reason.OWNER_REPLACED, claim))
    if pod is None and not is_generated(claim):
        return None
    if pod is None and facts.owner_missing_for < OWNER_GRACE:
        return _garbage_collector_first(facts, owner)
    return _owner_not_found(facts, owner)


def _garbage_collector_first(facts: ClaimFacts, owner: Owner) -> Plan:
    wait = Pending(
        Reason.OWNER_GONE,
        facts.claim.metadata.name,
        f'pod "{owner.name}" is gone; the garbage collector goes first',
        after=OWNER_GRACE - facts.owner_missing_for,
    )
    return Plan(pending=(wait,))


def _owner_not_found(facts: ClaimFacts, owner: Owner) -> Plan | None:
    """Delete after a live look only: what is not in the cache may be on its way there."""
    claim = facts.claim
    read = LiveRead("pods", claim.metadata.namespace, owner.name)
    if read not in facts.live:
        return Plan(live_reads=(read,))
    pod = facts.live[read]
    if pod is None:
        return _do(DeleteClaim(Reason.OWNER_GONE, claim))
    if pod.metadata.uid != owner.uid:
        return _do(DeleteClaim(Reason.OWNER_REPLACED, claim))
    return _do(DeleteClaim(Reason.OWNER_DONE, claim)) if _is_done(pod) else None


def _is_done(found: Found) -> bool:
    return isinstance(found, Pod) and found.done


def _is_duplicate(facts: ClaimFacts, sifted: _Sifted) -> Plan | None:
    """Remove the claim that the pod's status does not name, where two controllers made one each."""
    claim = facts.claim
    owner = claim.metadata.owner
    used = claim.allocated or sifted.remaining or claim.metadata.deleting
    if used or owner is None or not owner.is_pod:
        return None
    pod = facts.pods.get(owner.name)
    if pod is None or not _names_another(facts, pod):
        return None
    if facts.duplicate_for < DUPLICATE_GRACE:
        wait = Pending(
            Reason.DUPLICATE,
            claim.metadata.name,
            f'pod "{owner.name}" has another claim for the same entry',
            after=DUPLICATE_GRACE - facts.duplicate_for,
        )
        return Plan(pending=(wait,))
    read = LiveRead("pods", claim.metadata.namespace, owner.name)
    if read not in facts.live:
        return Plan(live_reads=(read,))
    live = facts.live[read]
    if not isinstance(live, Pod) or not _names_another(facts, live):
        return None
    return _do(DeleteClaim(Reason.DUPLICATE, claim, exact=True))


def _names_another(facts: ClaimFacts, pod: Pod) -> bool:
    claim = facts.claim
    if claim.entry is None or claim.extended or not claim.is_for(pod.metadata.uid):
        return False
    bound = pod.published.get(claim.entry)
    return bound != claim.metadata.name and any(
        sibling.metadata.name == bound and sibling.entry == claim.entry
        for sibling in facts.siblings
    )


def _left_protected(facts: ClaimFacts, sifted: _Sifted) -> Plan | None:
    """Finish a release of which only the first of the two writes was made."""
    claim = facts.claim
    if sifted.remaining or not claim.protected or claim.allocated:
        return None
    if facts.unchanged_for >= PROTECTION_GRACE:
        return _do(RemoveFinalizer(Reason.NOTHING_TO_PROTECT, claim))
    wait = Pending(
        Reason.NOTHING_TO_PROTECT,
        claim.metadata.name,
        "holds no devices: either the scheduler is about to allocate, or a release was cut short",
        after=PROTECTION_GRACE - facts.unchanged_for,
    )
    return Plan(pending=(wait,))


def _full(facts: ClaimFacts, sifted: _Sifted) -> tuple[Pending, ...]:
    if not sifted.turned_away:
        return ()
    message = (
        f'resource claim "{facts.claim.metadata.name}" already has {RESERVED_FOR_LIMIT} consumers, '
        f"which is the limit; {len(sifted.turned_away)} more wait for a place in reservedFor"
    )
    return (Pending(Reason.RESERVATIONS_FULL, facts.claim.metadata.name, message, report=True),)


def _do(action: Action) -> Plan:
    return Plan(actions=(action,))


STEPS = (
    _consumers_changed,
    _unused_and_deleted,
    _owner_is_done,
    _is_duplicate,
    _left_protected,
)
"""In this order; the first that has something to say decides."""


def is_generated(claim: Claim) -> bool:
    """Whether a controller made the claim for a pod or PodGroup, and nobody by hand."""
    return claim.metadata.owner is not None and (claim.entry is not None or claim.extended)
