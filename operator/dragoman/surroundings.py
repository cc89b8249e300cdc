"""What a process takes from its surroundings: the time, chance, its name, and threads.

The event loop of a task is found without being passed to it, and so are these: they belong to the
context in which a process was started, which tasks, timers and threads inherit. `kube`, `cluster`,
`controllers` and `process` ask here and nowhere else (tests/test_layout.py keeps that), so that
whole processes run in virtual time, and several of them in one interpreter (docs/adr/0022).
"""

import asyncio
import gc
import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def host_name() -> str:
    """Return the name of the pod, or of the machine."""
    return os.environ.get("POD_NAME") or socket.gethostname()


@dataclass(frozen=True)
class Surroundings:
    """Where a process takes from what it does not decide."""

    monotonic: Callable[[], float] = time.monotonic  # Seconds, by a clock that nothing sets
    unix: Callable[[], float] = time.time  # Seconds since the epoch, by the clock of the machine
    cpu: Callable[[], float] = time.thread_time  # Seconds that the thread has computed
    chance: random.Random = field(default_factory=random.Random)
    host: Callable[[], str] = host_name  # What the process is called
    # Whether computations run in threads beside the event loop; otherwise at once, in its place
    threads: bool = True
    # Whether the interpreter is the process' own: its registry of metrics, its garbage collector
    alone: bool = True


_REAL = Surroundings()
_CURRENT: ContextVar[Surroundings] = ContextVar("surroundings", default=_REAL)


@contextmanager
def using(surroundings: Surroundings) -> Iterator[None]:
    """Use other surroundings, also in the tasks that are started until then."""
    token = _CURRENT.set(surroundings)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current() -> Surroundings:
    """Return the surroundings of the process that runs."""
    return _CURRENT.get()


def monotonic() -> float:
    """Return seconds that only their differences give a meaning."""
    return _CURRENT.get().monotonic()


def unix() -> float:
    """Return the seconds since the epoch."""
    return _CURRENT.get().unix()


def cpu() -> float:
    """Return the seconds of CPU that this thread has used."""
    return _CURRENT.get().cpu()


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.fromtimestamp(_CURRENT.get().unix(), UTC)


def timestamp() -> str:
    """Return the time as `metav1.Time` is written: RFC 3339 in UTC, whole seconds."""
    return f"{now():%Y-%m-%dT%H:%M:%SZ}"


def chance() -> random.Random:
    """Return where randomness comes from; it spreads load, and keeps no secrets."""
    return _CURRENT.get().chance


def identity() -> str:
    """Return a unique name of this process, a new one after each restart."""
    surroundings = _CURRENT.get()
    return f"{surroundings.host()}_{surroundings.chance.getrandbits(32):08x}"


def spare_collector() -> None:
    """Exempt what is there from garbage collection: most of it lives as long as the process.

    Garbage in cycles waits for 10,000 objects, some 2 MiB; at 50,000 a process seems to grow.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 50, 100)


# Threads that compute beside the event loop. Those of `Worker` and `in_daemon_thread` never keep
# the process from ending; the executors of the standard library are waited for at exit.


async def in_thread(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """Return the result of a call in a thread of the event loop's executor."""
    if not _CURRENT.get().threads:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


async def in_daemon_thread(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """Return the result of a call in a thread of its own, as `asyncio.to_thread`.

    The thread goes on where its caller is cancelled, unless the call ends once `unneeded`.
    """
    if not _CURRENT.get().threads:
        return function(*arguments)
    future: Future[Answer] = Future()
    context, ended = copy_context(), Event()
    context.run(_ENDED.set, ended.is_set)
    task = (future, lambda: function(*arguments), context)
    Thread(target=_settle, args=task, name=function.__name__, daemon=True).start()
    try:
        return await asyncio.wrap_future(future)
    finally:
        ended.set()


_ENDED: ContextVar[Callable[[], bool]] = ContextVar("ended", default=lambda: False)


def unneeded() -> bool:
    """Whether the caller of `in_daemon_thread` is gone; asked by what it calls."""
    return _ENDED.get()()


class Worker:
    """One thread, which computes one thing after the other.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any], Context]] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)

    def submit(self, function: Callable[..., Answer], *arguments: Any) -> Future[Answer]:
        """Return the result to come of a call in the thread; cancelled, it is not begun."""
        future: Future[Answer] = Future()
        task = (future, lambda: function(*arguments), copy_context())
        if not _CURRENT.get().threads:
            _settle(future, task[1])
            return future
        if not self._thread.ident:
            self._thread.start()
        self._tasks.put(task)
        return future

    def _work(self) -> None:
        while True:
            _settle(*self._tasks.get())


def _settle(
    future: Future[Any], compute: Callable[[], Any], context: Context | None = None
) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(compute() if context is None else context.run(compute))
    except Exception as error:  # noqa: BLE001 — the caller gets it
        future.set_exception(error)
