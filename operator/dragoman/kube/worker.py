"""Threads that compute beside the event loop, and never keep the process from ending.

The executors of the standard library are waited for at exit, whatever they compute.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Worker:
    """One thread, which computes one thing after the other.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)

    def submit(self, function: Callable[..., Answer], *arguments: Any) -> Future[Answer]:
        """Return the result to come of a call in the thread; cancelled, it is not begun."""
        if not self._thread.ident:
            self._thread.start()
        future: Future[Answer] = Future()
        self._tasks.put((future, lambda: function(*arguments)))
        return future

    def _work(self) -> None:
        while True:
            _settle(*self._tasks.get())


async def in_daemon_thread(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """Return the result of a call in a thread of its own, as `asyncio.to_thread`."""
    future: Future[Answer] = Future()
    task = (future, lambda: function(*arguments))
    Thread(target=_settle, args=task, name=function.__name__, daemon=True).start()
    return await asyncio.wrap_future(future)


def _settle(future: Future[Any], compute: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(compute())
    except Exception as error:  # noqa: BLE001 — the caller gets it
        future.set_exception(error)
