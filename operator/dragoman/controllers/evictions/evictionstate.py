"""What the eviction controller knows: taints that count, when claims are due, planned evictions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from dragoman.cluster.clusterstate import ClusterState
from dragoman.evictions.conditions import EvictionCounts
from dragoman.evictions.evictionfacts import Due, EvictionFacts
from dragoman.evictions.pools import Pools
from dragoman.evictions.rules import ActiveRules
from dragoman.inventory.facts.stored import StoredRule
from dragoman.kube.recent import Recent
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod

EVICTED_LIMIT = 100_000
"""How many UIDs of evicted pods are remembered; they only save live reads."""

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PlannedEviction:
    """A pod that leaves its devices."""

    place: Place  # Namespace and name
    due: Due  # When, and why
    since: float  # Monotonic seconds, when this was planned


class EvictionState:
    """Facts of evictions, beside the stores of pods and claims.

    Args:
        cluster: The stores; claims are found by device.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self.cluster = cluster
        self.pools = Pools()  # Published devices
        self.rules = ActiveRules()  # DeviceTaintRules that evict
        # When the pods of claims must leave, by namespace and name of the claim
        self.dues: dict[Place, Due] = {}
        self.planned: dict[str, PlannedEviction] = {}  # Evictions by UID of the pod
        # UID and generation of the rules whose claims were evaluated, by name
        self.scanned: dict[str, tuple[str, int]] = {}
        self._evicted: Recent[str, None] = Recent(EVICTED_LIMIT)
        self._evicted_by: dict[str, int] = {}

    def clear(self) -> None:
        """Forget what is only computed while this process leads; what it evicted stays counted."""
        self.dues.clear()
        self.planned.clear()
        self.scanned.clear()

    def claim(self, place: Place) -> Claim | None:
        """Return a claim by namespace and name."""
        return self.cluster.claims.get(*place)

    def pod(self, place: Place) -> Pod | None:
        """Return a pod by namespace and name."""
        return self.cluster.pods.get(*place)

    def members(self, group: Place) -> list[Pod]:
        """Return the pods of a PodGroup by its namespace and name."""
        return self.cluster.pods.find("group", group)

    def is_evicted(self, uid: str) -> bool:
        """Whether this process evicted a pod."""
        return uid in self._evicted

    def evicted(self, uid: str, due: Due) -> None:
        """Note that a pod was evicted."""
        self.planned.pop(uid, None)
        self.forget(uid)
        for _, rule_uid in due.rules():
            self._evicted_by[rule_uid] = self._evicted_by.get(rule_uid, 0) + 1

    def forget(self, uid: str) -> None:
        """Note that a pod needs no eviction any more, because it is deleted already."""
        self.planned.pop(uid, None)
        self._evicted[uid] = None

    def rule_deleted(self, rule: StoredRule) -> None:
        """Forget a rule."""
        self.scanned.pop(rule.metadata.name, None)
        self._evicted_by.pop(rule.metadata.uid, None)

    def counts(self, rule: StoredRule) -> EvictionCounts:
        """Count the evictions of a rule, without pods that are being deleted."""
        key = (rule.metadata.name, rule.metadata.uid)
        namespaces = [
            one.place[0]
            for uid, one in self.planned.items()
            if key in one.due.rules() and self._stays(uid, one.place)
        ]
        evicted = self._evicted_by.get(rule.metadata.uid, 0)
        return EvictionCounts(len(namespaces), len(set(namespaces)), evicted)

    def _stays(self, uid: str, place: Place) -> bool:
        pod = self.pod(place)
        return pod is not None and pod.metadata.uid == uid and not pod.metadata.deleting

    def facts(self) -> EvictionFacts:
        """Return everything, for a preview."""
        claims: Mapping[Place, Claim] = {
            (one.metadata.namespace, one.metadata.name): one for one in self.cluster.claims
        }
        return EvictionFacts(
            self.cluster.pods, claims, self.pools, self.rules, self.cluster.groups_served
        )

    def claims_of(self, rule: StoredRule | None, name: str) -> Iterator[Place]:
        """Yield the claims that a rule may concern: those that it selects now, or did before.

        Args:
            rule: The rule as it is now; None for a deleted one.
            name: Its name.
        """
        before = [
            place
            for place, due in self.dues.items()
            if any(one.rule == name for one in due.reasons)
        ]
        yield from dict.fromkeys(chain(before, self._selected(rule)))

    def _selected(self, rule: StoredRule | None) -> Iterable[Place]:
        if rule is None or not rule.rule.has_selector:
            return ()
        selector = rule.rule
        if selector.driver and selector.pool and selector.device:
            device = (selector.driver, selector.pool, selector.device)
            return map(_place, self.cluster.claims.find("device", device))
        return (
            _place(claim)
            for claim in self.cluster.claims
            if any(selector.concerns(one.id.driver, one.id.pool) for one in claim.devices)
        )


def _place(claim: Claim) -> Place:
    return claim.metadata.namespace, claim.metadata.name
