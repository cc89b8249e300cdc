"""One cluster in which pods are removed and put back: would the pod that waits fit now?"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dragoman.allocation import Allocated, BudgetExceeded, Claim, Cluster, Outcome, allocate
from dragoman.allocation.timebudget import check
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import Load, rejections
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import NodeFact
from dragoman.model.timestamps import moment
from dragoman.preemption.preemptionfacts import BoundPod, PreemptionFacts
from dragoman.preemption.spending import Spending


@dataclass(slots=True)
class PreemptionTrial:
    """A state of the cluster that differs from the real one by pods that were removed.

    What is removed is restored, also where a search ends early: the cluster belongs to
    the caller, and other plans are computed on it.
    """

    facts: PreemptionFacts  # The real state
    cluster: Cluster  # The same, as the allocator has it
    load: Load  # What pods request of each node
    subject: Subject  # The pod that waits, and its claims
    spending: Spending  # The budget of the plan
    extended: Extended = field(init=False)

    def __post_init__(self) -> None:
        """Find out which extended resources classes serve."""
        self.extended = Extended(self.cluster, self.subject)

    def filtered(self, node: NodeFact) -> tuple[str, ...]:
        """Return why the scheduler leaves the node out before it looks at devices.

        Raises:
            TooExpensiveError: The entered `TimeBudget` is used up.
        """
        check()  # users write selectors of nodes, and no search follows where none matches
        wanted = self.extended.requests(node)
        return rejections(self.subject.pod, node, self.load, wanted)

    def claims(self, node: NodeFact) -> tuple[Claim, ...]:
        """Return the claims of the pod on a node, allocated ones last."""
        subject = self.extended.subject(node)
        return (*subject.claims, *subject.allocated)

    def allocate(self, node: NodeFact) -> Outcome:
        """Search devices on a node, and spend what that took."""
        outcome = allocate(
            node.node.name,
            self.claims(node),
            self.cluster,
            budget=self.spending.limit,
            now=moment(self.facts.world.now),
        )
        self.spending.spend(outcome)
        if isinstance(outcome, BudgetExceeded):
            self.spending.exceeded += 1
        return outcome

    def fits(self, node: NodeFact) -> Allocated | None:
        """Return what the pod would get on a node now, None where it does not fit."""
        if self.spending.empty:
            self.spending.exceeded += 1
            return None
        if self.filtered(node):
            return None
        outcome = self.allocate(node)
        return outcome if isinstance(outcome, Allocated) else None

    def remove(self, pods: Iterable[BoundPod], claims: Iterable[Claim]) -> None:
        """Remove pods, and free what claims hold."""
        for pod in pods:
            self.load.remove(pod.node, pod.requests)
        for claim in claims:
            self.cluster.remove_claim(claim.key)

    def restore(self, pods: Iterable[BoundPod], claims: Iterable[Claim]) -> None:
        """Put back what was removed."""
        for pod in pods:
            self.load.add(pod.node, pod.requests)
        for claim in claims:
            self.cluster.put_claim(claim)


Search = Callable[[NodeFact], Allocated | None]
