"""The plan of preemption that an explanation names, where one exists."""

from contextlib import suppress

from dragoman.allocation import Cluster, TooExpensiveError
from dragoman.cli.dra.output import Unusable
from dragoman.cli.dra.preemption.reading import require
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import World
from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan, plan
from dragoman.preemption.preemptionfacts import PreemptionFacts, priority_of


def planned(world: World, subject: Subject, cluster: Cluster) -> PreemptionPlan | None:
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
