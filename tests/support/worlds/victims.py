"""Whether a plan, the model of default preemption and a scheduler choose the same victims."""

from dragoman.preemption.planner import PreemptionOutcome
from tests.support.worlds.defaultpreemption import World, decide
from tests.support.worlds.preemption import manifests, planned

CPU_ALONE = "cpu alone"
BUDGETS = "budgets"
"""The listed difference: the scheduler violates budgets, or deletes what no eviction can."""
Choice = tuple[str, frozenset[str]] | None
"""A node, and the pods that end; None where none does."""


def judged(world: World, got: Choice, kubernetes: str = "1.36") -> tuple[str, str]:
    """Return what kind of world it is, and what differs; empty for nothing.

    Args:
        world: One in which the pod does not fit.
        got: What a scheduler chose.
        kubernetes: Whose allocator the plan is for.
    """
    literal = decide(world, kubernetes=kubernetes)
    if got not in literal and (got or literal):
        return "model", f"the scheduler chose {got}, its model {literal}"
    made = planned(*manifests(world), kubernetes=kubernetes)
    if made.outcome is PreemptionOutcome.SCHEDULER:
        return CPU_ALONE, ""
    chosen = made.chosen
    ours = chosen and (chosen.node, frozenset(one.pod.name for one in chosen.victims))
    respectful = decide(world, respectful=True, kubernetes=kubernetes)
    if ours not in respectful and (ours or respectful):
        return "plan", f"planned {ours}, with budgets respected {respectful}, scheduler {got}"
    if set(respectful) != set(literal):
        return BUDGETS, ""
    return ("preempted" if literal else "no candidate"), ""
