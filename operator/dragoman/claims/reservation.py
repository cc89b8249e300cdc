"""Reservation: who uses a claim, and belongs in `status.reservedFor`.

Following kubernetes/pkg/controller/resourceclaim (syncClaim, reserveForPod), without its faults.
"""

from dataclasses import dataclass
from typing import Literal

from dragoman.claims.actions import RecordDepartures, UpdateReservedFor
from dragoman.claims.claimfacts import ClaimFacts, ClaimPlan, Found, LiveRead, Pending
from dragoman.claims.reasons import ClaimReason
from dragoman.claims.saferelease import Left, ReadNode, SafeRelease, long_grace, may_run
from dragoman.model.claim import RESERVED_FOR_LIMIT, Claim, Consumer
from dragoman.model.departure import Departure, noted, record
from dragoman.model.nodehealth import NodeHealth
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup

UNSEEN_AGAIN = 30.0
"""Seconds until a consumer that only a live read has shown is looked for again."""


@dataclass(frozen=True, slots=True)
class Reservations:
    """The consumers of a claim, by whether they stay reserved."""

    kept: tuple[Consumer, ...]  # They stay in reservedFor
    released: tuple[Consumer, ...]  # They no longer use the claim
    added: tuple[Consumer, ...]  # They use it, and are not in reservedFor yet
    over_limit: tuple[Consumer, ...]  # They wait, because reservedFor is full
    # Those of `kept` whose pods left the API before their containers had ended
    left: tuple[Left, ...] = ()

    @property
    def remaining(self) -> tuple[Consumer, ...]:
        """Return reservedFor as it should be."""
        return self.kept + self.added


def reservations(facts: ClaimFacts) -> Reservations | tuple[LiveRead, ...]:
    """Return who uses the claim, or the live reads that must be done before that is known."""
    kept: list[Consumer] = []
    released: list[Consumer] = []
    left: list[Left] = []
    live_reads: list[LiveRead] = []
    for consumer in facts.claim.consumers:
        uses = _uses(facts, consumer)
        if uses is False and facts.safe is not None and consumer.is_pod:
            uses = _may_run(facts, facts.safe, consumer)
        if isinstance(uses, LiveRead):
            live_reads.append(uses)
            continue
        if isinstance(uses, Left):
            left.append(uses)
        (kept if uses else released).append(consumer)
    if live_reads:
        return tuple(dict.fromkeys(live_reads))
    wanted = _wanting(facts)
    room = RESERVED_FOR_LIMIT - len(kept)
    return Reservations(tuple(kept), tuple(released), wanted[:room], wanted[room:], tuple(left))


def _may_run(facts: ClaimFacts, safe: SafeRelease, consumer: Consumer) -> bool | LiveRead | Left:
    """Whether containers of a pod that does not use the claim any more may still run."""
    pod = facts.pods.get(consumer.name) or facts.live.get(_pod_read(facts, consumer))
    if isinstance(pod, Pod) and pod.metadata.uid == consumer.uid:
        return False  # it is still in the API, and has ended
    nodes = {
        read.name: found if isinstance(found, NodeHealth) else None
        for read, found in facts.live.items()
        if read.resource == "nodes"
    }
    verdict = may_run(facts.claim, consumer, safe, nodes)
    if isinstance(verdict, ReadNode):
        return LiveRead("nodes", "", verdict.name)
    return verdict if verdict is not None else False


def _pod_read(facts: ClaimFacts, consumer: Consumer) -> LiveRead:
    return LiveRead("pods", facts.claim.metadata.namespace, consumer.name)


def _uses(facts: ClaimFacts, consumer: Consumer) -> bool | LiveRead | Left:
    """Whether a consumer still uses the claim, or the live read that must be done first."""
    known: Pod | PodGroup | None
    if consumer.is_pod:
        known = facts.pods.get(consumer.name)
    elif consumer.is_pod_group and facts.groups is not None:
        known = facts.groups.get(consumer.name)
    else:
        # Another controller's consumer, or a PodGroup where the API does not serve them: it
        # stays, and the others are released all the same (kubernetes#136450).
        return True
    if consumer.uid in facts.deleted:
        return False
    if known is None or known.metadata.uid != consumer.uid:
        plural: Literal["pods", "podgroups"] = "pods" if consumer.is_pod else "podgroups"
        read = LiveRead(plural, facts.claim.metadata.namespace, consumer.name)
        if read not in facts.live:
            return read
        live = facts.live[read]
        known = live if isinstance(live, Pod | PodGroup) else None
    return known is not None and known.metadata.uid == consumer.uid and not is_done(known)


def _wanting(facts: ClaimFacts) -> tuple[Consumer, ...]:
    """Consumers that must be added: those of pods that got their node without the scheduler.

    The scheduler reserves for the pods that it places. Terminal pods are never reserved
    again (kubernetes#141274), and no reservation is possible once the claim is being deleted.
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


def update_reserved_for(facts: ClaimFacts, reserved: Reservations) -> ClaimPlan | None:
    """Plan one write of reservedFor, which also deallocates where no consumer remains."""
    if not reserved.released and not reserved.added:
        return None
    claim = facts.claim
    unused = not reserved.remaining
    # Without the scheduler's finalizer another controller allocated, and deallocates.
    deallocate = unused and claim.protected and claim.allocated
    if reserved.added:
        reason = ClaimReason.POD_SCHEDULED
    else:
        reason = ClaimReason.LAST_CONSUMER_GONE if unused else ClaimReason.CONSUMERS_GONE
    action = UpdateReservedFor(reason, claim, reserved.remaining, deallocate)
    return ClaimPlan((action,), over_limit_notice(facts, reserved))


def record_departures(facts: ClaimFacts, reserved: Reservations) -> ClaimPlan | None:
    """Plan the record of pods that left, before anything else: the next leader did not see them.

    Pods that run are in it where an operator that does not see them leave would wait too short.
    """
    known = noted(facts.claim.left_consumers)
    running = _running(facts, reserved)
    departures = [*(one.departure for one in reserved.left), *running]
    if all(one.uid in known and one.is_about(known[one.uid]) for one in departures):
        return None
    if _unrecorded(facts):
        return None
    reason = ClaimReason.CONTAINERS_NOT_ENDED if reserved.left else ClaimReason.LONG_GRACE
    action = RecordDepartures(reason, facts.claim, record(departures))
    return ClaimPlan((action,), waits(facts, reserved), left=reserved.left)


def _running(facts: ClaimFacts, reserved: Reservations) -> list[Departure]:
    """Return what is recorded of pods that use a claim, and run."""
    if facts.safe is None or not facts.claim.allocated:
        return []
    pods = (facts.pods.get(one.name) for one in reserved.kept if one.is_pod)
    uids = {one.uid for one in reserved.kept} - {one.consumer.uid for one in reserved.left}
    found = (
        long_grace(facts.claim, pod, facts.safe)
        for pod in pods
        if pod is not None and pod.metadata.uid in uids
    )
    return [one for one in found if one is not None]


def forget_departures(facts: ClaimFacts, reserved: Reservations) -> ClaimPlan | None:
    """Plan to remove the record from a claim that stays, once no pod of it is waited for."""
    claim = facts.claim
    if reserved.left or not claim.left_consumers or claim.metadata.deleting:
        return None
    if _unrecorded(facts) or _running(facts, reserved):
        return None
    return ClaimPlan((RecordDepartures(ClaimReason.CONTAINERS_ENDED, claim, ""),))


def waits(facts: ClaimFacts, reserved: Reservations) -> tuple[Pending, ...]:
    """Return what is reported of consumers that left, and when they are planned again."""
    namespace = facts.claim.metadata.namespace
    why = _unrecorded(facts)
    unrecorded = f"; another operator would wait longer, because the record is refused: {why}"
    return tuple(
        Pending(
            ClaimReason.CONTAINERS_NOT_ENDED,
            one.consumer.name,
            one.message(namespace) + (unrecorded if why else ""),
            after=one.after,
            report=True,
        )
        for one in reserved.left
    )


def _unrecorded(facts: ClaimFacts) -> str:
    """Return why the record cannot be written; empty where it can."""
    return facts.safe.unrecorded if facts.safe is not None else ""


def over_limit_notice(facts: ClaimFacts, reserved: Reservations) -> tuple[Pending, ...]:
    """Return the report for users if more pods use a claim than reservedFor can hold."""
    if not reserved.over_limit:
        return ()
    message = (
        f'resource claim "{facts.claim.metadata.name}" already has {RESERVED_FOR_LIMIT} consumers, '
        f"which is the limit; {len(reserved.over_limit)} more wait for a place in reservedFor"
    )
    return (
        Pending(ClaimReason.RESERVATIONS_FULL, facts.claim.metadata.name, message, report=True),
    )


def unseen(facts: ClaimFacts, reserved: Reservations) -> tuple[Pending, ...]:
    """Look again for consumers that only a live read has shown.

    A watch that breaks may miss a pod from its beginning to its end: no event then reports that it
    is gone.
    """
    known = {pod.metadata.uid for one in reserved.kept if (pod := facts.pods.get(one.name))}
    names = [one.name for one in reserved.kept if one.is_pod and one.uid not in known]
    if not names or reserved.left:
        return ()
    message = f'the watch has not reported pod "{names[0]}" yet'
    subject = facts.claim.metadata.name
    return (Pending(ClaimReason.CONSUMER_UNSEEN, subject, message, after=UNSEEN_AGAIN),)


def is_done(found: Found) -> bool:
    """Whether a live read found a pod that will not use its devices any more."""
    return isinstance(found, Pod) and found.done
