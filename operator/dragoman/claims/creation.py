"""Template to claim: plans the claims of pods and PodGroups from the decisions about their entries.

Each entry is decided by itself (`policies`), so one that fails never delays the others.
"""

from dragoman.claims.actions import Action, PublishClaims
from dragoman.claims.claimfacts import ClaimPlan, HolderFacts
from dragoman.claims.policies import POLICIES, SETTLED, Decision
from dragoman.claims.reasons import ClaimReason
from dragoman.model.holder import ClaimEntry
from dragoman.model.pod import Pod


def plan_pod(facts: HolderFacts) -> ClaimPlan:
    """Plan the claims of a pod: create what templates ask for, publish it in the pod's status.

    Nothing is ever made for a pod that has finished or is being deleted.
    """
    pod = facts.holder
    assert isinstance(pod, Pod)
    if pod.done or pod.metadata.deleting:
        return ClaimPlan()
    return _combine(facts)


def plan_group(facts: HolderFacts) -> ClaimPlan:
    """Plan the claims of a PodGroup (KEP-5729): one claim an entry, shared by its pods."""
    if facts.holder.metadata.deleting:
        return ClaimPlan()
    return _combine(facts)


def _combine(facts: HolderFacts) -> ClaimPlan:
    holder = facts.holder
    decisions = {entry.name: _decide(facts, entry) for entry in holder.entries}
    planned = (read for decision in decisions.values() for read in decision.live_reads)
    live_reads = tuple(read for read in planned if read not in facts.failed_reads)
    if live_reads:
        return ClaimPlan(live_reads=live_reads)
    creations = tuple(d.create for d in decisions.values() if d.create is not None)
    wanted = {entry: d.bind_to for entry, d in decisions.items() if d.bind_to is not None}
    changed = {e: name for e, name in wanted.items() if holder.published.get(e) != name}
    actions: tuple[Action, ...] = creations
    if changed:
        metadata = holder.metadata
        bind = PublishClaims(
            ClaimReason.BINDING,
            holder.reference,
            metadata.namespace,
            changed,
            metadata.resource_version,
        )
        actions = (*creations, bind)
    return ClaimPlan(actions, tuple(wait for d in decisions.values() for wait in d.pending))


def _decide(facts: HolderFacts, entry: ClaimEntry) -> Decision:
    for policy in POLICIES:
        decision = policy(facts, entry)
        if decision is not None:
            return decision
    return SETTLED
