"""What plans of preemption need of a cluster or a snapshot; without it no answer is given."""

from dragoman.cli.dra.missing import elsewhere
from dragoman.cli.dra.output import Unusable
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.snapshots.snapshot import FORMAT
from dragoman.model.pod import TERMINAL_PHASES

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
