"""Pods that wait, and whose claims tolerate a reservation: they would take what others end for."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from dragoman.allocation import Cluster, DeviceID
from dragoman.allocation.timebudget import check
from dragoman.diagnosis.subject import Subject, of_pod
from dragoman.inventory.facts.world import PodFact
from dragoman.model.taints import RESERVATION, Taint, Toleration
from dragoman.preemption.candidates import Candidate, devices_of
from dragoman.preemption.preemptionfacts import PreemptionFacts, priority_of
from dragoman.preemption.spending import Spending
from dragoman.preemption.trial import PreemptionTrial

_OTHER = Taint(RESERVATION, "NoSchedule", "-")
"""A reservation for no pod."""


@dataclass(frozen=True)
class Rivals:
    """The pods of a cluster that pass reservations for others."""

    facts: PreemptionFacts  # The cluster
    cluster: Cluster  # The same, as the allocator has it

    def of(self, waiting: PodFact, candidate: Candidate, reserved: Collection[DeviceID]) -> str:
        """Return who could take a reserved device once victims have ended; empty for none.

        The text is for tenants: it names no pod of another namespace.

        Args:
            waiting: The pod that the plan is for.
            candidate: The plan.
            reserved: What only that pod's claims should get.

        Raises:
            TooExpensiveError: The entered `TimeBudget` is used up.
        """
        taint = Taint(RESERVATION, "NoSchedule", waiting.pod.metadata.uid)
        for one in self._tolerating:
            check()
            if one.pod.key == waiting.key or not _tolerates(one, taint):
                continue
            if not self._takes(one, candidate, frozenset(reserved)):
                continue
            own = one.pod.pod.metadata.namespace == waiting.pod.metadata.namespace
            who = f"pod {one.pod.pod.metadata.name}" if own else "a pod of another namespace"
            which = "every taint" if _tolerates(one, _OTHER) else "this reservation"
            return f"{who} tolerates {which}, and could take the devices"
        return ""

    @cached_property
    def _tolerating(self) -> tuple[Subject, ...]:
        pods = self.facts.world.pods.values()
        waiting = (one for one in pods if not (one.pod.node_name or one.pod.done))
        found = (of_pod(self.facts.world, one) for one in waiting if one.pod.entries)
        return tuple(one for one in found if any(_tolerations(one)))

    def _takes(self, one: Subject, candidate: Candidate, reserved: frozenset[DeviceID]) -> bool:
        """Whether a pod would get a reserved device; also where the search is too large to say."""
        facts, spending = self.facts, Spending()
        load = facts.load(priority_of(one.pod.document))
        trial = PreemptionTrial(facts, self.cluster, load, one, spending)
        pods = [*(victim.pod for victim in candidate.victims), *candidate.ending]
        claims = {c.key: c for pod in pods for c in facts.claims_of.get(pod.uid, ())}.values()
        trial.remove(pods, claims)
        try:
            outcome = trial.fits(facts.world.nodes[candidate.node])
        finally:
            trial.restore(pods, claims)
        taken = devices_of(outcome, len(one.claims)) if outcome is not None else ()
        return not reserved.isdisjoint(taken) or spending.exceeded > 0


def _tolerates(subject: Subject, taint: Taint) -> bool:
    return any(one.tolerates(taint) for one in _tolerations(subject))


def _tolerations(subject: Subject) -> Iterator[Toleration]:
    return (
        toleration
        for claim in subject.claims
        for request in claim.spec.requests
        for one in request.alternatives
        if not one.admin_access
        for toleration in one.tolerations
    )
