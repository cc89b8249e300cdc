"""Who may preempt, and which pods never end for another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.snapshots.documents import PREEMPTIBLE
from dragoman.inventory.usage.waiting import gated
from dragoman.model.fields import mapping
from dragoman.model.timestamps import seconds
from dragoman.preemption.preemptionfacts import (
    NEVER,
    BoundPod,
    gang_of,
    managed_by_kueue,
    not_computed,
    priority_of,
)
from dragoman.preemption.stored import digest

SYSTEM_CRITICAL = 2 * 10**9
"""The lowest priority of system-cluster-critical and system-node-critical."""
SPARED = ("kube-system",)


class VictimChoice(StrEnum):
    """Which pods may be victims, as far as annotations say."""

    ALL = "all"
    """Those that do not refuse."""
    OPTED_IN = "opted-in"
    """Those that agree, or whose namespace does."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What an administrator allows."""

    min_gap: int = 1  # By how much the priority of a victim is lower at least
    max_victims: int = 8  # Pods of one plan at most
    select: VictimChoice = VictimChoice.ALL  # Which pods may be victims
    protected: tuple[str, ...] = SPARED  # Namespaces without victims
    # Whose pods may preempt; None for those of every scheduler
    schedulers: tuple[str, ...] | None = ("default-scheduler",)
    # Digests of the UIDs of controllers that lost a pod to a preemption lately
    resting: frozenset[str] = frozenset()
    # The same for the last hour: their pods are spared while they are young
    recent: frozenset[str] = frozenset()
    min_runtime: float = 60.0  # Seconds until a pod is not young any more
    # Digests of the UIDs of the pods that may end; None where others may as well
    only: frozenset[str] | None = None
    # Nodes on which other preemptions make room for pods, by the UIDs of these
    promised: Mapping[str, str] = field(default_factory=dict)
    # Seconds of the longest grace period of a victim: devices stay reserved for it
    max_grace: float = 120.0

    def serves(self, scheduler: str) -> bool:
        """Whether pods of a scheduler may preempt."""
        return self.schedulers is None or scheduler in self.schedulers


DEFAULT = Policy()


class PreemptionCode(StrEnum):
    """Why a pod may not preempt, or is never a victim."""

    PLACED = "Placed"
    ENDED = "Ended"
    GATED = "SchedulingGated"
    NEVER = "PreemptionPolicyNever"
    NOMINATED = "Nominated"
    PRIORITY = "PriorityTooLow"
    SCHEDULER = "OtherScheduler"
    NO_CLAIM = "NoClaimWithoutDevices"
    STOPPED = "Stopped"
    HIGHER = "PriorityNotLower"
    CRITICAL = "SystemCritical"
    NAMESPACE = "ProtectedNamespace"
    ANNOTATION = "Annotation"
    NOT_OPTED_IN = "NotOptedIn"
    MIRROR = "MirrorPod"
    DAEMON = "DaemonSet"
    GROUP = "PodGroup"
    SHARED = "ClaimSharedElsewhere"
    BUDGETS = "SeveralBudgets"
    KUEUE = "Kueue"
    NOT_COMPUTED = "NotComputed"
    BARE = "NoKnownController"
    OWN_CLAIM = "ClaimOfItsOwn"
    UNREAD = "NotRead"
    RESTING = "ControllerRests"
    YOUNG = "PreemptedBefore"
    GANG = "Gang"
    NOT_PLANNED = "NotPlanned"
    GRACE = "GracePeriodTooLong"


@dataclass(frozen=True, slots=True)
class PreemptionReason:
    """A code, and the same in a sentence."""

    code: PreemptionCode
    text: str


def ineligible(subject: Subject, policy: Policy = DEFAULT) -> Iterator[PreemptionReason]:
    """Yield why a pod may not preempt; a pod of which nothing is yielded may.

    Source: PodEligibleToPreemptOthers of kube-scheduler, and what makes a plan possible at all.
    """
    pod = subject.pod
    document = pod.document
    if pod.pod.node_name:
        yield PreemptionReason(PreemptionCode.PLACED, f"the pod has node {pod.pod.node_name}")
    if pod.pod.done or pod.pod.metadata.deleting:
        yield PreemptionReason(PreemptionCode.ENDED, "the pod has ended, or is being deleted")
    if gated(pod):
        yield PreemptionReason(
            PreemptionCode.GATED, "scheduling gates keep the scheduler from the pod"
        )
    if mapping(document, "spec").get("preemptionPolicy") == NEVER:
        yield PreemptionReason(PreemptionCode.NEVER, "preemptionPolicy of the pod is Never")
    nominated = mapping(document, "status").get("nominatedNodeName")
    if nominated:
        yield PreemptionReason(
            PreemptionCode.NOMINATED, f"the scheduler has promised node {nominated} to the pod"
        )
    if priority_of(document) <= 0:
        yield PreemptionReason(
            PreemptionCode.PRIORITY,
            f"the pod has priority {priority_of(document)}: a PriorityClass above 0 is needed",
        )
    if not policy.serves(pod.scheduler):
        yield PreemptionReason(
            PreemptionCode.SCHEDULER, f"the pod belongs to scheduler {pod.scheduler}"
        )
    for obstacle in subject.obstacles:
        if obstacle.stops:
            yield PreemptionReason(PreemptionCode.STOPPED, obstacle.message)


def report_only(pod: PodFact) -> Iterator[PreemptionReason]:
    """Yield why nothing may be evicted for a pod although a plan can be computed."""
    if pod.pod.group_name:
        yield PreemptionReason(
            PreemptionCode.GROUP, f"the pod belongs to PodGroup {pod.pod.group_name}"
        )
    if managed_by_kueue(pod.document):
        yield PreemptionReason(PreemptionCode.KUEUE, "Kueue manages the pod")
    if gang := gang_of(pod.document):
        yield PreemptionReason(
            PreemptionCode.GANG, f"the pod belongs to gang {gang}, whose pods start together"
        )
    for one in not_computed(pod.document):
        yield PreemptionReason(
            PreemptionCode.NOT_COMPUTED, f"the pod has {one}, which are not simulated"
        )


def spared(
    world: World, pod: BoundPod, priority: int, policy: Policy = DEFAULT
) -> PreemptionReason | None:
    """Return why a pod is never a victim; None where it may be one.

    Args:
        world: For annotations of namespaces.
        pod: A pod on a node.
        priority: Of the pod that waits.
        policy: What is allowed.
    """
    if policy.only is not None and digest(pod.uid) not in policy.only:
        return PreemptionReason(PreemptionCode.NOT_PLANNED, f"{pod.key} is no victim of the plan")
    if pod.priority >= SYSTEM_CRITICAL:
        return PreemptionReason(PreemptionCode.CRITICAL, f"{pod.key} is critical for the cluster")
    if pod.priority > priority - policy.min_gap:
        return PreemptionReason(PreemptionCode.HIGHER, f"{pod.key} has priority {pod.priority}")
    if pod.namespace in policy.protected:
        return PreemptionReason(PreemptionCode.NAMESPACE, f"namespace {pod.namespace} is protected")
    if pod.mirror:
        return PreemptionReason(
            PreemptionCode.MIRROR, f"{pod.key} is defined by a file of its node"
        )
    if pod.owner is not None and pod.owner.kind == "DaemonSet":
        return PreemptionReason(
            PreemptionCode.DAEMON, f"{pod.key} belongs to DaemonSet {pod.owner.name}"
        )
    if pod.group is not None:
        return PreemptionReason(PreemptionCode.GROUP, f"{pod.key} belongs to PodGroup {pod.group}")
    if pod.grace > policy.max_grace:
        text = f"{pod.key} has a grace period of {pod.grace} s; {policy.max_grace:g} s is the most"
        return PreemptionReason(PreemptionCode.GRACE, text)
    return _annotated(world, pod, policy) or _rests(world, pod, policy)


def _annotated(world: World, pod: BoundPod, policy: Policy) -> PreemptionReason | None:
    """Return why a pod is spared as its annotation says, or that of its namespace."""
    asked = (pod.preemptible, _of_namespace(world, pod.namespace))
    if "false" in asked:
        return PreemptionReason(
            PreemptionCode.ANNOTATION, f'{pod.key} has annotation {PREEMPTIBLE}: "false"'
        )
    if policy.select is VictimChoice.OPTED_IN and "true" not in asked:
        return PreemptionReason(
            PreemptionCode.NOT_OPTED_IN, f'{pod.key} lacks annotation {PREEMPTIBLE}: "true"'
        )
    return None


def _rests(world: World, pod: BoundPod, policy: Policy) -> PreemptionReason | None:
    """Return why a pod is spared whose controller lost another one to a preemption lately."""
    if pod.owner is None:
        return None
    owner = digest(pod.owner.uid)
    if owner in policy.resting:
        text = f"{pod.owner.kind} {pod.namespace}/{pod.owner.name} lost a pod to a preemption"
        return PreemptionReason(PreemptionCode.RESTING, f"{text} in the last 10 minutes")
    age = seconds(world.now, pod.started)
    if owner in policy.recent and (age is None or age < policy.min_runtime):
        text = f"{pod.key} replaces a pod that was preempted, and runs for less than"
        return PreemptionReason(PreemptionCode.YOUNG, f"{text} {policy.min_runtime:g} s")
    return None


def _of_namespace(world: World, name: str) -> str:
    metadata = (world.namespaces.get(name) or {}).get("metadata") or {}
    return str((metadata.get("annotations") or {}).get(PREEMPTIBLE) or "")
