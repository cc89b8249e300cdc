"""All evictions that follow from facts, and what a DeviceTaintRule would do with NoExecute."""

from dataclasses import dataclass, replace

from dragoman.evictions.claims import claim_due
from dragoman.evictions.evictionfacts import Due, EvictionFacts, Place
from dragoman.evictions.pods import pod_due
from dragoman.evictions.rules import NO_EXECUTE, ActiveRules
from dragoman.inventory.facts.stored import StoredRule
from dragoman.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that must leave its devices."""

    pod: Pod  # The pod
    due: Due  # When, and why
    after: float  # Seconds until then, 0 for now


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
            planned.append(Eviction(pod, due, max(0.0, due.after(now))))
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


@dataclass(frozen=True, slots=True)
class EvictionPreview:
    """What a rule selects, and whom it would evict."""

    published: int  # Devices in slices that it selects
    allocated: int  # Allocation results that it selects, shares and admin access each
    pods: tuple[Pod, ...]  # Pods that would be evicted, now or after their tolerationSeconds

    @property
    def namespaces(self) -> int:
        """How many namespaces have such pods."""
        return len({pod.metadata.namespace for pod in self.pods})


def preview(rule: StoredRule, facts: EvictionFacts) -> EvictionPreview:
    """Return what a rule would do with the effect NoExecute, beside the taints of slices alone.

    Args:
        rule: A rule of any effect.
        facts: The cluster; its other rules are left out, as in-tree.
    """
    selector = rule.rule
    evicting = replace(
        rule, rule=replace(selector, taint=replace(selector.taint, effect=NO_EXECUTE))
    )
    alone = replace(facts, rules=ActiveRules([evicting]))
    name = (rule.metadata.name, rule.metadata.uid)
    return EvictionPreview(
        published=facts.pools.count(selector),
        allocated=sum(
            selector.selects(device.id)
            for claim in facts.claims.values()
            for device in claim.devices
        ),
        pods=tuple(one.pod for one in plan_evictions(alone, 0.0) if name in one.due.rules()),
    )
