"""Reconciles one key: gather facts, plan, apply; again until the plan is empty."""

import asyncio
import math
from collections.abc import Sequence

from dragoman import surroundings
from dragoman.claims.actions import (
    Action,
    CreateClaim,
    PublishClaims,
    RecordDepartures,
    UpdateReservedFor,
)
from dragoman.claims.claimfacts import ClaimPlan
from dragoman.claims.mode import Mode
from dragoman.claims.reasons import ClaimReason
from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.claims.applier import ActionOutcome, ClaimApplier
from dragoman.controllers.claims.enqueue import ObjectKey
from dragoman.controllers.claims.events import ClaimEvents
from dragoman.controllers.claims.gather import Gatherer
from dragoman.controllers.claims.livereads import LiveReader, LiveReads
from dragoman.controllers.claims.mode import ClaimMode
from dragoman.controllers.claims.saferelease import SafeReleaser
from dragoman.kube.controller import LONGEST_RETRY, NotLeadingError
from dragoman.kube.errors import ApiError
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger

log = logger("dragoman.claims")

CREATIONS = 16
"""Claims of one key that are created in one turn: a pod may have thousands of entries, and the rest
of them then waits behind the pods of other namespaces."""
REFUSED = {400, 403, 413, 422}
"""Answers to a write that do not change when it is sent again."""
PASSES = 16
"""Plans of one key in a row before it is requeued with back-off."""


class ClaimReconciler:
    """Reconciles keys; workers never have one key twice.

    Args:
        cluster: The stores, and where live reads are done.
        queue: Where keys are requeued.
        mode: The claim mode.
        applier: Writes.
        events: Reports to users.
        safe: What is known for safe release; None without it.
    """

    def __init__(  # noqa: PLR0913 — one argument per collaborator
        self,
        cluster: ClusterStores,
        queue: WorkQueue[ObjectKey],
        *,
        mode: ClaimMode,
        applier: ClaimApplier,
        events: ClaimEvents,
        safe: SafeReleaser | None = None,
    ) -> None:
        self._queue = queue
        self._mode = mode
        self._applier = applier
        self._events = events
        self._safe = safe
        self._gatherer = Gatherer(cluster.state, safe)
        self._reader = LiveReader(cluster)

    async def reconcile(self, key: ObjectKey) -> None:
        """Apply plans until one is empty; raise ApiError where the key must be retried."""
        live = LiveReads()
        if await self._settle(key, live):
            live.check()
            self._queue.forget(key)

    async def _settle(self, key: ObjectKey, live: LiveReads) -> bool:
        """Apply plans; return whether one was empty, or waits, within PASSES."""
        fresh = self._mode.of(key.namespace) is Mode.OWN
        for _ in range(PASSES):
            plan = self._gatherer.plan(key, live)
            if plan is None or not (plan.actions or plan.live_reads or plan.pending):
                self._mode.settled(key)
                return True
            if plan.live_reads:
                await self._reader.read(key, plan.live_reads, live)
                if key.kind == "claim":
                    live.check()  # for a pod, a failed read of one entry delays no other entry
                continue
            if self._is_early(key, plan):
                return True
            if plan.actions and not fresh:
                await self._reader.refresh(key)
                live.clear()
                fresh = True
                continue
            self._events.pending(key, plan.pending)
            if not plan.actions:
                self._requeue_pending(key, plan)
                return True
            if await self._apply(key, plan.actions) is ActionOutcome.STALE:
                live.clear()
            elif _frees_devices(plan) or len(_creations(plan.actions)) > CREATIONS:
                # Others come first: the rest of this claim, or of this pod's claims, can wait.
                self._queue.add(key)
                return True
        log.warning(
            "The plan is still not empty", kind=key.kind, namespace=key.namespace, name=key.name
        )
        self._queue.retry(key, longest=LONGEST_RETRY)
        return False

    def _is_early(self, key: ObjectKey, plan: ClaimPlan) -> bool:
        """Whether another controller still has its grace; the key is then enqueued for its end."""
        if self._mode.of(key.namespace) is Mode.OWN:
            return False
        delay = self._mode.delay(key, *self._gatherer.need(key))
        if not delay:
            return False
        log.debug(
            "Left to another controller",
            kind=key.kind,
            namespace=key.namespace,
            name=key.name,
            seconds=round(delay, 3),
            reason=ClaimReason.NOT_OVERDUE.value,
        )
        self._queue.add_after(key, min(delay, _due_after(plan)))
        return True

    def _requeue_pending(self, key: ObjectKey, plan: ClaimPlan) -> None:
        delay = _due_after(plan)
        if delay < math.inf:
            self._queue.add_after(key, delay)

    async def _apply(self, key: ObjectKey, actions: Sequence[Action]) -> ActionOutcome:
        """Send independent creations at the same time, then the other actions in order.

        A status names only claims that exist: an entry whose creation failed is left out of the
        publication and delays no other entry. Of more than CREATIONS a random choice is created, so
        that refused ones never keep the others from their turn.
        """
        planned = creations = _creations(actions)
        if len(planned) > CREATIONS:
            creations = surroundings.chance().sample(planned, CREATIONS)
        results = await self._create(creations)
        outcome = ActionOutcome.STALE if ActionOutcome.STALE in results else ActionOutcome.DONE
        done = self._note_creations(key, creations, results)
        missing = {creation.name for creation in planned} - done
        for action in actions:
            match action:
                case CreateClaim():
                    continue
                case PublishClaims():
                    ready = action.without(missing)
                    # While all goes well, one publication in the end suffices.
                    if not ready.published or len(planned) > len(creations) == len(done):
                        continue
                    if await self._applier.apply(ready) is ActionOutcome.STALE:
                        outcome = ActionOutcome.STALE
                case RecordDepartures():
                    outcome = await self._record(key, action)
                case _:
                    outcome = await self._applier.apply(action)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return outcome

    async def _record(self, key: ObjectKey, action: RecordDepartures) -> ActionOutcome:
        """Write a record; where the API server refuses it, plan again without."""
        try:
            return await self._applier.apply(action)
        except ApiError as error:
            if self._safe is None or error.code not in REFUSED:
                raise
            self._safe.record_refused(key, str(error))
            return ActionOutcome.STALE

    async def _create(
        self, creations: Sequence[CreateClaim]
    ) -> list[ActionOutcome | BaseException]:
        if len(creations) != 1:
            return await asyncio.gather(
                *(self._applier.apply(creation) for creation in creations), return_exceptions=True
            )
        try:
            return [await self._applier.apply(creations[0])]
        except (ApiError, NotLeadingError) as error:
            return [error]

    def _note_creations(
        self, key: ObjectKey, creations: Sequence[CreateClaim], results: Sequence[object]
    ) -> set[str]:
        """Report refusals, and return the names of the claims that were created."""
        done = set()
        for creation, result in zip(creations, results, strict=True):
            if isinstance(result, ApiError):
                self._events.refusal(key, creation, result)
            elif result is ActionOutcome.DONE:
                self._mode.made_claim()
                done.add(creation.name)
        return done


def _creations(actions: Sequence[Action]) -> list[CreateClaim]:
    return [action for action in actions if isinstance(action, CreateClaim)]


def _due_after(plan: ClaimPlan) -> float:
    """Return the seconds until something pending is due; infinite where only events help."""
    return min((wait.after for wait in plan.pending if wait.after is not None), default=math.inf)


def _frees_devices(plan: ClaimPlan) -> bool:
    return any(
        isinstance(action, UpdateReservedFor) and action.deallocate for action in plan.actions
    )
