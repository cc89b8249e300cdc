"""Which pods must leave their devices, when and why: pure planners of device taint eviction.

Source: KEP-5055, as the device-taint-eviction-controller of kube-controller-manager does it; where
it is known to be at fault, docs/evictions.md says what is done here instead.

    facts = EvictionFacts(pods=[...], claims={...}, pools=Pools([...]), rules=ActiveRules([...]))
    for eviction in plan_evictions(facts, now):
        print(eviction.pod.metadata.name, *eviction.due.reasons)
"""

from dragoman.evictions.claims import claim_due
from dragoman.evictions.conditions import ConditionPlan, EvictionCounts, plan_rule_status
from dragoman.evictions.evictionfacts import Due, EvictionFacts, EvictionReason
from dragoman.evictions.planner import Eviction, plan_evictions
from dragoman.evictions.pods import is_exempt, pod_due, used_claims
from dragoman.evictions.pools import Pools
from dragoman.evictions.preview import EvictionPreview, preview
from dragoman.evictions.rules import ActiveRules, evicts

__all__ = [
    "ActiveRules",
    "ConditionPlan",
    "Due",
    "Eviction",
    "EvictionCounts",
    "EvictionFacts",
    "EvictionPreview",
    "EvictionReason",
    "Pools",
    "claim_due",
    "evicts",
    "is_exempt",
    "plan_evictions",
    "plan_rule_status",
    "pod_due",
    "preview",
    "used_claims",
]
