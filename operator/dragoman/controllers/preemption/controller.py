"""The preemption controller: which pods would have to end for others, and in mode on, their end.

Pods without a node are those that another controller watches; where none does, they are listed by a
field selector. As long as none waits for devices, nothing else is read. Each pass over pods that
wait reads the cluster again: plans are rare, and a store of every bound pod would cost memory all
the time.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from dragoman import metrics, surroundings
from dragoman.allocation import StoppedError
from dragoman.cluster.reader import Reader
from dragoman.controllers.context import Context
from dragoman.controllers.preemption.planning import CRUCIAL, NEEDED, PlannedPreemptions, compute
from dragoman.controllers.preemption.preemptions import Preemptions, take_over
from dragoman.controllers.preemption.reports import Reports
from dragoman.controllers.preemption.waiting import may_preempt
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import items
from dragoman.kube.controller import NotLeadingError
from dragoman.kube.discovery import NotServedError
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS
from dragoman.logs import logger
from dragoman.preemption import journal
from dragoman.preemption.intree import CLUSTER, Evidence, stands_down
from dragoman.preemption.planner import PreemptionOutcome, PreemptionPlan
from dragoman.preemption.policy import Policy, VictimChoice

TICK = 5.0
"""Seconds between lists of the pods without a node."""
STORED_TICK = 1.0
"""Seconds between looks at pods that another controller watches, which cost no request."""
ACTIVE_TICK = 0.5
"""Seconds between two steps of preemptions that are under way."""
NEXT_TICK = 0.1
"""The same after a step that wrote something."""
LONGEST_ACTIVE_DELAY = 2.0
"""Seconds between two tries while requests fail, as while the API server starts again."""
READ_ALL = 3.0
"""Seconds between two lists of all rules and DevicePreemptions while some are under way."""
INTERVAL = 60.0
"""Seconds between two passes while the same pods wait."""
AGAIN = 10.0
"""The same after a preemption has ended, or where one may begin later."""
REST = 3.0
"""Rest after a pass, in times of what it took: pods that come all the time are no load."""
STANDS_DOWN = 3600.0
"""Seconds in which plans are only reported after kube-scheduler preempted for devices itself."""
REMEMBERED = 1000
"""Passes after which it does not matter any more that a namespace was served."""
OBJECTS = 20
"""Reports of one namespace; metrics count all plans."""
_SELECTOR = "spec.nodeName=,status.phase=Pending"

__all__ = ["Policy", "PreemptionController", "VictimChoice"]

log = logger("dragoman.preemption")


class PreemptionController:
    """Plans for pods that wait for devices, while this process leads.

    Args:
        context: Of the process; in mode on with the account of preemption.
        policy: What is allowed.
        after: Seconds for which the scheduler must have refused a pod.
        tick: See `TICK`.
        interval: See `INTERVAL`.
        stored: Returns pods without a node that another controller watches, reduced; None while
            they are not listed. Without it they are listed at each tick.
        preemptions: Carries plans out; None in mode report.
        stood_down: Called when kube-scheduler turns out to preempt for devices itself, with the
            key of a pod that it does so for.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        context: Context,
        policy: Policy,
        *,
        after: float = 10.0,
        tick: float = TICK,
        interval: float = INTERVAL,
        stored: Callable[[], Iterable[Mapping[str, Any]] | None] = lambda: None,
        preemptions: Preemptions | None = None,
        stood_down: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client = context.client
        self._leading = context.leading
        self._policy = policy
        self._after = after
        self._tick = tick
        self._interval = interval
        self._reports = Reports(context)
        self._stored = stored
        self._preemptions = preemptions
        self._stood_down = stood_down
        self._stands_down_until: dict[str, float] = {}
        self._refreshed = self._read_all = float("-inf")
        self._known: frozenset[str] = frozenset()
        self._due = self._rested = float("-inf")
        self._left = self._unread = True
        self._passing: asyncio.Task[None] | None = None
        self._turns: dict[str, int] = {}
        self._passes = 0

    async def run(self) -> None:
        """Plan until cancelled."""
        try:
            await self._run()
        finally:
            if self._passing is not None:
                self._passing.cancel()
            if self._preemptions is not None:
                self._preemptions.stop()

    async def _run(self) -> None:
        backoff = Backoff()
        while True:
            await asyncio.sleep(self._pause)
            try:
                await self._turn()
                backoff = Backoff()
            except NotLeadingError:
                continue
            except (ApiError, NotServedError) as error:
                delay = self._delay(backoff, getattr(error, "retry_after", None) or 0.0)
                log.warning("Cannot plan preemptions", error=str(error), seconds=delay)
                await asyncio.sleep(delay)
            except Exception:  # a fault here must not end the claim controller
                log.exception("Cannot plan preemptions")
                await asyncio.sleep(self._delay(backoff))

    def _delay(self, backoff: Backoff, asked: float = 0.0) -> float:
        """Return the pause after a failure; time limits run while devices are reserved."""
        delay = backoff.next(asked)
        active = self._preemptions is not None and self._preemptions.active
        return max(asked, min(delay, LONGEST_ACTIVE_DELAY)) if active else delay

    @property
    def _pause(self) -> float:
        if self._preemptions is not None and self._preemptions.active:
            return min(NEXT_TICK if self._preemptions.progressed else ACTIVE_TICK, self._tick)
        stored = self._preemptions is not None and self._stored() is not None
        return min(STORED_TICK, self._tick) if stored else self._tick

    async def _turn(self) -> None:
        if not self._leading():
            self._known, self._left, self._unread = frozenset(), True, True
            self._due = self._rested = self._read_all = float("-inf")
            _say_nothing()
            return
        waiting = await self._waiting()
        if self._preemptions is not None:
            await self._carry_on(self._preemptions, bool(waiting))
            self._say_state(self._preemptions)
        await self._pass_beside(waiting)

    async def _pass_beside(self, waiting: frozenset[str]) -> None:
        """Plan; where preemptions are under way, they go on beside it."""
        task = self._passing
        if task is None:
            task = self._passing = asyncio.create_task(self._pass_if_due(waiting))
        while not task.done() and not (self._preemptions and self._preemptions.active):
            await asyncio.wait((task,), timeout=ACTIVE_TICK)
        if not task.done():
            await asyncio.sleep(0)
        if task.done():
            self._passing = None
            task.result()

    def _say_state(self, preemptions: Preemptions) -> None:
        """Set what alerts watch; also where nothing waits any more, and a pause has passed."""
        metrics.PREEMPTION_RESERVED.set(preemptions.reserved)
        metrics.PREEMPTION_PAUSED.labels("failures").set(bool(preemptions.budget.failing))
        metrics.PREEMPTION_PAUSED.labels("in-tree").set(self._stands_down(CLUSTER))

    async def _carry_on(self, preemptions: Preemptions, waiting: bool) -> None:  # noqa: FBT001
        """Take preemptions further; without pods that wait, and without any, nothing is read."""
        now = surroundings.monotonic()
        seldom = waiting and now - self._refreshed >= AGAIN
        if not (seldom or preemptions.active or self._unread):
            return
        every = seldom or not preemptions.active or now - self._read_all >= READ_ALL
        self._refreshed, self._read_all = now, now if every else self._read_all
        running = len(preemptions.budget.running)
        # Only a complete read shows reservations whose preemption is gone: one follows the last
        # preemption, however that ended, and also where a request fails.
        self._unread = True
        await preemptions.refresh(all_of=every)
        await preemptions.advance()
        self._unread = preemptions.active or not every
        if len(preemptions.budget.running) < running:
            self._due = min(self._due, surroundings.monotonic() + AGAIN)

    async def _pass_if_due(self, waiting: frozenset[str]) -> None:
        now = surroundings.monotonic()
        if not waiting and self._left:
            # Objects of pods that found a place stay until here, also those of a leader before.
            await self._reports.clear({})
            self._left = False
            metrics.PREEMPTION_CANDIDATES.set(0)
        elif waiting and now >= self._rested and (now >= self._due or waiting - self._known):
            # Before the pass: one that fails may have written objects, to be cleared later.
            self._left, self._due = True, now + self._interval
            soon = await self._pass(waiting)
            ended = surroundings.monotonic()
            self._due = ended + (min(AGAIN, self._interval) if soon else self._interval)
            self._rested = ended + REST * (ended - now)
            self._known = waiting
        elif not waiting:
            self._known = frozenset()

    async def _waiting(self) -> frozenset[str]:
        """Return the UIDs of pods that wait for devices, and may preempt."""
        now = surroundings.now().isoformat(timespec="seconds")
        return frozenset(
            [
                str(pod["metadata"].get("uid"))
                async for pod in self._unbound()
                if may_preempt(pod, self._policy, self._after, now)
            ]
        )

    async def _unbound(self) -> AsyncIterator[Mapping[str, Any]]:
        stored = self._stored()
        if stored is not None:
            for pod in stored:
                yield pod
            return
        async for item in items(self._client, PODS.path(), fieldSelector=_SELECTOR):
            yield reduced("pods", item)

    async def _pass(self, waiting: frozenset[str]) -> bool:
        """Plan once; return whether a limit is in the way of a preemption, which passes."""
        preemptions = self._preemptions
        known = preemptions.budget.reserved if preemptions is not None else frozenset()
        found = await self._planned(waiting)
        if found is None or not self._leading():
            return False
        self._passes += 1
        served = {**self._turns, **dict.fromkeys(found.served, self._passes)}
        self._turns = {name: at for name, at in served.items() if self._passes - at < REMEMBERED}
        _measure(found)
        held, later = await self._begin(found, known) if preemptions is not None else ({}, False)
        begun = {uid for uid, why in held.items() if not why}
        chosen = {
            one.subject.pod.pod.metadata.uid: one
            for one in journal.reported(found.plans, OBJECTS)
            if one.subject.pod.pod.metadata.uid not in begun
        }
        errors = await self._reports.write(chosen, held)
        if errors:
            count, first = len(errors), str(errors[0])
            log.warning("Cannot report some preemptions", pods=count, error=first)
        log.info(
            "Planned preemptions",
            pods=len(waiting),
            plans=len(found.plans),
            left_out=found.left_out,
            reported=len(chosen),
            begun=len(begun),
            seconds=round(found.seconds, 3),
        )
        return later or found.left_out > 0

    async def _planned(self, waiting: frozenset[str]) -> PlannedPreemptions | None:
        snapshot = await Reader(self._client, "").read(NEEDED)
        unseen = {one.plural for one in snapshot.unseen} | (CRUCIAL - snapshot.objects.keys())
        if unseen & CRUCIAL:
            log.warning("Cannot plan preemptions", missing_rights=sorted(unseen & CRUCIAL))
            return None
        policy = self._preemptions.allowed() if self._preemptions is not None else self._policy
        if self._preemptions is not None:
            running = {one.pod_uid for one in self._preemptions.budget.running}
            waiting -= running
        try:
            return await surroundings.in_daemon_thread(
                compute,
                snapshot,
                waiting,
                policy,
                lambda: surroundings.unneeded() or not self._leading(),
                self._turns,
            )
        except StoppedError:
            return None

    async def _begin(
        self, found: PlannedPreemptions, known: frozenset[str]
    ) -> tuple[dict[str, str], bool]:
        """Begin preemptions.

        Args:
            found: The plans.
            known: UIDs of preemptions whose reservations the plans know; none that begins here.

        Returns:
            For each plan with victims why not, empty where one began; and whether a limit that
            passes is in the way of one. What is only reported stays so.
        """
        preemptions = self._preemptions
        assert preemptions is not None  # mode on
        self._stand_down_if(found.in_tree)
        await preemptions.refresh()
        held: dict[str, str] = {}
        later = False
        # Whose pods had fewer comes first: priorities are their tenants' choice.
        begun = {one: preemptions.budget.begun(one) for one in found.served}
        plans = [one for one in found.plans if one.outcome is PreemptionOutcome.PLANNED]
        plans.sort(key=lambda one: begun[one.subject.pod.pod.metadata.namespace])
        for plan in plans:
            pod = plan.subject.pod.pod.metadata
            devices = found.reserved[pod.uid]
            why = self._why_only_reported(plan, found)
            if not why and (why := preemptions.limited(plan, known)):
                later = True
            if not (why := why or await preemptions.obstacle(plan, devices)):
                await take_over(preemptions.carrier, pod.namespace, pod.uid)
                why = await preemptions.begin(plan, devices)
            held[pod.uid] = why
        return held, later

    def _stand_down_if(self, shown: Sequence[Evidence]) -> None:
        """Pause the preemptions of namespaces, or of the cluster, where the scheduler does it."""
        now = surroundings.monotonic()
        for namespace in stands_down(shown):
            if now >= self._stands_down_until.get(namespace, 0.0):
                pods = [one.pod for one in shown if namespace in {CLUSTER, *one.namespaces}]
                self._stood_down(pods[0])
                text = "kube-scheduler preempts for devices itself: plans are only reported"
                log.warning(text, namespace=namespace or "all", pods=pods[:5])
            self._stands_down_until[namespace] = now + STANDS_DOWN

    def _stands_down(self, namespace: str) -> bool:
        last = max(self._stands_down_until.get(one, 0.0) for one in (CLUSTER, namespace))
        return surroundings.monotonic() < last

    def _why_only_reported(self, plan: PreemptionPlan, found: PlannedPreemptions) -> str:
        """Return why nothing is evicted for a pod although there is a plan; empty if it may be."""
        if plan.only_reported:
            return "Nothing is evicted"
        if self._stands_down(plan.subject.pod.pod.metadata.namespace):
            return "Nothing is evicted: kube-scheduler preempts for devices itself"
        if plan.subject.pod.pod.metadata.uid in found.extended:
            return "Nothing is evicted: claims of extended resources cannot tolerate a reservation"
        rival = found.rivals.get(plan.subject.pod.pod.metadata.uid)
        return f"Nothing is evicted: {rival}" if rival else ""


def _say_nothing() -> None:
    """Reset what alerts watch where another process leads, which says it."""
    metrics.PREEMPTION_CANDIDATES.set(0)
    metrics.PREEMPTION_RESERVED.set(0)
    for reason in ("failures", "in-tree"):
        metrics.PREEMPTION_PAUSED.labels(reason).set(0)


def _measure(planned: PlannedPreemptions) -> None:
    counts = Counter(one.outcome for one in planned.plans)
    metrics.PREEMPTION_CANDIDATES.set(counts[PreemptionOutcome.PLANNED])
    metrics.PREEMPTION_SECONDS.labels("plan").observe(planned.seconds)
    for outcome, count in counts.items():
        kind = "reported" if outcome is PreemptionOutcome.PLANNED else "refused"
        metrics.PREEMPTION_PLANS.labels(kind).inc(count)
