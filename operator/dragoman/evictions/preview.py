"""What a DeviceTaintRule would do with the effect NoExecute."""

from dataclasses import dataclass, replace

from dragoman.evictions.evictionfacts import EvictionFacts
from dragoman.evictions.planner import plan_evictions
from dragoman.evictions.rules import NO_EXECUTE, ActiveRules
from dragoman.inventory.facts.stored import StoredRule
from dragoman.model.pod import Pod


@dataclass(frozen=True, slots=True)
class EvictionPreview:
    """What a rule selects, and whom it would evict.

    Attributes:
        published: Devices in slices that it selects.
        allocated: Allocation results that it selects, shares and admin access each.
        pods: Pods that would be evicted, now or after their tolerationSeconds.
    """

    published: int
    allocated: int
    pods: tuple[Pod, ...]

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
