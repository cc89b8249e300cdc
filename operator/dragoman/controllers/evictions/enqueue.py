"""Observers of pods, claims, slices and rules: they plan evictions and enqueue keys."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from dragoman import surroundings
from dragoman.controllers.evictions.evictionstate import EvictionState, Place, PlannedEviction
from dragoman.evictions.claims import claim_due
from dragoman.evictions.conditions import PERIOD
from dragoman.evictions.evictionfacts import Due
from dragoman.evictions.pods import is_exempt, pod_due
from dragoman.inventory.facts.stored import StoredRule, StoredSlice
from dragoman.kube.workqueue import WorkQueue
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod, users


class EvictionKey(NamedTuple):
    """What a worker reconciles: a pod to evict, a rule, or all claims."""

    kind: Literal["pod", "rule", "claims"]
    namespace: str = ""
    name: str = ""
    uid: str = ""


ALL_CLAIMS = EvictionKey("claims")
LANES = ("evict", "rules")


def lane(key: EvictionKey) -> str:
    """Return the lane of a key: a thousand evictions must not delay a rule's condition."""
    return "evict" if key.kind == "pod" else "rules"


class EvictionObserver:
    """Keeps dues and planned evictions up to date while the controller runs.

    Args:
        state: What is known.
        queue: Receives keys; it is open only while the controller runs.
        cancelled: Called with a pod whose eviction is not needed any more.
        checked: Called with each claim that was evaluated.
        concerns: Whether this controller evicts a pod, beside another controller or alone.
        delay: Seconds that another controller has for each eviction.
        clock: Unix time in seconds.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        state: EvictionState,
        queue: WorkQueue[EvictionKey],
        *,
        cancelled: Callable[[Pod], None] = lambda _: None,
        checked: Callable[[Claim], None] = lambda _: None,
        concerns: Callable[[Pod], bool] = lambda _: True,
        delay: float = 0.0,
        clock: Callable[[], float] = surroundings.unix,
    ) -> None:
        self.state = state
        self.queue = queue
        self.active = False
        self._cancelled = cancelled
        self._checked = checked
        self._concerns = concerns
        self._delay = delay
        self._clock = clock

    def slice_changed(self, old: StoredSlice | None, new: StoredSlice | None) -> None:
        """Evaluate the claims on devices whose taints changed."""
        changed = self.state.pools.change(old, new)
        if self.active:
            for device in sorted(changed):
                for claim in self.state.cluster.claims.find("device", device):
                    self.evaluate((claim.metadata.namespace, claim.metadata.name))

    def rule_changed(self, old: StoredRule | None, new: StoredRule | None) -> None:
        """Enqueue a rule that was added, deleted, or whose spec or condition changed."""
        if old is not None and new is not None and _same_spec(old, new):
            if old.progress != new.progress and old.stock_stamp == new.stock_stamp:
                # Perhaps by a request that was given up, and was done after a newer one.
                self.queue.add(rule_key(new.metadata.name))
            return
        self.state.rules.change(old, new)
        rule = new or old
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self.state.rule_deleted(old)
        if rule is not None:
            self.queue.add(rule_key(rule.metadata.name))

    def claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        """Evaluate a claim whose allocation changed, and its pods when its consumers did."""
        found = new or old
        if not self.active or found is None:
            return
        place = (found.metadata.namespace, found.metadata.name)
        if old is not None and new is not None and _same_allocation(old, new):
            if place in self.state.dues and old.consumers != new.consumers:
                self._evaluate_consumers(old, new)
            return
        had = place in self.state.dues
        self._compute(place)
        if had or place in self.state.dues:
            self._evaluate_consumers(old, new)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Evaluate a pod that is new, or whose node, claims or end changed."""
        if not self.active:
            return
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self._cancel(old.metadata.uid)
            old = None
        if new is None:
            return
        if old is None or _uses(old) != _uses(new):
            self.evaluate_pod(new)
        if old is not None and old.metadata.deleting != new.metadata.deleting:
            planned = self.state.planned.get(new.metadata.uid)
            if planned is not None:  # it counts as pending no longer
                self._enqueue_rules(planned.due)

    def evaluate(self, place: Place) -> None:
        """Compute when the pods of a claim must leave, and plan it where that changed."""
        if self._compute(place):
            claim = self.state.claim(place)
            self._evaluate_consumers(claim, None)

    def _compute(self, place: Place) -> bool:
        claim = self.state.claim(place)
        due = None
        if claim is not None:
            due = claim_due(claim, self.state.pools, self.state.rules)
            self._checked(claim)
        before = self.state.dues.get(place)
        if due is None:
            self.state.dues.pop(place, None)
        else:
            self.state.dues[place] = due
        return before != due

    def _evaluate_consumers(self, *claims: Claim | None) -> None:
        state = self.state
        served = state.cluster.groups_served
        found = {
            pod.metadata.uid: pod
            for claim in claims
            if claim is not None
            for pod in users(claim, state.pod, lambda one: state.members(one) if served else [])
        }
        for pod in found.values():
            self.evaluate_pod(pod)

    def evaluate_pod(self, pod: Pod) -> None:
        """Plan the eviction of a pod, or cancel it."""
        uid = pod.metadata.uid
        due = self._due(pod)
        known = self.state.planned.get(uid)
        if due is None:
            if self._cancel(uid) and not is_exempt(pod):
                self._cancelled(pod)
            return
        if self.state.is_evicted(uid) or (known is not None and known.due == due):
            return
        place = (pod.metadata.namespace, pod.metadata.name)
        self.state.planned[uid] = PlannedEviction(place, due, surroundings.monotonic())
        self.enqueue(uid)
        self._enqueue_rules(due if known is None else due.joined(known.due))

    def _cancel(self, uid: str) -> bool:
        """Drop a planned eviction; return whether there was one."""
        planned = self.state.planned.pop(uid, None)
        if planned is not None:
            self._enqueue_rules(planned.due)
        return planned is not None

    def settled(self, uid: str, due: Due, *, evicted: bool) -> None:
        """Note that a pod was evicted, or was found to have left or ended already."""
        if evicted:
            self.state.evicted(uid, due)
        else:
            self.state.forget(uid)
        self._enqueue_rules(due)

    def _due(self, pod: Pod) -> Due | None:
        if not self._concerns(pod):
            return None
        state = self.state
        groups = state.cluster.groups_served
        return pod_due(pod, state.claim, state.dues.get, groups=groups)

    def enqueue(self, uid: str) -> None:
        """Enqueue a planned eviction for its time."""
        planned = self.state.planned[uid]
        key = EvictionKey("pod", *planned.place, uid)
        after = self.after(planned)
        if after > 0:
            self.queue.add_after(key, after)
        else:
            self.queue.add(key)

    def after(self, planned: PlannedEviction) -> float:
        """Return the seconds until an eviction may begin; 0 or less for now."""
        seen = surroundings.monotonic() - planned.since
        return planned.due.after(self._clock(), seen) + self._delay

    def _enqueue_rules(self, due: Due) -> None:
        """Enqueue rules for their conditions, when more changes of their pods were seen."""
        for name, _ in due.rules():
            self.queue.add_after(rule_key(name), PERIOD)


def rule_key(name: str) -> EvictionKey:
    """Return the key of a rule."""
    return EvictionKey("rule", name=name)


def _same_spec(old: StoredRule, new: StoredRule) -> bool:
    return old.metadata.uid == new.metadata.uid and old.rule == new.rule


def _same_allocation(old: Claim, new: Claim) -> bool:
    return old.metadata.uid == new.metadata.uid and old.devices == new.devices


def _uses(pod: Pod) -> tuple[object, ...]:
    """Return what of a pod decides whether it is evicted."""
    return pod.metadata.uid, pod.node_name, pod.published, pod.extended_claim, is_exempt(pod)
