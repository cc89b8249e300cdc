"""An event loop in virtual time, with a seeded order of what is ready, and processes that pause or
die.

Each callback belongs to a process by its context; those of none belong to the world: the API
server, the scheduler, kubelets, users.
"""

import asyncio
import contextvars
import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

BEGIN = 1000.0
"""Where the monotonic clock begins."""
EPOCH = 1_800_000_000.0
"""The wall clock at that time."""
TICK = 1e-6
"""The shortest time that a timer waits."""
LIVELOCK = 200_000
"""Callbacks within `MOMENT`."""
MOMENT = 0.01


class Call(asyncio.Handle):
    """A callback that is ready or waits for its time.

    It does without what `asyncio.Handle` keeps for debugging: half of a run is callbacks.
    """

    __slots__ = ("_when",)
    _source_traceback = _repr = None

    def __init__(
        self,
        callback: Callable[..., object],
        arguments: tuple[Any, ...],
        loop: "SimulatedLoop",
        context: contextvars.Context | None,
    ) -> None:
        self._callback, self._args, self._loop = callback, arguments, loop
        # An empty context is false.
        self._context = contextvars.copy_context() if context is None else context
        self._cancelled = False
        self._when = 0.0

    def when(self) -> float:
        """Return the time of the loop at which it is called."""
        return self._when

    def cancel(self) -> None:
        self._cancelled = True


@dataclass(eq=False)
class Lifeline:
    """Whether the callbacks of a process run."""

    dead: bool = False
    paused: bool = False
    held: list[Call] = field(default_factory=list)


LIFELINE: contextvars.ContextVar[Lifeline | None] = contextvars.ContextVar("lifeline", default=None)
_WORLD = contextvars.Context()


class LivelockError(Exception):
    """Much runs and no time passes."""


class IdleError(Exception):
    """Nothing will ever happen."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs everything at once, and lets time pass only where nothing is ready.

    Args:
        chance: Of the order of what is ready.
        shuffle: How often that order is another than that of arrival, 0 to 1.
    """

    _ready: list[Call]
    _scheduled: list[tuple[float, int, Call]]

    def __init__(self, chance: random.Random, shuffle: float = 0.0) -> None:
        super().__init__()
        self._ready, self._scheduled = [], []
        self._now = BEGIN
        self._chance, self._shuffle = chance, shuffle
        self._spun, self._counted_from = 0, BEGIN
        self._timers = 0
        self.steps = 0
        self.failures: list[str] = []

    def time(self) -> float:
        return self._now

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        call = Call(callback, args, self, context)
        self._ready.append(call)
        return call

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        """Call something at a time, but not at this one: real clocks go on between callbacks."""
        call = Call(callback, args, self, context)
        call._when = max(when, self._now + TICK)
        self._timers += 1
        heapq.heappush(self._scheduled, (call._when, self._timers, call))
        return call

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> Call:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def world_later(self, delay: float, function: Callable[..., object], *arguments: Any) -> Call:
        """Call something later that no pause or death of a process concerns."""
        return self.call_at(self._now + delay, function, *arguments, context=_WORLD.copy())

    def resume(self, lifeline: Lifeline) -> None:
        """Run what a pause has held."""
        lifeline.paused = False
        self._ready[:0], lifeline.held = lifeline.held, []

    def forget(self) -> None:
        """Drop everything that would still run."""
        self._ready.clear()
        self._scheduled.clear()

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(str(context.get("exception") or context.get("message")))

    def _run_once(self) -> None:
        for call in self._batch():
            if call._cancelled:
                continue
            lifeline = call._context.get(LIFELINE)
            if lifeline is not None:
                if lifeline.dead:
                    continue
                if lifeline.paused:
                    lifeline.held.append(call)
                    continue
            call._run()

    def _batch(self) -> list[Call]:
        batch, heap = self._ready, self._scheduled
        while heap and heap[0][2]._cancelled:
            heapq.heappop(heap)
        if not batch:
            if not heap:
                raise IdleError
            if heap[0][0] > self._now:
                self._now = heap[0][0]
                if self._now > self._counted_from + MOMENT:
                    self._counted_from, self._spun = self._now, 0
        while heap and heap[0][0] <= self._now:
            batch.append(heapq.heappop(heap)[2])
        self._ready = []
        if self._shuffle and len(batch) > 1 and self._chance.random() < self._shuffle:
            self._chance.shuffle(batch)
        self._spun += len(batch)
        self.steps += len(batch)
        if self._spun > LIVELOCK:
            raise LivelockError(f"{self._spun} callbacks at {self._now - BEGIN:.3f} s: {batch[:3]}")
        return batch

    # What a loop without sockets and threads does not need.

    def _process_events(self, event_list: object) -> None: ...

    def _write_to_self(self) -> None: ...

    def _timer_handle_cancelled(self, handle: object) -> None: ...


def as_loop(loop: SimulatedLoop) -> asyncio.AbstractEventLoop:
    return cast("asyncio.AbstractEventLoop", loop)
