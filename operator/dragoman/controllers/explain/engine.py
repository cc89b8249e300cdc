"""Explanations and counts, computed in one thread beside the event loop.

The thread alone has the allocator's `Cluster`, which it brings up to date before each answer by
what differs between two worlds; worlds and their facts never change.
"""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from dragoman import surroundings
from dragoman.allocation import Claim, Cluster, StoppedError, TimeBudget
from dragoman.allocation.features import Profile
from dragoman.allocation.requests.expressions import load_engine
from dragoman.controllers.explain.counts import DeviceCounts, count
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.explain import examine
from dragoman.diagnosis.filters import Load
from dragoman.diagnosis.note import Note, note
from dragoman.diagnosis.subject import Subject, of_pod
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import Snapshot

STEPS = 15_000
"""Steps of the searches for one pod on all nodes: about 50 ms."""
SECONDS = 0.4
"""CPU time of one explanation: searches, selectors and reasons together, beside `EACH`."""
EACH = 1e-4
"""CPU time for each node and each device, as their number is not the pod's fault."""
AGAIN = 1800.0
"""Seconds until what was too expensive is tried again: results of selectors are remembered, so that
an explanation that was so on a slow machine may be none by then."""
MOST_EXPENSIVE = 10_000
"""Pods without an explanation that are remembered by what they request."""
SHARE = 0.5
"""Part of its time that the thread computes at most; the rest belongs to the event loop."""
EMPTY = parse(Snapshot(""))
"""No facts."""

Result = TypeVar("Result")
Item = TypeVar("Item")


class Engine:
    """Explanations of pods in one state of the cluster.

    Args:
        profile: How the scheduler of the cluster behaves.
        fresh: Seconds for which pods that ask for the same share an explanation.
        clock: Monotonic seconds.
    """

    def __init__(
        self, profile: Profile, *, fresh: float, clock: Callable[[], float] = surroundings.monotonic
    ) -> None:
        self.count_seconds = 0.0  # CPU time of the last count, without its turn behind explanations
        self._profile = profile
        self._fresh = fresh
        self._clock = clock
        self._cluster = Cluster(profile)
        self._applied: World | None = None
        self._notes: dict[object, tuple[float, Note]] = {}
        self._expensive: dict[bytes, float] = {}
        self._stopped = threading.Event()
        self._thread = surroundings.Worker("explain")

    async def explain(self, world: World, pod: PodFact) -> Note:
        """Return what is said about a pod that waits."""
        return await self._do(self._explain, world, pod)

    async def count(self, world: World) -> DeviceCounts:
        """Return how many devices are in which state, and who holds them."""
        return await self._do(self._count, world)

    def _count(self, world: World) -> DeviceCounts:
        began = surroundings.cpu()
        counts = count(take(world, self._profile))
        self.count_seconds = surroundings.cpu() - began
        return counts

    def stop(self) -> None:
        """Compute nothing more; what is being computed ends at the next device."""
        self._stopped.set()

    async def _do(self, function: Callable[..., Result], *arguments: Any) -> Result:
        began = self._clock()
        try:
            result = await asyncio.wrap_future(self._thread.submit(function, *arguments))
        except StoppedError:
            raise asyncio.CancelledError from None
        # Computing in a thread takes turns with the event loop, which has claims to create. A
        # cancelled call does not rest: the process is about to end.
        await asyncio.sleep((self._clock() - began) * (1 / SHARE - 1))
        return result

    def _explain(self, world: World, pod: PodFact) -> Note:
        subject = of_pod(world, pod)
        shape = None if subject.allocated or subject.obstacles else _shape(pod, subject.claims)
        known = self._notes.get(shape) if shape else None
        if known is not None and self._clock() - known[0] < self._fresh:
            return known[1]
        self._apply(world)
        digest = _digest(subject)
        if self._clock() - self._expensive.get(digest, float("-inf")) < AGAIN:
            return note(Explanation(subject, Answer.UNKNOWN, expensive=True))
        load_engine()
        with TimeBudget(
            SECONDS + EACH * _size(world), clock=surroundings.cpu, stopped=self._stopped.is_set
        ):
            explanation = examine(world, subject, self._cluster, Load(), limit=STEPS)
        found = note(explanation)
        if explanation.expensive:
            self._expensive.pop(digest, None)
            if len(self._expensive) >= MOST_EXPENSIVE:
                del self._expensive[next(iter(self._expensive))]
            self._expensive[digest] = self._clock()
        if shape is not None:
            now = self._clock()
            self._notes = {k: v for k, v in self._notes.items() if now - v[0] < self._fresh}
            self._notes[shape] = (now, found)
        return found

    def _apply(self, world: World) -> None:
        """Bring the cluster up to date: facts that are other objects than before are put in."""
        if world is self._applied:
            return
        old, cluster = self._applied or EMPTY, self._cluster
        changed = _update(
            old.nodes, world.nodes, lambda one: cluster.put_node(one.node), cluster.remove_node
        )
        changed |= _update(old.classes, world.classes, cluster.put_class, cluster.remove_class)
        _update(
            old.claims,
            world.claims,
            cluster.put_claim,
            cluster.remove_claim,
        )
        changed |= _update(
            {one.name: one for one in old.slices},
            {one.name: one for one in world.slices},
            cluster.put_slice,
            cluster.remove_slice,
        )
        changed |= _update(
            {one.name: one for one in old.rules},
            {one.name: one for one in world.rules},
            cluster.put_taint_rule,
            cluster.remove_taint_rule,
        )
        if changed:
            self._expensive.clear()
        self._applied = world


def _update(
    old: Mapping[str, Item],
    new: Mapping[str, Item],
    put: Callable[[Item], None],
    remove: Callable[[str], None],
) -> bool:
    """Put in what is new, remove what is gone; return whether there was any of it."""
    fresh = [item for key, item in new.items() if old.get(key) is not item]
    gone = old.keys() - new.keys()
    for item in fresh:
        put(item)
    for key in gone:
        remove(key)
    return bool(fresh or gone)


def _size(world: World) -> int:
    """Count nodes and devices."""
    return len(world.nodes) + sum(len(one.devices) for one in world.slices)


def _shape(pod: PodFact, claims: Iterable[Claim]) -> object:
    """Return what explanations of pods have in common, as those of one Job.

    Claims of one template share the parsed spec.
    """
    return (tuple(id(claim.spec) for claim in claims), repr(_spec(pod)))


def _digest(subject: Subject) -> bytes:
    """Return the same for pods that request the same, whatever they and their claims are called.

    Claims that are allocated restrict the search to where their devices are.
    """
    requested = (
        sorted(_spec(subject.pod).items()),
        [claim.spec for claim in subject.claims],
        [claim.held for claim in subject.allocated],
    )
    return hashlib.sha256(repr(requested).encode()).digest()


def _spec(pod: PodFact) -> dict[str, Any]:
    spec = pod.document.get("spec") or {}
    return {key: value for key, value in spec.items() if key != "resourceClaims"}
