"""Plans for all pods that wait, from one snapshot, in a thread beside the event loop."""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from dragoman import surroundings
from dragoman.allocation import Cluster, DeviceID, TimeBudget, TooExpensiveError
from dragoman.diagnosis.explain import cluster_of
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.subject import Subject, of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.profiles import server_profile
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.preemption.comparison import sight_of
from dragoman.preemption.intree import Evidence, evidence
from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan, plan
from dragoman.preemption.policy import Policy, ineligible, report_only
from dragoman.preemption.preemptionfacts import PreemptionFacts, priority_of
from dragoman.preemption.protocol import Look, Sight
from dragoman.preemption.reservation import devices_to_reserve
from dragoman.preemption.rivals import Rivals
from dragoman.preemption.stored import Journal, digest

NEEDED = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules", "poddisruptionbudgets", "namespaces"),
)
CRUCIAL = frozenset(NEEDED) - {"devicetaintrules"}
"""Without one of these a plan might name a pod that must stay."""
SECONDS = 5.0
"""CPU time of one plan: at 5,000 nodes with 8 used devices each it takes two."""
SHARE = 5.0
"""CPU time of the plans of one namespace in one pass: its pods cannot keep others from plans."""
ALL = 15.0
"""CPU time of the plans of one pass; namespaces that come after are the first of the next one."""


@dataclass(frozen=True, slots=True)
class PlannedPreemptions:
    """What one pass found."""

    plans: tuple[PreemptionPlan, ...]  # One for each pod that waits, as far as there was time
    left_out: int  # Pods for which there was none
    seconds: float  # CPU time that it took
    # The devices that each plan with victims reserves, by the pod's UID
    reserved: Mapping[str, tuple[DeviceID, ...]] = field(default_factory=dict)
    # UIDs of pods that need extended resources that classes serve: the scheduler makes their claims
    extended: frozenset[str] = frozenset()
    in_tree: tuple[Evidence, ...] = ()  # What shows that kube-scheduler preempts for devices itself
    # Why a plan with victims is only reported, by the pod's UID: others would take the devices
    rivals: Mapping[str, str] = field(default_factory=dict)
    served: frozenset[str] = frozenset()  # Namespaces of which a pod was planned for


def compute(
    snapshot: Snapshot,
    waiting: Collection[str],
    policy: Policy,
    stopped: Callable[[], bool] = lambda: False,
    turns: Mapping[str, int] = MappingProxyType({}),
) -> PlannedPreemptions:
    """Plan for each pod; namespaces take turns, and pods alike share a plan.

    Args:
        snapshot: The cluster.
        waiting: UIDs of the pods.
        policy: What is allowed.
        stopped: Whether the answer is not needed any more.
        turns: The number of the last pass that served a namespace: the others come first.
    """
    began = surroundings.cpu()
    world = parse(snapshot)
    cluster = cluster_of(Inventory(world, server_profile(world), {}, {}))
    passed = _Pass(PreemptionFacts.of(world, policy.promised), cluster, policy, stopped)
    made = []
    left_out = 0
    for pod in in_turn(_pods(world, waiting), turns):
        found = passed.planned(of_pod(world, pod), surroundings.cpu() - began)
        made += [found] if found is not None else []
        left_out += found is None
    with passed.time():
        shown = evidence(passed.facts, cluster)
    planned = [one for one in made if one.plan.outcome is PreemptionOutcome.PLANNED]
    return PlannedPreemptions(
        tuple(one.plan for one in made),
        left_out,
        surroundings.cpu() - began,
        {one.uid: one.reserved for one in planned},
        frozenset(one.uid for one in planned if one.extended),
        shown,
        {one.uid: one.rival for one in planned if one.rival},
        frozenset(one.plan.subject.pod.pod.metadata.namespace for one in made),
    )


def in_turn(pods: Iterable[PodFact], turns: Mapping[str, int]) -> Iterator[PodFact]:
    """Yield pods in rounds of one for each namespace, its most important first, then its oldest.

    The namespace that was served longest ago begins: priorities of pods are their tenants' choice.
    """
    left: defaultdict[str, deque[PodFact]] = defaultdict(deque)
    for pod in sorted(pods, key=_order):
        left[pod.pod.metadata.namespace].append(pod)
    order = sorted(left, key=lambda name: (turns.get(name, 0), _order(left[name][0])))
    while order:
        for name in order:
            yield left[name].popleft()
        order = [name for name in order if left[name]]


@dataclass(frozen=True, slots=True)
class _Made:
    """A plan, and what it would reserve."""

    plan: PreemptionPlan
    reserved: tuple[DeviceID, ...] = ()
    extended: bool = False
    rival: str = ""

    @property
    def uid(self) -> str:
        return self.plan.subject.pod.pod.metadata.uid


@dataclass(slots=True)
class _Pass:
    """One pass over pods that wait: pods alike share a plan, namespaces the time."""

    facts: PreemptionFacts
    cluster: Cluster
    policy: Policy
    stopped: Callable[[], bool]
    rivals: Rivals = field(init=False)
    known: dict[object, _Made] = field(default_factory=dict)
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        """Let plans know who would take their devices."""
        self.rivals = Rivals(self.facts, self.cluster)

    def planned(self, subject: Subject, elapsed: float) -> _Made | None:
        """Return the plan of a pod; None where its time is used up."""
        namespace = subject.pod.pod.metadata.namespace
        shape = _shape(subject, self.policy)
        found = self.known.get(shape)
        if found is None:
            if elapsed > ALL or self.spent[namespace] > SHARE:
                return None
            start = surroundings.cpu()
            found = self.known[shape] = self._made(subject)
            self.spent[namespace] += surroundings.cpu() - start
        return replace(found, plan=replace(found.plan, subject=subject))

    def time(self) -> TimeBudget:
        """Return the time of one plan."""
        return TimeBudget(SECONDS, clock=surroundings.cpu, stopped=self.stopped)

    def _made(self, subject: Subject) -> _Made:
        try:
            with self.time():
                made = plan(self.facts, subject, self.cluster, policy=self.policy)
                chosen = made.chosen
                if made.outcome is not PreemptionOutcome.PLANNED or chosen is None:
                    return _Made(made)
                extended = Extended(self.cluster, subject).served
                reserved = devices_to_reserve(self.cluster, chosen)
                rival = self.rivals.of(subject.pod, chosen, reserved)
                return _Made(made, reserved, bool(extended), rival)
        except TooExpensiveError:
            priority = priority_of(subject.pod.document)
            return _Made(
                PreemptionPlan(subject, priority, PreemptionOutcome.UNKNOWN, complete=False)
            )


def looked(
    snapshot: Snapshot, journal: Journal, policy: Policy, stopped: Callable[[], bool]
) -> Look:
    """Compute the plan of a journal again, for its pod and node alone.

    A journal is no instruction: only what this names may be evicted. Once its pods are being
    evicted, others are left out: those that are evicted already would end in place of them. So are
    budgets, which count these evictions: the Eviction API refuses what they do not allow, and the
    preemption waits for it within its time limit.
    """
    if journal.evictions:
        policy = replace(policy, only=journal.victims)
        snapshot = released(snapshot, journal.victims)
        unprotected = {**snapshot.objects, "poddisruptionbudgets": ()}
        snapshot = replace(snapshot, objects=unprotected)
    world = parse(snapshot)
    pod = next((one for one in world.pods.values() if _is_of(one, journal)), None)
    if pod is None:
        return Look(Sight.UNKNOWN)
    subject = of_pod(world, pod)
    if held := tuple(report_only(pod)):
        return Look(Sight.CHANGED, why=held[0].text)
    cluster = cluster_of(Inventory(world, server_profile(world), {}, {}))
    try:
        with TimeBudget(SECONDS, clock=surroundings.cpu, stopped=stopped):
            facts = PreemptionFacts.of(world, policy.promised)
            made = plan(facts, subject, cluster, policy=policy, only=journal.node)
            look = replace(sight_of(made, journal), kept_away=made.kept_away)
            if journal.evictions or made.chosen is None or look.sight is not Sight.SAME:
                return look
            rival = Rivals(facts, cluster).of(pod, made.chosen, journal.devices)
    except TooExpensiveError:
        return Look(Sight.UNKNOWN)
    return Look(Sight.CHANGED, why=rival) if rival else look


def released(snapshot: Snapshot, victims: Collection[str]) -> Snapshot:
    """Return a snapshot in which claims are released of victims that have ended.

    The claim controller does it a moment after the end of a pod; until then the plan would seem to
    hold no more.

    Args:
        snapshot: The cluster.
        victims: Digests of the UIDs of pods that were to be evicted.
    """
    present = {(one.get("metadata") or {}).get("uid") for one in snapshot.of("pods")}

    def ended(consumer: Mapping[str, Any]) -> bool:
        uid = str(consumer.get("uid") or "")
        return uid not in present and digest(uid) in victims

    claims: list[Mapping[str, Any]] = []
    for claim in snapshot.of("resourceclaims"):
        status = claim.get("status") or {}
        consumers = status.get("reservedFor") or ()
        left = [one for one in consumers if not ended(one)]
        if len(left) < len(consumers):
            kept = {key: one for key, one in status.items() if left or key != "allocation"}
            claims.append({**claim, "status": {**kept, "reservedFor": left}})
        else:
            claims.append(claim)
    return replace(snapshot, objects={**snapshot.objects, "resourceclaims": tuple(claims)})


def _is_of(pod: PodFact, journal: Journal) -> bool:
    return pod.pod.metadata.uid == journal.pod_uid and pod.key == journal.key


def _pods(world: World, waiting: Collection[str]) -> Iterable[PodFact]:
    return (pod for pod in world.pods.values() if pod.pod.metadata.uid in waiting)


def _order(pod: PodFact) -> tuple[int, str, str]:
    return (-priority_of(pod.document), pod.pod.metadata.created, pod.key)


def _shape(subject: Subject, policy: Policy) -> object:
    """Return what plans of pods have in common, as those of one Job."""
    if subject.allocated or subject.obstacles:
        return subject.pod.key
    document = subject.pod.document
    spec: dict[str, Any] = dict(document.get("spec") or {})
    spec.pop("resourceClaims", None)
    labels = (document.get("metadata") or {}).get("labels")
    claims = tuple(id(one.spec) for one in subject.claims)
    # A pod that is being deleted, or has a promised node, says nothing about its siblings.
    barred = tuple(one.code for one in ineligible(subject, policy))
    return (subject.pod.pod.metadata.namespace, claims, repr(spec), repr(labels), barred)
