"""Gathers the facts that a planner decides on."""

from dragoman import surroundings
from dragoman.claims.claimfacts import ClaimFacts, ClaimPlan, HolderFacts
from dragoman.claims.creation import plan_group, plan_pod
from dragoman.claims.deallocation import plan_claim
from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims.enqueue import ObjectKey
from dragoman.controllers.claims.livereads import LiveReads
from dragoman.controllers.claims.saferelease import SafeReleaser
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.timestamps import unix

IDLE = "idle"
"""Name, in `ClusterState.times`, of the state of a protected claim without devices."""


class Gatherer:
    """Gathers facts from the stores, and calls the planner of a key.

    Args:
        state: The stores.
        safe: What is known for safe release; None without it.
    """

    def __init__(self, state: ClusterState, safe: SafeReleaser | None = None) -> None:
        self._state = state
        self._safe = safe

    def plan(self, key: ObjectKey, live: LiveReads) -> ClaimPlan | None:
        """Return the plan of a key, or None where its object is not stored."""
        found = self._state.get(*key)
        if found is None or isinstance(found, Claim):
            planned = plan_claim(self._claim_facts(found, live)) if found is not None else None
            if self._safe is not None:
                self._safe.planned(key, planned)
            return planned
        plan = plan_pod if isinstance(found, Pod) else plan_group
        return plan(self._holder_facts(found, live))

    def need(self, key: ObjectKey) -> tuple[str, str]:
        """Return the UID of a key's object, and since when it is needed as an API timestamp.

        A pod needs its claims since its creation; a claim's release is needed since it was seen,
        for which the timestamp is empty.
        """
        found = self._state.get(*key)
        if found is None:
            return "", ""
        return found.metadata.uid, "" if isinstance(found, Claim) else found.metadata.created

    def _holder_facts(self, holder: Pod | PodGroup, live: LiveReads) -> HolderFacts:
        state = self._state
        namespace = holder.metadata.namespace
        groups = state.groups.namespace(namespace) if state.groups_served else None
        owned = state.claims.find("owner", (namespace, holder.metadata.uid))
        if isinstance(holder, Pod) and holder.group_name and groups is not None:
            group = groups.get(holder.group_name)
            if group is not None:
                owned += state.claims.find("owner", (namespace, group.metadata.uid))
        return HolderFacts(
            holder=holder,
            claims=state.claims.namespace(namespace),
            owned=owned,
            templates=state.templates.namespace(namespace),
            groups=groups,
            age=self._age(holder),
            live=live.live,
            failed_reads=live.failures.keys(),
        )

    def _claim_facts(self, claim: Claim, live: LiveReads) -> ClaimFacts:
        state = self._state
        metadata = claim.metadata
        twins = self._twins(claim)
        uid, elapsed = metadata.uid, state.times.elapsed
        idle = claim.protected and not claim.allocated and not claim.consumers
        return ClaimFacts(
            claim=claim,
            pods=state.pods.namespace(metadata.namespace),
            users=state.pods.find("claim", (metadata.namespace, metadata.name)),
            groups=state.groups.namespace(metadata.namespace) if state.groups_served else None,
            twins=twins,
            duplicate_for=elapsed(uid, "duplicate", holds=bool(twins)),
            deleted=state.deleted,
            owner_missing_for=elapsed(uid, "ownerless", holds=self._owner_is_missing(claim)),
            unchanged_for=elapsed(uid, IDLE, holds=idle, version=metadata.resource_version),
            live=live.live,
            safe=self._safe.facts(claim) if self._safe is not None else None,
        )

    def _age(self, holder: Pod | PodGroup) -> float:
        """Return the holder's age; since it was first seen where this clock lags."""
        by_clock = age(holder.metadata.created)
        new = self._state.times.elapsed(holder.metadata.uid, "new", holds=by_clock == 0.0)
        return max(by_clock, new)

    def _twins(self, claim: Claim) -> list[Claim]:
        owner = claim.metadata.owner
        if owner is None:
            return []
        # By entry as well: a pod may have thousands of claims, and each of them is planned.
        place = (claim.metadata.namespace, owner.uid, claim.entry)
        found = self._state.claims.find("twin", place)
        return [other for other in found if other.metadata.uid != claim.metadata.uid]

    def _owner_is_missing(self, claim: Claim) -> bool:
        owner = claim.metadata.owner
        if owner is None or not owner.is_pod:
            return False
        return self._state.pods.get(claim.metadata.namespace, owner.name) is None


def age(created: str) -> float:
    """Return the seconds since an API timestamp, by this machine's clock; 0 for none."""
    return max(0.0, surroundings.now().timestamp() - unix(created)) if created else 0.0
