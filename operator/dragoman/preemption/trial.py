"""One cluster in which pods are removed and put back: would the pod that waits fit now?"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from dragoman.allocation import Allocated, BudgetExceeded, Claim, Cluster, Outcome, allocate
from dragoman.allocation.timebudget import check
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import Load, rejections
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import NodeFact
from dragoman.model.fields import mapping
from dragoman.model.timestamps import moment
from dragoman.preemption.preemptionfacts import BoundPod, PreemptionFacts, priority_of
from dragoman.preemption.spending import Spending

KEPT_AWAY = "node(s) didn't satisfy existing pods anti-affinity rules"
"""What the scheduler says of a node that a pod keeps others away from."""


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
    # UIDs of pods that keep the one that waits away, by the label of nodes that says from where
    _keeping_away: Mapping[tuple[str, str], set[str]] = field(init=False)
    _removed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Find out which extended resources classes serve, and who keeps the pod away."""
        self.extended = Extended(self.cluster, self.subject)
        self._keeping_away = self._find_keeping_away()

    def _find_keeping_away(self) -> Mapping[tuple[str, str], set[str]]:
        waiting, facts = self.subject.pod, self.facts
        namespace = facts.world.namespaces.get(waiting.pod.metadata.namespace) or {}
        labels = mapping(mapping(namespace, "metadata"), "labels", "metadata.")
        found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for pod in facts.keeping_away:
            check()  # users write selectors, and any number of terms
            there = facts.world.nodes.get(pod.node)
            if there is None or not facts.counts(pod, priority_of(waiting.document)):
                continue
            for one in pod.anti_affinity:
                value = there.node.labels.get(one.topology)
                if value is not None and one.keeps_away(waiting, labels):
                    found[one.topology, str(value)].add(pod.uid)
        return found

    def filtered(self, node: NodeFact) -> tuple[str, ...]:
        """Return why the scheduler leaves the node out before it looks at devices.

        Raises:
            TooExpensiveError: The entered `TimeBudget` is used up.
        """
        check()  # users write selectors of nodes, and no search follows where none matches
        wanted = self.extended.requests(node)
        found = rejections(self.subject.pod, node, self.load, wanted)
        return (*found, KEPT_AWAY) if self._is_kept_away(node) else found

    def _is_kept_away(self, node: NodeFact) -> bool:
        """Whether a pod that was not removed keeps the pod away (InterPodAffinity, symmetric)."""
        labels = ((key, str(value)) for key, value in node.node.labels.items())
        keeping = map(self._keeping_away.get, labels)
        return any(not pods <= self._removed for pods in keeping if pods)

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
            self._removed.add(pod.uid)
        for claim in claims:
            self.cluster.remove_claim(claim.key)

    def restore(self, pods: Iterable[BoundPod], claims: Iterable[Claim]) -> None:
        """Put back what was removed."""
        for pod in pods:
            self.load.add(pod.node, pod.requests)
            self._removed.discard(pod.uid)
        for claim in claims:
            self.cluster.put_claim(claim)


Search = Callable[[NodeFact], Allocated | None]
