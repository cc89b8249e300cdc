"""The explain controller: reports in an Event why the scheduler finds no devices for a pod."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dragoman import surroundings
from dragoman.allocation import Profile
from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.explain.collector import LIMIT, DeviceCollector
from dragoman.controllers.explain.engine import Engine
from dragoman.controllers.explain.explainstate import ExplainState
from dragoman.diagnosis.note import Note
from dragoman.inventory.facts.profiles import observed_profile
from dragoman.inventory.facts.world import PodFact
from dragoman.kube.controller import Controller
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder, ObjectReference
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman.metrics import REGISTRY
from dragoman.model.pod import Pod
from dragoman_base.versions import beyond

WAIT = 30.0
"""Seconds for which the scheduler must have refused a pod."""
INTERVAL = 300.0
"""Seconds between two explanations of one pod."""
FRESH = 0.03
"""Part of the interval for which pods that request the same share an explanation."""
COUNT_INTERVAL = 15.0
"""Seconds between two counts of all devices; longer where a count takes long."""
COUNT_SHARE = 20
"""A count is not repeated before this many times its CPU time has passed."""
NOT_YET = "NotYetExplained"
REASON = "CannotAllocateDevices"

log = logger("dragoman.explain")


def profile_of(kubernetes: str, *, rules: bool) -> Profile:
    """Return how the scheduler behaves: that of the server's version, with its default gates."""
    found, problem = observed_profile(kubernetes, rules=rules)
    if problem:
        log.warning("Explaining as the default version", kubernetes=found.kubernetes, error=problem)
    return found


class PodKey(NamedTuple):
    """A pod."""

    namespace: str
    name: str


@dataclass(slots=True)
class _Explained:
    """What was said about a pod."""

    uid: str  # Of the pod
    since: float  # When the scheduler's refusal was first seen, as monotonic seconds
    next: float = 0.0  # When it may be explained again
    reason: str = NOT_YET  # The last one, for metrics
    identity: tuple[str, ...] = ()  # Of the last Event


class ExplainController:
    """Explains pods that wait for devices, and counts devices.

    Args:
        cluster: What is known; pods without a node are kept in it as a whole.
        profile: How the scheduler behaves.
        kubernetes: The server's version.
        recorder: Where Events go; None to post none.
        infos: Whether metrics have a series per device.
        limit: How many of these there are at most.
        resync: Seconds between full passes over all pods.
        wait: See `WAIT`.
        interval: See `INTERVAL`.
        clock: Monotonic seconds.

    Attributes:
        state: The stored facts.
        queue: The pods that wait for a worker.
    """

    def __init__(  # noqa: PLR0913 — the composition root names each part
        self,
        cluster: ClusterStores,
        profile: Profile,
        kubernetes: str,
        recorder: EventRecorder | None,
        *,
        infos: bool = False,
        limit: int = LIMIT,
        resync: float = 600.0,
        wait: float = WAIT,
        interval: float = INTERVAL,
        clock: Callable[[], float] = surroundings.monotonic,
    ) -> None:
        self.state = ExplainState(cluster, kubernetes, clock=clock)
        self._pods = cluster.pods
        self.queue: WorkQueue[PodKey] = WorkQueue("explain", namespace=lambda key: key.namespace)
        self._recorder = recorder
        said = beyond(kubernetes)
        self._beyond = f"; {said}" if said else ""
        self._engine = Engine(profile, fresh=interval * FRESH, clock=clock)
        self._wait = wait
        self._interval = interval
        self._clock = clock
        self._explained: dict[PodKey, _Explained] = {}
        self._collector = DeviceCollector(self._reasons, infos=infos, limit=limit)
        self._controller = Controller(
            self.queue,
            self.reconcile,
            self._enqueue_all,
            resync=resync,
            describe=PodKey._asdict,
        )
        cluster.pods.observe(self._pod_changed)

    async def run(self) -> None:
        """Explain and count until cancelled; call it only while this process leads."""
        await self.state.wait_listed()
        async with asyncio.TaskGroup() as tasks:
            counting = tasks.create_task(self._count())
            try:
                await self._controller.run()
            finally:
                counting.cancel()
                self._collector.counts = None
                self._explained.clear()

    def stop(self) -> None:
        """Stop computing explanations."""
        self._engine.stop()

    def register_metrics(self) -> None:
        """Add the collector to the registry."""
        REGISTRY.register(self._collector)

    def unregister_metrics(self) -> None:
        """Remove the collector from the registry."""
        REGISTRY.unregister(self._collector)

    async def reconcile(self, key: PodKey) -> None:
        """Explain a pod that has waited long enough; raise ApiError where it cannot be read."""
        pod = self._waiting(key)
        if pod is None:
            self._explained.pop(key, None)
            return
        now, uid = self._clock(), pod.pod.metadata.uid
        known = self._explained.get(key)
        if known is None or known.uid != uid:
            known = self._explained[key] = _Explained(uid, now)
        due = max(known.since + self._wait, known.next)
        if now < due:
            self.queue.add_after(key, due - now)
            return
        said = await self._engine.explain(self.state.world(), pod)
        known.reason, known.next = said.reason, self._clock() + self._interval
        if said.text and said.identity != known.identity:
            try:
                await self._post(key, said, known)
            except ApiError:
                known.next = self._clock() + self._wait  # nothing was posted yet
                raise
        self.queue.add_after(key, self._interval)

    async def _post(self, key: PodKey, said: Note, known: _Explained) -> None:
        if self._recorder is None:
            return
        # The watch may lag: a pod that was placed in between gets no Event.
        await self._pods.refresh(key.namespace, key.name)
        current = self._waiting(key)
        if current is None or current.pod.metadata.uid != known.uid:
            return
        hint = f" (kubectl dra explain pod {key.name} -n {key.namespace}{self._beyond})"
        regarding = ObjectReference("v1", "Pod", key.namespace, key.name, known.uid)
        self._recorder.warn(
            regarding,
            reason=REASON,
            action="Scheduling",
            note=said.text + hint,
            # A new leader finds the Event of its first reasons. Reasons that have changed since may
            # be those of an earlier Event, beside which they get one of their own.
            identities=("\0".join(said.identity), *([""] if known.identity else [])),
        )
        known.identity = said.identity
        log.debug("Explained", namespace=key.namespace, name=key.name, reason=said.reason)

    def _waiting(self, key: PodKey) -> PodFact | None:
        """Return a pod that waits for devices; None for any other."""
        found = self.state.pods.get(key)
        return found if found is not None and self.state.waits(found) else None

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        found = new or old
        assert found is not None
        key = PodKey(found.metadata.namespace, found.metadata.name)
        waiting = self.state.pods.get(key)
        if (waiting is not None and waiting.unschedulable) or key in self._explained:
            self.queue.add(key)

    def _enqueue_all(self) -> None:
        refused = {PodKey(*place) for place, pod in self.state.pods.items() if pod.unschedulable}
        for key in refused | self._explained.keys():
            self.queue.add(key)

    def _reasons(self) -> dict[str, str]:
        return {f"{key.namespace}/{key.name}": one.reason for key, one in self._explained.items()}

    async def _count(self) -> None:
        version = -1
        while True:
            if version != self.state.version:
                version = self.state.version
                self._collector.counts = await self._engine.count(self.state.world())
            await asyncio.sleep(max(COUNT_INTERVAL, COUNT_SHARE * self._engine.count_seconds))
