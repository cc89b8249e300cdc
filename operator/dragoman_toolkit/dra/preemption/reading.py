"""What plans of preemption need of a cluster or a snapshot, and the plan that `explain` names."""

from contextlib import suppress

from dragoman.allocation import Cluster, TooExpensiveError
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.snapshots.snapshot import FORMAT
from dragoman.model.pod import TERMINAL_PHASES
from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan, plan
from dragoman.preemption.preemptionfacts import PreemptionFacts, priority_of
from dragoman_toolkit.dra.missing import elsewhere
from dragoman_toolkit.dra.output import Unusable

NEEDED = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules", "poddisruptionbudgets", "namespaces"),
)
"""What is listed for a plan."""
_CRUCIAL = frozenset(NEEDED) - {"devicetaintrules", "namespaces"}
"""Without all objects of these, a plan might end a pod that must stay, or miss a node."""


def require(world: World) -> None:
    """Raise Unusable where no plan can be computed, naming what is missing."""
    if world.format < FORMAT:
        raise Unusable(
            f"cannot tell: the snapshot has format {world.format}, without priorities and "
            "PodDisruptionBudgets: make a new one with `kubectl dra snapshot -o FILE`"
        )
    unseen = {one.plural for one in world.unseen} | (_CRUCIAL - world.listed)
    if missing := sorted(unseen & _CRUCIAL):
        raise Unusable(
            f"cannot tell: you cannot list {', '.join(missing)} in all namespaces; "
            "`kubectl dra auth --for preempt` prints a ClusterRole that grants it"
        )


def pod_that_waits(world: World, key: str, command: str) -> PodFact:
    """Return a pod that may want devices; raise Unusable where there is none, or it has ended.

    Args:
        world: What was read.
        key: `namespace/name`.
        command: What is asked, without the pod.
    """
    found = world.pods.get(key)
    if found is None:
        hint = elsewhere(key, world.pods, f"kubectl dra {command} {key.partition('/')[2]}")
        raise Unusable(f"pod {key} not found{hint}")
    if found.pod.phase in TERMINAL_PHASES:
        raise Unusable(f"pod {key} has ended ({found.pod.phase}): it needs no devices any more")
    return found


def notes(world: World) -> tuple[str, ...]:
    """Return what a plan was computed without."""
    if "namespaces" in world.listed:
        return ()
    return ("not seen: namespaces, whose annotations may protect pods",)


def explained_plan(world: World, subject: Subject, cluster: Cluster) -> PreemptionPlan | None:
    """Return a plan with victims for a pod that waits; None where none is known."""
    if priority_of(subject.pod.document) <= 0:
        return None
    with suppress(Unusable, TooExpensiveError):
        require(world)
        made = plan(PreemptionFacts.of(world), subject, cluster)
        return made if made.outcome is PreemptionOutcome.PLANNED else None
    return None


def sentence(found: PreemptionPlan) -> str:
    """Say how many pods would have to end, and which command names them."""
    chosen = found.chosen
    assert chosen is not None  # a plan with victims has a node
    count = len(chosen.victims)
    pods = "one pod of lower priority" if count == 1 else f"{count} pods of lower priority"
    return (
        f"It would fit on {chosen.node} if {pods} ended, which the scheduler does not do for "
        f"devices: kubectl dra preempt {found.subject.pod.key} --dry-run"
    )
