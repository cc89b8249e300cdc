"""All evictions that follow from facts."""

from dataclasses import dataclass

from dragoman.evictions.claims import claim_due
from dragoman.evictions.evictionfacts import Due, EvictionFacts, Place
from dragoman.evictions.pods import pod_due
from dragoman.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that must leave its devices.

    Attributes:
        pod: The pod.
        due: When, and why.
        after: Seconds until then, 0 for now.
    """

    pod: Pod
    due: Due
    after: float


def plan_evictions(facts: EvictionFacts, now: float) -> tuple[Eviction, ...]:
    """Return the evictions of all pods that are not being deleted yet, in the order of the pods.

    Args:
        facts: The cluster.
        now: Unix time in seconds.
    """
    dues = Dues(facts)
    planned = []
    for pod in facts.pods:
        if pod.metadata.deleting:
            continue
        due = pod_due(pod, facts.claims.get, dues.of, groups=facts.groups)
        if due is not None:
            planned.append(Eviction(pod, due, max(0.0, due.when - now)))
    return tuple(planned)


class Dues:
    """When the pods of claims must leave, computed once per claim.

    Args:
        facts: The cluster.
    """

    def __init__(self, facts: EvictionFacts) -> None:
        self._facts = facts
        self._found: dict[Place, Due | None] = {}

    def of(self, place: Place) -> Due | None:
        """Return when the pods of a claim must leave, by its namespace and name."""
        if place not in self._found:
            claim = self._facts.claims.get(place)
            pools, rules = self._facts.pools, self._facts.rules
            self._found[place] = None if claim is None else claim_due(claim, pools, rules)
        return self._found[place]
