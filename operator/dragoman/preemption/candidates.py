"""The victims of one node, and the choice among nodes, as default preemption does both.

Source: `SelectVictimsOnNode`, `filterPodsWithPDBViolation` and `pickOneNodeForPreemption` of
kube-scheduler (pkg/scheduler/framework/plugins/defaultpreemption and framework/preemption), the
same in 1.34 to 1.37 for pods without PodGroups. What differs: claims of victims are released, a
candidate with a victim that the Eviction API rejects is none, and pods that a policy spares stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from dragoman.allocation import Allocated, DeviceID
from dragoman.allocation.search.solution import node_name_of
from dragoman.inventory.facts.world import NodeFact
from dragoman.maintenance.budgets import DisruptionBudget, Protected, predict
from dragoman.model.claim import Claim
from dragoman.preemption.policy import Policy, PreemptionCode, PreemptionReason, spared
from dragoman.preemption.preemptionfacts import BoundPod, PreemptionFacts
from dragoman.preemption.trial import PreemptionTrial
from dragoman.preemption.units import Unit, units
from dragoman_base.words import counted

_OFFSET = 2**31
"""Added to each priority, so that fewer pods of negative priority weigh less (criterion 3)."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that would end."""

    pod: BoundPod  # The pod
    devices: tuple[DeviceID, ...] = ()  # What its claims hold, admin access excluded


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that could take the pod, at a price."""

    node: str  # Its name
    victims: tuple[Victim, ...]  # The most important first
    devices: tuple[DeviceID, ...] = ()  # What the pod would get
    ending: tuple[BoundPod, ...] = ()  # Pods that end already; the plan counts on it
    # Victims that default preemption counts as violating a budget, although their evictions are
    # allowed
    violations: int = 0


class Why(StrEnum):
    """Why a node is no candidate."""

    FILTERED = "Filtered"
    """The scheduler leaves it out, whichever pods end."""
    NO_VICTIM = "NoVictim"
    """No pod on it may end, and none would have to stay."""
    NOT_ENOUGH = "NotEnough"
    """The pod does not fit even without all pods of lower priority."""
    SPARED = "Spared"
    """Only pods that never end for another stand in the way."""
    BUDGET = "PodDisruptionBudget"
    """An eviction would be refused."""
    TOO_MANY = "TooManyVictims"
    """More pods would end than a plan may name."""
    NETWORK = "NetworkDevices"
    """The pod would get devices that do not belong to the node."""
    TOO_LARGE = "SearchTooLarge"
    """The budget of searches ended before."""
    NOT_EXAMINED = "NotExamined"
    """There were enough candidates before."""


@dataclass(frozen=True, slots=True)
class RefusedNode:
    """A node that is no candidate."""

    node: str  # Its name
    why: Why  # In one word
    details: tuple[str, ...] = ()  # What stands in the way, each as a clause
    # Why pods are spared; names of pods, for those who may know them
    reasons: tuple[PreemptionReason, ...] = ()


@dataclass(slots=True)
class Examination:
    """Looks for victims on nodes."""

    trial: PreemptionTrial  # The cluster
    priority: int  # Of the pod that waits
    policy: Policy  # What is allowed
    _kept: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Note which claims the pod uses itself."""
        self._kept = frozenset(one.key for one in self.trial.subject.allocated)

    def examine(self, node: NodeFact) -> Candidate | RefusedNode:
        """Return the victims of one node, or why it is no candidate; nothing stays removed."""
        name = node.node.name
        pods = self.trial.facts.by_node.get(name, ())
        ending = tuple(pod for pod in pods if pod.ending)
        staying = [pod for pod in pods if not pod.ending]
        claims_of = self.trial.facts.claims_of
        leaving = units(ending, claims_of, lambda _: None, self._kept)
        # A claim that a pod uses as well that stays is not released.
        gone = [claim for unit in leaving if not unit.spared for claim in unit.claims]
        self.trial.remove(ending, gone)
        try:
            found = units(staying, claims_of, self._spared, self._kept)
            exceeded = self.trial.spending.exceeded
            answer = self._among(node, found, ending)
            # A search that did not end says nothing: a pod might be put back that is needed.
            large = self.trial.spending.exceeded > exceeded
            return RefusedNode(name, Why.TOO_LARGE) if large else answer
        finally:
            self.trial.restore(ending, gone)

    def _spared(self, pod: BoundPod) -> PreemptionReason | None:
        reason = spared(self.trial.facts.world, pod, self.priority, self.policy)
        if reason is not None:
            return reason
        several = self.trial.facts.budgets_of(pod)
        if len(several) > 1:
            names = ", ".join(sorted(one.name for one in several))
            text = f"the Eviction API rejects {pod.key}, which has several PodDisruptionBudgets"
            return PreemptionReason(PreemptionCode.BUDGETS, f"{text}: {names}")
        return None

    def _among(
        self, node: NodeFact, found: Sequence[Unit], ending: tuple[BoundPod, ...]
    ) -> Candidate | RefusedNode:
        name = node.node.name
        free = [unit for unit in found if not unit.spared]
        if ending and self.trial.fits(node):
            return Candidate(name, (), (), ending)
        for unit in free:
            self.trial.remove(unit.pods, unit.claims)
        removed = list(free)
        try:
            if not free or not self.trial.fits(node):
                return self._refused(node, found, any_free=bool(free))
            victims, violations = self._reprieve(node, free, removed)
            outcome = self.trial.fits(node)
        finally:
            for unit in removed:
                self.trial.restore(unit.pods, unit.claims)
        if outcome is None:
            return RefusedNode(name, Why.TOO_LARGE)
        return self._checked(node, victims, violations, outcome, ending)

    def _reprieve(
        self, node: NodeFact, free: Sequence[Unit], removed: list[Unit]
    ) -> tuple[list[Unit], list[tuple[Unit, tuple[DisruptionBudget, ...]]]]:
        """Put back whom the pod does not need; `removed` shrinks to the victims."""
        violating, fine = split(free, self.trial.facts)
        victims: list[Unit] = []
        violations: list[tuple[Unit, tuple[DisruptionBudget, ...]]] = []
        for unit, broken in (*violating, *((one, ()) for one in fine)):
            self.trial.restore(unit.pods, unit.claims)
            removed.remove(unit)
            if self.trial.fits(node) is None:
                self.trial.remove(unit.pods, unit.claims)
                removed.append(unit)
                victims.append(unit)
                violations += [(unit, broken)] if broken else []
        return victims, violations

    def _refused(self, node: NodeFact, found: Sequence[Unit], *, any_free: bool) -> RefusedNode:
        """Say why a node does not do without all pods that may end; these are removed."""
        name = node.node.name
        if self.trial.spending.empty:
            return RefusedNode(name, Why.TOO_LARGE)
        # Pods of higher priority never count as standing in the way: nothing could change that.
        kept = [unit for unit in found if unit.spared and self._lower(unit)]
        if kept:
            for unit in kept:
                self.trial.remove(unit.pods, unit.claims)
            try:
                fits = self.trial.fits(node)
            finally:
                for unit in kept:
                    self.trial.restore(unit.pods, unit.claims)
            if fits:
                reasons = tuple(dict.fromkeys(one for unit in kept for one in unit.spared))
                return RefusedNode(name, Why.SPARED, (), reasons)
        return RefusedNode(name, Why.NOT_ENOUGH if any_free else Why.NO_VICTIM)

    def _lower(self, unit: Unit) -> bool:
        return any(pod.priority < self.priority for pod in unit.pods)

    def _checked(
        self,
        node: NodeFact,
        chosen: Iterable[Unit],
        violations: Sequence[tuple[Unit, tuple[DisruptionBudget, ...]]],
        outcome: Allocated,
        ending: tuple[BoundPod, ...],
    ) -> Candidate | RefusedNode:
        name = node.node.name
        victims = tuple(
            sorted(
                (Victim(pod, _devices(pod, unit.claims)) for unit in chosen for pod in unit.pods),
                key=lambda victim: (victim.pod.importance, victim.pod.key),
            )
        )
        if refusals := _evictions(victims, self.trial.facts):
            broken = dict.fromkeys(_allows(one) for _, some in violations for one in some)
            return RefusedNode(name, Why.BUDGET, (*broken,) or refusals)
        if len(victims) > self.policy.max_victims:
            text = f"{len(victims)} pods would end, and a plan has at most"
            return RefusedNode(name, Why.TOO_MANY, (f"{text} {self.policy.max_victims}",))
        devices = devices_of(outcome, len(self.trial.extended.subject(node).claims))
        if beyond := self._beyond(name, devices):
            return RefusedNode(name, Why.NETWORK, beyond)
        violating = sum(len(unit.pods) for unit, _ in violations)
        return Candidate(name, victims, devices, ending, violating)

    def _beyond(self, name: str, devices: Sequence[DeviceID]) -> tuple[str, ...]:
        """Return devices that other nodes may use as well: their users elsewhere would matter."""
        wanted = frozenset(devices)
        return tuple(
            str(key)
            for pool in self.trial.cluster.node_pools(name).pools
            if any(one[:2] == pool.id for one in wanted)
            for index, device in enumerate(pool.devices)
            if (key := DeviceID(*pool.id, device.name)) in wanted
            and node_name_of(pool, index) != name
        )


def devices_of(outcome: Allocated, claims: int) -> tuple[DeviceID, ...]:
    """Return the devices of the first claims of an allocation, admin access excluded."""
    return tuple(
        DeviceID(one.driver, one.pool, one.device)
        for made in outcome.allocations[:claims]
        for one in made.devices
        if not one.admin_access
    )


def _devices(pod: BoundPod, claims: Iterable[Claim]) -> tuple[DeviceID, ...]:
    return tuple(
        dict.fromkeys(
            result.id
            for claim in claims
            if claim.is_reserved_for(pod.uid)
            for result in claim.devices
            if not result.admin
        )
    )


def split(
    found: Sequence[Unit], facts: PreemptionFacts
) -> tuple[list[tuple[Unit, tuple[DisruptionBudget, ...]]], list[Unit]]:
    """Return the units whose end would violate budgets, each with these, and the others.

    Budgets are counted down in the order of importance (filterPodsWithPDBViolation). A pod that a
    budget already counts as disrupted is not counted again. An empty selector matches every pod, as
    for the Eviction API; default preemption takes it for none. In 1.37 it stops at the first budget
    that a pod violates: no pod here has several, because those are spared.
    """
    left: dict[tuple[str, str], int] = {}
    violating: list[tuple[Unit, tuple[DisruptionBudget, ...]]] = []
    fine: list[Unit] = []
    for unit in found:
        broken = []
        for pod in unit.pods:
            for one in facts.budgets_of(pod):
                if pod.name in one.disrupted:
                    continue
                key = (one.namespace, one.name)
                left[key] = left.get(key, one.allowed) - 1
                if left[key] < 0:
                    broken.append(one)
        if broken:
            violating.append((unit, tuple(broken)))
        else:
            fine.append(unit)
    return violating, fine


def _allows(budget: DisruptionBudget) -> str:
    allowed = counted(max(budget.allowed, 0), "disruption")
    return f"PodDisruptionBudget {budget.namespace}/{budget.name} allows {allowed}"


def _evictions(victims: Sequence[Victim], facts: PreemptionFacts) -> tuple[str, ...]:
    """Return why the Eviction API would refuse victims; default preemption deletes instead.

    It has the last word. Default preemption counts budgets down for all pods that may end, so that
    it takes one for violating that alone would end, or that no budget protects while it is not
    ready: such a victim makes a candidate worse, but it can be evicted.
    """
    budgets = {
        (one.namespace, one.name): one for victim in victims for one in facts.budgets_of(victim.pod)
    }
    found = predict([protected(victim.pod) for victim in victims], budgets.values())
    return tuple(dict.fromkeys(f"{name}: {text}" for name, text in found.items() if text))


def protected(pod: BoundPod) -> Protected:
    """Return what of a pod decides about its eviction."""
    return Protected(
        pod.namespace,
        pod.name,
        pod.labels,
        phase=pod.phase,
        ready=pod.ready,
        deleting=pod.ending,
        grace=pod.grace,
    )


def best(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Sort candidates, the best first; the scheduler breaks what remains equal at random."""
    return tuple(sorted(candidates, key=_badness))


def _badness(candidate: Candidate) -> tuple[int, int, int, int, _Latest, str]:
    pods = [victim.pod for victim in candidate.victims]
    top = max(pod.priority for pod in pods)
    return (
        candidate.violations,
        pods[0].priority,
        sum(pod.priority + _OFFSET for pod in pods),
        len(pods),
        _Latest(min(pod.started for pod in pods if pod.priority == top)),
        candidate.node,
    )


@dataclass(frozen=True, slots=True, order=False)
class _Latest:
    """A timestamp that sorts before earlier ones."""

    text: str

    def __lt__(self, other: _Latest) -> bool:
        return self.text > other.text
