"""Which pods would have to end so that a pod gets its devices: one plan for one pod.

kube-scheduler's preemption knows nothing of devices: it removes pods from a node in its head, and
their claims keep the devices. The planner repeats that preemption on a cluster from which the
claims of removed pods are gone as well. The steps are the scheduler's (PostFilter of
DefaultPreemption, pkg/scheduler/framework/preemption):

1. Who may preempt: a pod with a priority above its victims', a policy that allows it, and claims
   that wait for devices (`policy.ineligible`).
2. Which nodes could help: those that reject the pod for something that other pods hold. A node that
   fits as it is ends the search, and one that fits with cpu alone is left to the scheduler.
3. Victims of a node (`candidates.Examination`): remove all less important pods; if the pod then
   fits, keep as many as possible, the most important first, those with a PodDisruptionBudget
   that would be broken before all others. What stays removed are the victims.
4. The best of the candidates, by the scheduler's criteria: broken budgets, highest priority of a
   victim, sum of priorities, number, start of the youngest.

As the scheduler, the search stops after a tenth of the nodes, at least a hundred. Where that starts
at a random node, this one starts where the pod's UID says: the same facts give the same plan.

A plan is no permission. `only_reported` says why nothing may be evicted for it: what the plan does
not simulate might refuse the pod afterwards, and victims would have ended for nothing. The
controller carries a plan out in steps that survive a crash (`protocol`, `reservation`), and asks
the planner again before the first eviction. Budgets of searches (`spending`) bound each plan; one
that ends early says `UNKNOWN`, never that there is no candidate.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from zlib import crc32

from dragoman.allocation import Cluster
from dragoman.diagnosis.filters import TOO_MANY
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import NodeFact
from dragoman.preemption.candidates import Candidate, Examination, RefusedNode, Why, best
from dragoman.preemption.policy import (
    DEFAULT,
    Policy,
    PreemptionCode,
    PreemptionReason,
    ineligible,
    report_only,
)
from dragoman.preemption.preemptionfacts import PreemptionFacts, priority_of
from dragoman.preemption.spending import Spending
from dragoman.preemption.trial import KEPT_AWAY, PreemptionTrial
from dragoman_base.words import natural

PERCENTAGE = 10
LEAST = 100
"""Candidates that suffice: this part of the nodes, but at least so many (GetOffsetAndNumCandidates
with the defaults of DefaultPreemptionArgs)."""

Progress = Callable[[str, int], None]


class PreemptionOutcome(StrEnum):
    """What a plan says."""

    PLANNED = "Planned"
    """The pod fits where the victims of the first candidate end."""
    FITS = "Fits"
    """It fits on a node as it is."""
    WAITS = "WaitsForEndingPods"
    """It fits where pods that end already have ended."""
    SCHEDULER = "SchedulerPreempts"
    """Devices are free where cpu or memory is short: the scheduler's own preemption does it."""
    NONE = "NoCandidate"
    """No node can be made to fit."""
    INELIGIBLE = "NotEligible"
    """The pod may not preempt."""
    UNKNOWN = "SearchTooLarge"
    """The budget of searches ended before a candidate was found."""


@dataclass(frozen=True, slots=True)
class PreemptionPlan:
    """What would have to happen for one pod."""

    subject: Subject  # The pod and its claims
    priority: int  # Of the pod
    outcome: PreemptionOutcome  # In one word
    candidates: tuple[Candidate, ...] = ()  # The best first; one without victims for FITS and WAITS
    refusals: tuple[RefusedNode, ...] = ()  # Nodes that are no candidates
    reasons: tuple[PreemptionReason, ...] = ()  # Why the pod may not preempt
    # Why nothing may be evicted for it although there is a plan
    only_reported: tuple[PreemptionReason, ...] = ()
    complete: bool = True  # Whether every node was examined that could have mattered
    kept_away: int = 0  # Nodes that pods there keep the pod away from by anti-affinity

    @property
    def chosen(self) -> Candidate | None:
        """Where the pod would run; None without a plan."""
        return self.candidates[0] if self.candidates else None


def plan(  # noqa: PLR0913 — all but three have defaults
    facts: PreemptionFacts,
    subject: Subject,
    cluster: Cluster,
    *,
    policy: Policy = DEFAULT,
    spending: Spending | None = None,
    progress: Progress = lambda thing, count: None,  # noqa: ARG005 — nothing is reported
    only: str = "",
) -> PreemptionPlan:
    """Compute which pods would have to end so that a pod gets its devices.

    The same facts give the same plan: where the scheduler starts at a random node, the pod's UID
    says where the search begins.

    Args:
        facts: The cluster.
        subject: The pod that waits, and its claims.
        cluster: The same facts as the allocator has them; it is as before when this returns.
        policy: What is allowed.
        spending: The budget of all searches.
        progress: Called with "nodes" and how many were looked at.
        only: The node whose pods may end; empty for every node. Where the pod fits as it is, all
            nodes are looked at.
    """
    priority = priority_of(subject.pod.document)
    made = PreemptionPlan(
        subject, priority, PreemptionOutcome.INELIGIBLE, only_reported=(*report_only(subject.pod),)
    )
    if reasons := tuple(ineligible(subject, policy)):
        return replace(made, reasons=reasons)
    trial = PreemptionTrial(facts, cluster, facts.load(priority), subject, spending or Spending())
    found = _PlanSearch(trial, Examination(trial, priority, policy), progress, only)
    return found.run(made)


@dataclass(slots=True)
class _PlanSearch:
    trial: PreemptionTrial
    examination: Examination
    progress: Progress
    only: str = ""

    def run(self, made: PreemptionPlan) -> PreemptionPlan:
        """Look for a node that fits, then for candidates."""
        if not self._needs_devices():
            text = "no claim of the pod is without devices: its preemption is the scheduler's"
            return replace(made, reasons=(PreemptionReason(PreemptionCode.NO_CLAIM, text),))
        refusals: list[RefusedNode] = []
        potential: list[NodeFact] = []
        kept_away = 0
        nodes = self.trial.facts.world.nodes
        for number, name in enumerate(sorted(nodes), 1):
            node = nodes[name]
            filtered = self.trial.filtered(node)
            kept_away += KEPT_AWAY in filtered
            unresolvable = [one for one in filtered if not _resolvable(one)]
            if unresolvable:
                refusals.append(RefusedNode(name, Why.FILTERED, (*unresolvable,)))
                continue
            if not filtered and self.trial.fits(node):
                return replace(
                    made, outcome=PreemptionOutcome.FITS, candidates=(Candidate(name, ()),)
                )
            if filtered and self._scheduler_preempts(node):
                return replace(
                    made, outcome=PreemptionOutcome.SCHEDULER, candidates=(Candidate(name, ()),)
                )
            if self.only in {"", name}:
                potential.append(node)
            self.progress("nodes", number)
        return self._examined(replace(made, kept_away=kept_away), potential, refusals)

    def _needs_devices(self) -> bool:
        extended = self.trial.extended
        return bool(self.trial.subject.wanted or extended.served)

    def _scheduler_preempts(self, node: NodeFact) -> bool:
        """Whether the pod fits without the cpu of less important pods, but with their devices.

        The scheduler's own preemption, which releases no claim, removes pods for cpu and memory.
        """
        pods = [
            pod
            for pod in self.trial.facts.by_node.get(node.node.name, ())
            if pod.priority < self.examination.priority
        ]
        self.trial.remove(pods, ())
        try:
            return self.trial.fits(node) is not None
        finally:
            self.trial.restore(pods, ())

    def _examined(
        self, made: PreemptionPlan, potential: Sequence[NodeFact], refusals: list[RefusedNode]
    ) -> PreemptionPlan:
        candidates: list[Candidate] = []
        enough = min(max(len(potential) * PERCENTAGE // 100, LEAST), len(potential))
        complete = True
        for number, node in enumerate(self._ordered(potential), 1):
            if len(candidates) >= enough:
                refusals.append(RefusedNode(node.node.name, Why.NOT_EXAMINED))
                continue
            answer = self.examination.examine(node)
            if isinstance(answer, RefusedNode):
                refusals.append(answer)
                complete = complete and answer.why is not Why.TOO_LARGE
            elif answer.victims:
                candidates.append(answer)
            else:
                # Nothing has to be evicted: pods that end already make room.
                return replace(made, outcome=PreemptionOutcome.WAITS, candidates=(answer,))
            self.progress("candidates", number)
        refusals.sort(key=lambda one: natural(one.node))
        outcome = PreemptionOutcome.NONE if complete else PreemptionOutcome.UNKNOWN
        return replace(
            made,
            outcome=PreemptionOutcome.PLANNED if candidates else outcome,
            candidates=best(candidates),
            refusals=tuple(refusals),
            complete=complete,
        )

    def _ordered(self, nodes: Sequence[NodeFact]) -> list[NodeFact]:
        """Return nodes in the order of the search: where pods end already, none may have to."""
        on = self.trial.facts.by_node
        return sorted(
            self._rotated(nodes),
            key=lambda node: not any(pod.ending for pod in on.get(node.node.name, ())),
        )

    def _rotated(self, nodes: Sequence[NodeFact]) -> Iterator[NodeFact]:
        uid = self.trial.subject.pod.pod.metadata.uid
        offset = crc32(uid.encode()) % len(nodes) if nodes else 0
        yield from nodes[offset:]
        yield from nodes[:offset]


def _resolvable(reason: str) -> bool:
    """Whether the end of a pod can change a refusal of the node filters."""
    return reason in {TOO_MANY, KEPT_AWAY} or reason.startswith("Insufficient ")
