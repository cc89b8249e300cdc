"""Reconciles keys of the eviction controller: evicts pods, and writes conditions of rules."""

import asyncio
from collections.abc import Callable, Iterable

from dragoman import metrics, surroundings
from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.evictions.applier import EvictionApplier, EvictionOutcome
from dragoman.controllers.evictions.enqueue import EvictionKey, EvictionObserver, rule_key
from dragoman.controllers.evictions.evictionstate import EvictionState, Place, PlannedEviction
from dragoman.controllers.evictions.faults import FaultReporter
from dragoman.evictions.conditions import EvictionCounts, plan_rule_status
from dragoman.evictions.preview import EvictionPreview, preview
from dragoman.inventory.facts.stored import StoredRule
from dragoman.kube.informer import Informer
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod

CHUNK = 200
"""Claims that are evaluated before other tasks run."""

log = logger("dragoman.evictions")


class EvictionReconciler:
    """Settles one key at a time.

    Args:
        state: What is known.
        queue: Where keys are enqueued again.
        observer: Evaluates claims.
        devices: Where rules are stored.
        applier: Writes.
        faults: Reports why a pod is evicted again and again.
        claims: Reads claims before pods are evicted beside another controller, which then also
            writes the conditions of rules; None without another controller.
        clock: Unix time in seconds.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        state: EvictionState,
        queue: WorkQueue[EvictionKey],
        observer: EvictionObserver,
        devices: DeviceStores,
        *,
        applier: EvictionApplier,
        faults: FaultReporter,
        claims: Informer[Claim] | None = None,
        clock: Callable[[], float] = surroundings.unix,
    ) -> None:
        self._state = state
        self._queue = queue
        self._observer = observer
        self._devices = devices
        self._applier = applier
        self._faults = faults
        self._claims = claims
        self._clock = clock

    async def reconcile(self, key: EvictionKey) -> None:
        """Settle a key; raise ApiError or NotLeadingError where it must be retried."""
        match key.kind:
            case "pod":
                await self._evict(key)
            case "rule":
                await self._reconcile_rule(key.name)
            case "claims":
                await self._evaluate(self._all_claims())
        self._queue.forget(key)

    def _all_claims(self) -> list[Place]:
        claims = self._state.cluster.claims
        return [(one.metadata.namespace, one.metadata.name) for one in claims]

    async def _evaluate(self, places: Iterable[Place]) -> None:
        """Evaluate claims; other tasks run between chunks of them."""
        for count, place in enumerate(places, 1):
            self._observer.evaluate(place)
            if count % CHUNK == 0:
                await asyncio.sleep(0)

    async def _evict(self, key: EvictionKey) -> None:
        planned = self._state.planned.get(key.uid)
        if planned is None or self._state.is_evicted(key.uid):
            return
        after = self._observer.after(planned)
        if after > 0:
            self._queue.add_after(key, after)
            return
        outcome = await self._send(key, planned)
        if outcome is None:
            return
        mode = "own" if self._claims is None else "assist"
        metrics.EVICTIONS.labels(mode, outcome.value).inc()
        evicted = outcome not in {EvictionOutcome.GONE, EvictionOutcome.FINISHED}
        self._observer.settled(key.uid, planned.due, evicted=evicted)

    async def _send(self, key: EvictionKey, planned: PlannedEviction) -> EvictionOutcome | None:
        pod = self._state.pod(planned.place)
        if pod is not None and pod.metadata.uid == key.uid and pod.metadata.deleting:
            return EvictionOutcome.DELETING
        if pod is not None and self._claims is not None and not await self._is_due(pod):
            return None
        outcome = await self._applier.evict(*planned.place, key.uid)
        if outcome is EvictionOutcome.EVICTED:
            late = max(0.0, self._clock() - planned.due.when)
            metrics.EVICTION_DELAY.observe(late)
            log.info(
                "Evicted pod by deleting it",
                namespace=key.namespace,
                name=key.name,
                seconds=round(late, 3),
                reasons=[str(one) for one in planned.due.reasons[:10]],
            )
            if pod is not None:
                self._faults.evicted(pod, planned.due)
        return outcome

    async def _is_due(self, pod: Pod) -> bool:
        """Whether a pod must still leave, by the claim that the server has."""
        if self._claims is not None and pod.extended_claim is not None:
            await self._claims.refresh(pod.metadata.namespace, pod.extended_claim)
        return pod.metadata.uid in self._state.planned

    async def _reconcile_rule(self, name: str) -> None:
        rule = self._devices.rules.store.get("", name)
        version = None if rule is None else (rule.metadata.uid, rule.generation)
        if version is None or self._state.scanned.get(name) != version:
            if version is not None:
                self._state.scanned[name] = version
            await self._evaluate(self._state.claims_of(rule, name))
        if rule is not None and self._claims is None:
            await self._write_progress(rule)

    async def _write_progress(self, rule: StoredRule) -> None:
        informer = self._devices.rules
        planned = plan_rule_status(rule, self._found(rule), self._clock())
        if planned is None:
            return
        if planned.after > 0:
            self._queue.add_after(rule_key(rule.metadata.name), planned.after)
            return
        written = await self._applier.write_progress(informer.resource, rule, planned.progress)
        # The next plan must not wait for the watch.
        informer.handle({"type": "MODIFIED", "object": written})

    def _found(self, rule: StoredRule) -> EvictionCounts | EvictionPreview:
        progress = rule.progress
        current = progress is not None and progress.observed_generation == rule.generation
        if rule.rule.taint.effect == "None" and not current:
            return preview(rule, self._state.facts())
        return self._state.counts(rule)
