"""Whether a plan that is computed again is the one of a journal."""

from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan
from dragoman.preemption.policy import PreemptionCode
from dragoman.preemption.protocol import Look, Sight
from dragoman.preemption.stored import Journal, digest

_ROOM = frozenset({PreemptionOutcome.FITS, PreemptionOutcome.WAITS, PreemptionOutcome.SCHEDULER})
_PLACING = frozenset({PreemptionCode.NO_CLAIM, PreemptionCode.NOMINATED, PreemptionCode.PLACED})


def sight_of(made: PreemptionPlan, journal: Journal) -> Look:
    """Compare a plan with a journal; its texts are for tenants, and name no pod.

    A journal that others wrote names victims that no plan names: nothing is evicted for it. Fewer
    victims than recorded are the same plan, because pods end by themselves as well.
    """
    if made.outcome in _ROOM:
        return Look(Sight.ROOM)
    if made.outcome is PreemptionOutcome.UNKNOWN:
        return Look(Sight.UNKNOWN)
    chosen = made.chosen
    if made.outcome is PreemptionOutcome.INELIGIBLE and journal.evictions and _being_placed(made):
        return Look(Sight.ROOM)
    if made.outcome is PreemptionOutcome.INELIGIBLE:
        return Look(Sight.CHANGED, why=made.reasons[0].text)
    if chosen is None or chosen.node != journal.node:
        return Look(Sight.CHANGED, why=f"no plan for node {journal.node} holds any more")
    if any(digest(victim.pod.uid) not in journal.victims for victim in chosen.victims):
        return Look(Sight.CHANGED, why="other pods would have to end than planned")
    # Once pods are being evicted, a device that came free by itself is as good as a reserved one.
    if not journal.evictions and not set(chosen.devices) <= set(journal.devices):
        return Look(Sight.CHANGED, why="the pod would get other devices than planned")
    return Look(Sight.SAME, chosen.victims)


def _being_placed(made: PreemptionPlan) -> bool:
    """Whether the scheduler has allocated the pod's claims by now, or found it a node."""
    return all(one.code in _PLACING for one in made.reasons)
