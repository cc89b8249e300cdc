"""From keys to plans and writes."""

import asyncio
import random
from collections.abc import Callable, Sequence

from dragoman.claims import (
    Action,
    Bind,
    CreateClaim,
    Look,
    Plan,
    Reason,
    SetConsumers,
    Wait,
)
from dragoman.claims.mode import Mode
from dragoman.model import Claim, Pod, PodGroup
from dragoman.runtime.api import PODS, Api, ApiError, find
from dragoman.runtime.applier import Applier, NotLeadingError, Outcome
from dragoman.runtime.discovery import Served
from dragoman.runtime.freshness import Freshness
from dragoman.runtime.gathering import Gatherer, Sight
from dragoman.runtime.intake import LANES, Intake, Key, lane
from dragoman.runtime.logs import logger
from dragoman.runtime.pilot import Pilot
from dragoman.runtime.queue import WorkQueue
from dragoman.runtime.recorder import Recorder, Regarding
from dragoman.runtime.witness import Fault, Witness
from dragoman.runtime.world import World

log = logger("dragoman.claims")

PASSES = 16
"""How often one key is planned anew at once before it goes back into the queue."""
LONGEST_RETRY = 60.0
"""Seconds between tries after failures that pass by themselves."""
LONGEST_REFUSED_RETRY = 300.0
"""Seconds between tries after a quota or policy refused: nothing tells when it is lifted."""

LOOKS = 64
"""Live reads at the same time, over all keys: one claim may have 256 consumers to look at."""

STOP_GRACE = 3.0
"""Seconds for which a stop awaits writes in flight: a server that hangs must not hold it up."""

EVENT_REASONS = {
    Reason.CLAIM_MISSING: "ResourceClaimNotFound",
    Reason.CLAIM_FOREIGN: "ForeignResourceClaim",
    Reason.RESERVATIONS_FULL: "ReservedForFull",
}
"""Reasons in Events where they are not the stock controller's FailedResourceClaimCreation."""


class ClaimController:
    """The life-cycle of claims: a queue and its workers.

    Args:
        api: Where to read and write.
        served: Which API versions the server has.
        recorder: Where Events go.
        pilot: Keeps the mode.
        may_write: Whether this process leads.
        workers: How many keys of each lane are worked on at the same time.
        resync: Seconds between full passes over everything that is known.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        api: Api,
        served: Served,
        recorder: Recorder,
        pilot: Pilot,
        *,
        may_write: Callable[[], bool] = lambda: True,
        workers: int = 32,
        resync: float = 600.0,
    ) -> None:
        self.world = World(groups_served=served.groups is not None)
        self.queue: WorkQueue[Key] = WorkQueue("claims", lane)
        self.witness = Witness(self.world, pilot.saw_another, self._report_fault)
        self.intake = Intake(self.world, self.queue, self.witness)
        self._api = api
        self._served = served
        self._recorder = recorder
        self._pilot = pilot
        self._may_write = may_write
        self._workers = workers
        self._resync = resync
        self._idle: set[asyncio.Task[None]] = set()
        self._looks = asyncio.Semaphore(LOOKS)
        self._stopping = False
        self._gatherer = Gatherer(self.world)
        self._applier = Applier(api, served, self.intake, may_write)
        self._freshness = Freshness(api, served, self.intake)

    async def run(self) -> None:
        """Work until cancelled; writes in flight are finished first.

        A stop must not cut a write in two: the server would do it and nobody know.
        """
        self.queue.open()
        self.intake.everything()
        self._stopping = False
        workers = [
            asyncio.create_task(self._work(name)) for name in LANES for _ in range(self._workers)
        ]
        others = [
            asyncio.create_task(self._look_at_everything()),
            asyncio.create_task(self._mind_the_mode()),
        ]
        try:
            # Unlike gather, wait leaves the tasks alone when it is cancelled.
            ended, _ = await asyncio.wait([*workers, *others], return_when=asyncio.FIRST_EXCEPTION)
            for task in ended:
                task.result()
        finally:
            self._stopping = True
            for task in [*others, *self._idle]:
                task.cancel()
            await asyncio.wait([*workers, *others], timeout=STOP_GRACE)
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, *others, return_exceptions=True)
            self.queue.close()

    async def _look_at_everything(self) -> None:
        while True:
            await asyncio.sleep(self._resync * (0.9 + random.random() / 5))
            self.intake.everything()

    async def _mind_the_mode(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            if self._pilot.tick():
                self.intake.everything()

    async def _work(self, name: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        while not self._stopping:
            self._idle.add(task)
            key = await self.queue.get(name)
            self._idle.discard(task)
            await self._handle(key)

    async def _handle(self, key: Key) -> None:
        try:
            await self.reconcile(key)
        except ApiError as error:
            self._put_back(key, error)
        except NotLeadingError:
            # The next leader looks at everything; this one may yet renew and go on itself.
            log.debug("Left to the next leader", kind=key.kind, name=key.name)
            self.queue.retry(key, longest=LONGEST_RETRY)
        except Exception:
            # A fault in one object must not end the worker that the others need.
            log.exception("Cannot work on", kind=key.kind, namespace=key.namespace, name=key.name)
            self.queue.retry(key, longest=LONGEST_RETRY)
        finally:
            self.queue.done(key)

    def _put_back(self, key: Key, error: ApiError) -> None:
        refused = error.code in {403, 422}
        longest = LONGEST_REFUSED_RETRY if refused else LONGEST_RETRY
        delay = self.queue.retry(key, longest=longest, shortest=error.retry_after or 0.0)
        log.debug(
            "Will try again",
            kind=key.kind,
            namespace=key.namespace,
            name=key.name,
            seconds=round(delay, 3),
            code=error.code,
            error=str(error),
        )

    async def reconcile(self, key: Key) -> None:
        """Plan and act until nothing is left to do; raise ApiError to be called again later."""
        sight = Sight()
        if await self._settle(key, sight):
            sight.check()
            self.queue.forget(key)

    async def _settle(self, key: Key, sight: Sight) -> bool:
        """Do what can be done; returns whether it came to an end within PASSES."""
        fresh = self._pilot.mode is Mode.OWN
        for _ in range(PASSES):
            plan = self._gatherer.plan(key, sight)
            if plan is None or not (plan.actions or plan.looks or plan.waits):
                self._pilot.settled(key)
                return True
            if plan.looks:
                await self._see(key, plan.looks, sight)
                continue
            if self._is_early(key, plan):
                return True
            if plan.actions and not fresh:
                await self._freshness.refresh(key)
                sight.clear()
                fresh = True
                continue
            self._tell(key, plan.waits)
            if not plan.actions:
                self._look_again(key, plan.waits)
                return True
            if await self._apply(key, plan.actions) is Outcome.STALE:
                sight.clear()
            elif _frees_devices(plan):
                # Devices first: what else the claim needs can wait behind other claims' devices.
                self.queue.add(key)
                return True
        log.warning("Not settled yet", kind=key.kind, namespace=key.namespace, name=key.name)
        self.queue.retry(key, longest=LONGEST_RETRY)
        return False

    async def _see(self, key: Key, looks: Sequence[Look], sight: Sight) -> None:
        """Ask the API server; of a pod, one entry's question that fails delays no other entry."""
        answers = await asyncio.gather(
            *(self._look(look) for look in looks), return_exceptions=True
        )
        for look, answer in zip(looks, answers, strict=True):
            if isinstance(answer, ApiError):
                sight.failures[look] = answer
            elif isinstance(answer, BaseException):
                raise answer
            else:
                sight.seen[look] = answer
        if key.kind == "claim":
            sight.check()

    def _is_early(self, key: Key, plan: Plan) -> bool:
        """Whether another controller still has time for what is needed; then look again later."""
        if self._pilot.mode is Mode.OWN:
            return False
        delay = self._pilot.delay(key, self._uid(key))
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
        self.queue.add_after(key, min([delay, *waits]))
        return True

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
                self._tell_refusal(key, creation, result)
        if failures:
            raise failures[0]

    async def _look(self, look: Look) -> Pod | Claim | PodGroup | None:
        resources = {"pods": PODS, "resourceclaims": self._served.claims}
        resource = resources.get(look.resource, self._served.groups)
        if resource is None:
            return None
        async with self._looks:
            found = await find(self._api, resource.path(look.namespace, look.name))
        if found is None:
            return None
        match look.resource:
            case "pods":
                return Pod.parse(found)
            case "resourceclaims":
                return Claim.parse(found)
            case "podgroups":
                return PodGroup.parse(found)

    def _tell(self, key: Key, waits: Sequence[Wait]) -> None:
        for wait in waits:
            if wait.report:
                reason = EVENT_REASONS.get(wait.reason, Reason.CREATION_FAILED.value)
                self._warn(key, reason, wait.message, wait.subject)

    def _tell_refusal(self, key: Key, creation: CreateClaim, error: ApiError) -> None:
        """Report what a user can do something about; the rest is retried in silence."""
        if error.code not in {400, 403, 422} or error.has_cause("NamespaceTerminating"):
            return
        kind = "PodResourceClaim" if creation.owner.is_pod else "PodGroupResourceClaim"
        message = f"{kind} {creation.entry}: create ResourceClaim {creation.name}: {error}"
        self._warn(key, Reason.CREATION_FAILED.value, message, creation.entry)

    def _warn(self, key: Key, reason: str, note: str, subject: str) -> None:
        regarding = self._regarding(key)
        if regarding is not None:
            action = "Reserving" if key.kind == "claim" else "CreatingResourceClaim"
            self._recorder.warn(regarding, reason=reason, action=action, note=note, subject=subject)

    def _report_fault(self, fault: Fault, pod: Pod, note: str) -> None:
        if not self._may_write():
            return  # the leader sees it as well, and one Event is enough
        owner = pod.reference
        place = (pod.metadata.namespace, pod.metadata.name)
        regarding = Regarding(owner.api_version, owner.kind, *place, owner.uid)
        self._recorder.warn(regarding, reason=fault.value, action="Watching", note=note)

    def _uid(self, key: Key) -> str:
        regarding = self._regarding(key)
        return regarding.uid if regarding is not None else ""

    def _regarding(self, key: Key) -> Regarding | None:
        place = (key.namespace, key.name)
        if key.kind == "claim":
            claim = self.world.claims.get(*place)
            version = self._served.claims.api_version
            uid = None if claim is None else claim.metadata.uid
            return None if uid is None else Regarding(version, "ResourceClaim", *place, uid)
        shelf = self.world.pods if key.kind == "pod" else self.world.groups
        holder = shelf.get(*place)
        if holder is None:
            return None
        owner = holder.reference
        return Regarding(owner.api_version, owner.kind, *place, owner.uid)

    def _look_again(self, key: Key, waits: Sequence[Wait]) -> None:
        delays = [wait.after for wait in waits if wait.after is not None]
        if delays:
            self.queue.add_after(key, min(delays))


def _frees_devices(plan: Plan) -> bool:
    return any(isinstance(action, SetConsumers) and action.deallocate for action in plan.actions)
