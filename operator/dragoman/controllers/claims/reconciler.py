"""From a key to plans, and from plans to writes, until nothing is left to do."""

import asyncio
from collections.abc import Sequence

from dragoman.claims import Action, Bind, CreateClaim, Plan, Reason, SetConsumers, Wait
from dragoman.claims.mode import Mode
from dragoman.controllers.claims.applier import Applier, NotLeadingError, Outcome
from dragoman.controllers.claims.enqueue import Key
from dragoman.controllers.claims.events import Reporter
from dragoman.controllers.claims.freshness import Freshness
from dragoman.controllers.claims.gather import Gatherer
from dragoman.controllers.claims.livereads import Lookout, Sight
from dragoman.controllers.claims.mode import Pilot
from dragoman.kube.client import ApiError
from dragoman.kube.informer import Mirrors
from dragoman.kube.store import World
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger

log = logger("dragoman.claims")

PASSES = 16
"""How often one key is planned anew at once before it goes back into the queue."""
LONGEST_RETRY = 60.0
"""Seconds between tries after failures that pass by themselves."""


class Reconciler:
    """Settles keys, one at a time each, many at the same time.

    Args:
        world: What is known.
        queue: Where keys go that are to be looked at later.
        mirrors: How what is not known is looked at.
        pilot: Keeps the mode.
        applier: Writes.
        reporter: Tells users.
    """

    def __init__(  # noqa: PLR0913 — each part is one of its own
        self,
        world: World,
        queue: WorkQueue[Key],
        mirrors: Mirrors,
        *,
        pilot: Pilot,
        applier: Applier,
        reporter: Reporter,
    ) -> None:
        self._queue = queue
        self._pilot = pilot
        self._applier = applier
        self._reporter = reporter
        self._gatherer = Gatherer(world)
        self._freshness = Freshness(mirrors)
        self._lookout = Lookout(mirrors)

    async def reconcile(self, key: Key) -> None:
        """Plan and act until nothing is left to do; raise ApiError to be called again later."""
        sight = Sight()
        if await self._settle(key, sight):
            sight.check()
            self._queue.forget(key)

    async def _settle(self, key: Key, sight: Sight) -> bool:
        """Do what can be done; returns whether it came to an end within PASSES."""
        fresh = self._pilot.mode is Mode.OWN
        for _ in range(PASSES):
            plan = self._gatherer.plan(key, sight)
            if plan is None or not (plan.actions or plan.looks or plan.waits):
                self._pilot.settled(key)
                return True
            if plan.looks:
                await self._lookout.see(key, plan.looks, sight)
                if key.kind == "claim":
                    sight.check()  # of a pod, one entry's look that fails delays no other entry
                continue
            if self._is_early(key, plan):
                return True
            if plan.actions and not fresh:
                await self._freshness.refresh(key)
                sight.clear()
                fresh = True
                continue
            self._reporter.waits(key, plan.waits)
            if not plan.actions:
                self._look_again(key, plan.waits)
                return True
            if await self._apply(key, plan.actions) is Outcome.STALE:
                sight.clear()
            elif _frees_devices(plan):
                # Devices first: what else the claim needs can wait behind other claims' devices.
                self._queue.add(key)
                return True
        log.warning("Not settled yet", kind=key.kind, namespace=key.namespace, name=key.name)
        self._queue.retry(key, longest=LONGEST_RETRY)
        return False

    def _is_early(self, key: Key, plan: Plan) -> bool:
        """Whether another controller still has time for what is needed; then look again later."""
        if self._pilot.mode is Mode.OWN:
            return False
        regarding = self._reporter.regarding(key)
        delay = self._pilot.delay(key, regarding.uid if regarding is not None else "")
        if not delay:
            return False
        log.debug(
            "Left to another controller",
            kind=key.kind,
            namespace=key.namespace,
            name=key.name,
            seconds=round(delay, 3),
            reason=Reason.NOT_OVERDUE.value,
        )
        waits = [wait.after for wait in plan.waits if wait.after is not None]
        self._queue.add_after(key, min([delay, *waits]))
        return True

    def _look_again(self, key: Key, waits: Sequence[Wait]) -> None:
        delays = [wait.after for wait in waits if wait.after is not None]
        if delays:
            self._queue.add_after(key, min(delays))

    async def _apply(self, key: Key, actions: Sequence[Action]) -> Outcome:
        """Create what is independent at once, then do the rest in order.

        A status names only claims that are there: an entry whose creation failed is left out of
        the publication, and does not hold the others up.
        """
        creations = [action for action in actions if isinstance(action, CreateClaim)]
        results = await self._create(creations)
        outcome = Outcome.STALE if Outcome.STALE in results else Outcome.DONE
        for _ in range(results.count(Outcome.DONE)):
            self._pilot.made_claim()
        unmade = {
            creation.name
            for creation, result in zip(creations, results, strict=True)
            if result is not Outcome.DONE
        }
        for action in actions:
            match action:
                case CreateClaim():
                    continue
                case Bind():
                    ready = action.without(unmade)
                    if ready.bindings and await self._applier.apply(ready) is Outcome.STALE:
                        outcome = Outcome.STALE
                case _:
                    outcome = await self._applier.apply(action)
        self._raise_failures(key, creations, results)
        return outcome

    async def _create(self, creations: Sequence[CreateClaim]) -> list[Outcome | BaseException]:
        if len(creations) != 1:
            return await asyncio.gather(
                *(self._applier.apply(creation) for creation in creations), return_exceptions=True
            )
        try:
            return [await self._applier.apply(creations[0])]
        except (ApiError, NotLeadingError) as error:
            return [error]

    def _raise_failures(
        self, key: Key, creations: Sequence[CreateClaim], results: Sequence[object]
    ) -> None:
        failures = [result for result in results if isinstance(result, BaseException)]
        for creation, result in zip(creations, results, strict=True):
            if isinstance(result, ApiError):
                self._reporter.refusal(key, creation, result)
        if failures:
            raise failures[0]


def _frees_devices(plan: Plan) -> bool:
    return any(isinstance(action, SetConsumers) and action.deallocate for action in plan.actions)
