"""A cluster in which pods are taken from nodes and placed on others, step by step, and undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dragoman.allocation import Allocated, Claim, Cluster, DeviceID, parse_claim
from dragoman.diagnosis.filters import Load
from dragoman.diagnosis.subject import Subject, of_pod
from dragoman.inventory.facts.world import NodeFact, PodFact
from dragoman.model.needs import Resources
from dragoman.preemption.candidates import devices_of
from dragoman.preemption.preemptionfacts import BoundPod, PreemptionFacts
from dragoman.preemption.spending import Spending
from dragoman.preemption.trial import PreemptionTrial


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod that was placed."""

    node: str  # Where
    devices: tuple[DeviceID, ...]  # What it got, admin access excluded


@dataclass(slots=True)
class Layout:
    """The cluster of a search for moves."""

    facts: PreemptionFacts  # The real state
    cluster: Cluster  # The same, as the allocator has it
    load: Load  # What pods request of each node
    spending: Spending  # The budget of the plan
    _made: int = field(default=0)
    _subjects: dict[str, Subject] = field(default_factory=dict)

    def trial(self, subject: Subject) -> PreemptionTrial:
        """Return where a subject is tried; it shares this state."""
        return PreemptionTrial(self.facts, self.cluster, self.load, subject, self.spending)

    def again(self, pod: BoundPod) -> Subject:
        """Return a pod as its controller creates it again, with new claims from its templates."""
        found = self._subjects.get(pod.uid)
        if found is None:
            assert pod.fact is not None  # only pods that were read whole are moved
            found = self._subjects[pod.uid] = of_pod(
                self.facts.world, unbound(pod.fact), planned=True
            )
        return found

    @contextmanager
    def without(self, pods: tuple[BoundPod, ...], claims: tuple[Claim, ...]) -> Iterator[None]:
        """Take pods away while the block runs."""
        for pod in pods:
            self.load.remove(pod.node, pod.requests)
        for claim in claims:
            self.cluster.remove_claim(claim.key)
        try:
            yield
        finally:
            for pod in pods:
                self.load.add(pod.node, pod.requests)
            for claim in claims:
                self.cluster.put_claim(claim)

    @contextmanager
    def placed(
        self, trial: PreemptionTrial, node: NodeFact, outcome: Allocated
    ) -> Iterator[Placed]:
        """Place a pod while the block runs, with what the allocator gave it."""
        undo = self.put(trial, node, outcome)
        try:
            yield undo.placed
        finally:
            self.take_back(undo)

    def put(self, trial: PreemptionTrial, node: NodeFact, outcome: Allocated) -> Put:
        """Place a pod; `take_back` undoes it."""
        wanted = trial.extended.subject(node).wanted
        need = trial.extended.requests(node)
        made = []
        for one, allocation in zip(wanted, outcome.allocations[: len(wanted)], strict=True):
            # A name that no object can have, so that nothing is replaced.
            self._made += 1
            name = f"placed/{self._made}/{one.claim.name}"
            document = {
                "metadata": {"name": name, "namespace": one.claim.namespace},
                "status": {"allocation": allocation.document()},
            }
            made.append(replace(one.claim.named(name), held=parse_claim(document).held))
        for claim in made:
            self.cluster.put_claim(claim)
        self.load.add(node.node.name, need)
        placed = Placed(node.node.name, devices_of(outcome, len(wanted)))
        return Put(placed, tuple(made), need)

    def take_back(self, put: Put) -> None:
        """Undo what `put` did."""
        for claim in put.claims:
            self.cluster.remove_claim(claim.key)
        self.load.remove(put.placed.node, put.need)


@dataclass(frozen=True, slots=True)
class Put:
    """What placing a pod changed."""

    placed: Placed
    claims: tuple[Claim, ...]
    need: Resources


def unbound(fact: PodFact) -> PodFact:
    """Return a pod as it was before it had a node and claims."""
    spec = {key: one for key, one in (fact.document.get("spec") or {}).items() if key != "nodeName"}
    pod = replace(fact.pod, node_name="", published={}, extended_claim=None)
    return replace(fact, pod=pod, document={**fact.document, "spec": spec})
