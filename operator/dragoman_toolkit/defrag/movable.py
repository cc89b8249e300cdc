"""Which pods can be moved: their controller creates them again, and nothing ties them down."""

from dataclasses import dataclass

from dragoman.allocation import DeviceID
from dragoman.maintenance.budgets import DisruptionBudget, predict
from dragoman.model.claim import Claim
from dragoman.preemption.candidates import protected
from dragoman.preemption.policy import Policy, PreemptionCode, PreemptionReason, spared
from dragoman.preemption.preemptionfacts import BoundPod, PreemptionFacts, not_computed

RECREATED = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "Job"})
"""Kinds of controllers that create a pod again after an eviction."""


@dataclass(frozen=True, slots=True, eq=False)
class Movable:
    """A pod that can be moved."""

    pod: BoundPod  # The pod
    claims: tuple[Claim, ...] = ()  # Generated for it alone
    budgets: tuple[DisruptionBudget, ...] = ()  # Those that count it

    @property
    def devices(self) -> tuple[DeviceID, ...]:
        """What it holds, admin access excluded."""
        return tuple(
            dict.fromkeys(
                result.id for claim in self.claims for result in claim.devices if not result.admin
            )
        )

    @property
    def cost(self) -> tuple[int, int, str]:
        """Sorts what is cheap to move first: few devices, low priority, a late start."""
        return (len(self.devices), self.pod.priority, "".join(map(_inverted, self.pod.started)))


def _inverted(letter: str) -> str:
    return chr(0x10FFFF - ord(letter))


def movable(
    facts: PreemptionFacts, pod: BoundPod, priority: int, policy: Policy
) -> Movable | PreemptionReason:
    """Return a pod that can be moved for one of a priority, or why it cannot."""
    # A move is no preemption: pods of the same priority move for each other.
    reason = spared(facts.world, pod, priority + policy.min_gap, policy)
    if reason is not None:
        return reason
    kind = pod.owner.kind if pod.owner else ""
    if kind not in RECREATED:
        what = f"{kind} {pod.owner.name}" if pod.owner else "no controller"
        return PreemptionReason(
            PreemptionCode.BARE, f"{pod.key} has {what}: nothing known creates it again"
        )
    if pod.fact is None:
        return PreemptionReason(PreemptionCode.UNREAD, f"{pod.key} was not read whole")
    left_out = next(not_computed(pod.fact.document), "")
    if left_out:
        return PreemptionReason(
            PreemptionCode.NOT_COMPUTED, f"{pod.key} has {left_out}, which are not simulated"
        )
    if any(entry.claim_name for entry in pod.fact.pod.entries):
        return PreemptionReason(
            PreemptionCode.OWN_CLAIM, f"{pod.key} uses a claim that is not made from a template"
        )
    claims = facts.claims_of.get(pod.uid, ())
    for claim in claims:
        if any(consumer.uid != pod.uid for consumer in claim.consumers):
            return PreemptionReason(
                PreemptionCode.SHARED, f"claim {claim.key} has other users besides {pod.key}"
            )
    budgets = facts.budgets_of(pod)
    refusal = predict([protected(pod)], budgets)[pod.key]
    if refusal:
        return PreemptionReason(PreemptionCode.BUDGETS, f"{pod.key}: {refusal}")
    return Movable(pod, claims, budgets)
