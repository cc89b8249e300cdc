"""The preemption controller in mode report: which pods would have to end, and nothing else.

Pods without a node are those that the explain controller watches; where it is off, they are listed
by a field selector every few seconds. As long as none waits for devices, nothing else is read. Each
pass over pods that wait reads the cluster again: plans are rare, and a store of every bound pod
would cost memory all the time.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from dragoman import metrics
from dragoman.allocation import StoppedError
from dragoman.controllers.clusterreader import Reader
from dragoman.controllers.preemption.planning import Planned, compute
from dragoman.controllers.preemption.waiting import may_preempt
from dragoman.controllers.worker import in_daemon_thread
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import MERGE_PATCH, Client, pages
from dragoman.kube.discovery import NotServedError
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder, ObjectReference
from dragoman.kube.resources import DEVICEPREEMPTIONS, PODS
from dragoman.logs import logger
from dragoman.preemption import journal
from dragoman.preemption.planner import Outcome, Plan
from dragoman.preemption.policy import Policy, Select

TICK: Final = 5.0
"""Seconds between lists of the pods without a node."""
INTERVAL: Final = 60.0
"""Seconds between two passes while the same pods wait."""
NEEDED: Final = (
    *("nodes", "pods", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
    *("deviceclasses", "devicetaintrules", "poddisruptionbudgets", "namespaces"),
)
CRUCIAL: Final = frozenset(NEEDED) - {"devicetaintrules"}
"""Without one of these a plan might name a pod that must stay."""
REST: Final = 3.0
"""Rest after a pass, in times of what it took: pods that come all the time are no load."""
OBJECTS: Final = 20
"""Objects of one namespace; metrics count all plans."""
REASON: Final = "DevicePreemptionPlanned"
_GONE: Final = frozenset({404, 409})
_REFUSED: Final = frozenset({400, 403, 422})
"""A quota, a policy or a namespace that ends: no reason to leave out other pods."""
_SELECTOR: Final = "spec.nodeName=,status.phase=Pending"

__all__ = ["Policy", "PreemptionController", "Select"]

log = logger("dragoman.preemption")


class PreemptionController:
    """Reports plans for pods that wait for devices, while this process leads.

    Args:
        client: Where objects are read, and DevicePreemptions are written.
        recorder: Where Events go.
        leading: Whether this process may write now.
        policy: What is allowed.
        after: Seconds for which the scheduler must have refused a pod.
        tick: See `TICK`.
        interval: See `INTERVAL`.
        stored: Returns pods without a node that another controller watches, reduced; None while
            they are not listed. Without it they are listed at each tick.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        client: Client,
        recorder: EventRecorder,
        leading: Callable[[], bool],
        policy: Policy,
        *,
        after: float = 10.0,
        tick: float = TICK,
        interval: float = INTERVAL,
        stored: Callable[[], Iterable[Mapping[str, Any]] | None] = lambda: None,
    ) -> None:
        self._client = client
        self._leading = leading
        self._policy = policy
        self._after = after
        self._tick = tick
        self._interval = interval
        self._recorder = recorder
        self._stored = stored
        self._known: frozenset[str] = frozenset()
        self._ended = self._rested = float("-inf")
        self._said: dict[str, str] = {}
        self._left = True

    async def run(self) -> None:
        """Report plans until cancelled."""
        backoff = Backoff()
        while True:
            await asyncio.sleep(self._tick)
            try:
                await self._pass_if_due()
                backoff = Backoff()
            except (ApiError, NotServedError) as error:
                delay = backoff.next(getattr(error, "retry_after", None))
                log.warning("Cannot plan preemptions", error=str(error), seconds=delay)
                await asyncio.sleep(delay)
            except Exception:  # a fault here must not end the claim controller
                log.exception("Cannot plan preemptions")
                await asyncio.sleep(backoff.next())

    async def _pass_if_due(self) -> None:
        if not self._leading():
            self._known, self._left = frozenset(), True
            self._ended = self._rested = float("-inf")
            metrics.PREEMPTION_CANDIDATES.set(0)
            return
        waiting = await self._waiting()
        now = time.monotonic()
        due = now - self._ended >= self._interval
        if not waiting and self._left:
            # Objects of pods that found a place stay until here, also those of a leader before.
            await self._clear({})
            self._left = False
            metrics.PREEMPTION_CANDIDATES.set(0)
        elif waiting and now >= self._rested and (due or waiting - self._known):
            await self._pass(waiting)
            self._known, self._ended, self._left = waiting, time.monotonic(), True
            self._rested = self._ended + REST * (self._ended - now)
        elif not waiting:
            self._known = frozenset()

    async def _waiting(self) -> frozenset[str]:
        """Return the UIDs of pods that wait for devices, and may preempt."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
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
        async for page in pages(self._client, PODS.path(), limit="500", fieldSelector=_SELECTOR):
            for item in page.get("items") or ():
                yield reduced("pods", item)

    async def _pass(self, waiting: frozenset[str]) -> None:
        snapshot = await Reader(self._client, "").read(NEEDED)
        unseen = {one.plural for one in snapshot.unseen} | (CRUCIAL - snapshot.objects.keys())
        if unseen & CRUCIAL:
            log.warning("Cannot plan preemptions", missing_rights=sorted(unseen & CRUCIAL))
            return
        try:
            planned = await in_daemon_thread(
                compute, snapshot, waiting, self._policy, lambda: not self._leading()
            )
        except StoppedError:
            return
        if not self._leading():
            return
        _measure(planned)
        chosen = {
            one.subject.pod.pod.metadata.uid: one
            for one in journal.reported(planned.plans, OBJECTS)
        }
        written = await self._clear(chosen)
        refused = [
            error
            for uid, plan in chosen.items()
            if (error := await self._written(plan, written.get(uid)))
        ]
        if refused:
            count, first = len(refused), str(refused[0])
            log.warning("Cannot report some preemptions", pods=count, error=first)
        log.info(
            "Planned preemptions",
            pods=len(waiting),
            plans=len(planned.plans),
            left_out=planned.left_out,
            reported=len(chosen),
            seconds=round(planned.seconds, 3),
        )

    async def _clear(self, chosen: Mapping[str, Plan]) -> dict[str, Mapping[str, Any]]:
        """Delete objects of pods without a plan; return the others by name."""
        kept = {}
        async for page in pages(self._client, DEVICEPREEMPTIONS.path(), limit="500"):
            for item in page.get("items") or ():
                metadata = item["metadata"]
                # Objects of another mode are a record of evictions, and no concern of this one.
                if (item.get("spec") or {}).get("mode") != "Report":
                    continue
                if _is_of(item, chosen.get(metadata["name"])):
                    kept[metadata["name"]] = item
                    continue
                path = DEVICEPREEMPTIONS.path(metadata["namespace"], metadata["name"])
                await self._unless_gone(
                    self._client.delete(path, {"preconditions": {"uid": metadata["uid"]}})
                )
        self._said = {uid: note for uid, note in self._said.items() if uid in chosen}
        return kept

    async def _written(self, plan: Plan, before: Mapping[str, Any] | None) -> ApiError | None:
        """Write one report; return what refuses it and no other one."""
        try:
            await self._write(plan, before)
        except ApiError as error:
            if error.code not in _REFUSED:
                raise
            return error
        return None

    async def _write(self, plan: Plan, before: Mapping[str, Any] | None) -> None:
        """Create or update the object of a plan; post an Event where the plan is another one."""
        made, status = journal.document(plan), journal.status(plan)
        metadata = made["metadata"]
        path = DEVICEPREEMPTIONS.path(metadata["namespace"])
        one = f"{path}/{metadata['name']}"
        if before is None:
            await self._unless_gone(self._client.post(path, made))
        elif before.get("spec") != made["spec"]:
            await self._unless_gone(self._client.patch(one, {"spec": made["spec"]}, MERGE_PATCH))
        told = {key: (before or {}).get("status", {}).get(key) for key in status}
        if told != status:
            body = {"status": {**status, "plannedAt": _now()}}
            await self._unless_gone(self._client.patch(f"{one}/status", body, MERGE_PATCH))
        note, uid = status["message"], metadata["name"]
        if told["message"] != note and self._said.get(uid) != note:
            self._said[uid] = note
            pod = plan.subject.pod.pod.metadata
            regarding = ObjectReference("v1", "Pod", pod.namespace, pod.name, pod.uid)
            self._recorder.post(regarding, reason=REASON, action="Preempting", note=note)

    @staticmethod
    async def _unless_gone(request: Any) -> None:
        """Await a write; a pod or object that came or went since it was read needs none."""
        try:
            await request
        except ApiError as error:
            if error.code not in _GONE:
                raise


def _is_of(item: Mapping[str, Any], plan: Plan | None) -> bool:
    """Whether an object is the one of a plan; its name alone may be forged."""
    if plan is None:
        return False
    pod = plan.subject.pod.pod.metadata
    named = ((item.get("spec") or {}).get("pod") or {}).get("uid")
    return (item["metadata"].get("namespace"), named) == (pod.namespace, pod.uid)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _measure(planned: Planned) -> None:
    counts = Counter(one.outcome for one in planned.plans)
    metrics.PREEMPTION_CANDIDATES.set(counts[Outcome.PLANNED])
    metrics.PREEMPTION_SECONDS.labels("plan").observe(planned.seconds)
    for outcome, count in counts.items():
        kind = "reported" if outcome is Outcome.PLANNED else "refused"
        metrics.PREEMPTION_PLANS.labels(kind).inc(count)
