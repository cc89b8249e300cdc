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


@dataclass(eq=False)
class Lifeline:
    """Whether the callbacks of a process run."""

    dead: bool = False
    paused: bool = False
    held: list[asyncio.Handle] = field(default_factory=list)


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

    _ready: Any
    _scheduled: Any

    def __init__(self, chance: random.Random, shuffle: float = 0.0) -> None:
        super().__init__()
        self._now = BEGIN
        self._chance, self._shuffle = chance, shuffle
        self._spun, self._counted_from = 0, BEGIN
        self.steps = 0
        self.failures: list[str] = []

    def time(self) -> float:
        return self._now

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call something at a time, but not at this one: real clocks go on between callbacks."""
        return super().call_at(max(when, self._now + TICK), callback, *args, context=context)

    def world_later(
        self, delay: float, function: Callable[..., object], *arguments: Any
    ) -> asyncio.TimerHandle:
        """Call something later that no pause or death of a process concerns."""
        return self.call_later(delay, function, *arguments, context=_WORLD.copy())

    def resume(self, lifeline: Lifeline) -> None:
        """Run what a pause has held."""
        lifeline.paused = False
        held, lifeline.held = lifeline.held, []
        self._ready.extendleft(reversed(held))

    def forget(self) -> None:
        """Drop everything that would still run."""
        self._ready.clear()
        self._scheduled.clear()

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(str(context.get("exception") or context.get("message")))

    def _run_once(self) -> None:
        for handle in self._batch():
            if handle._cancelled:
                continue
            lifeline = handle._context.get(LIFELINE)
            if lifeline is not None and lifeline.dead:
                continue
            if lifeline is not None and lifeline.paused:
                lifeline.held.append(handle)
                continue
            handle._run()

    def _batch(self) -> list[Any]:
        ready, heap = self._ready, self._scheduled
        while heap and heap[0]._cancelled:
            heapq.heappop(heap)._scheduled = False
        if not ready:
            if not heap:
                raise IdleError
            if heap[0]._when > self._now:
                self._now = heap[0]._when
                if self._now > self._counted_from + MOMENT:
                    self._counted_from, self._spun = self._now, 0
        while heap and heap[0]._when <= self._now:
            handle = heapq.heappop(heap)
            handle._scheduled = False
            ready.append(handle)
        batch = list(ready)
        ready.clear()
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
