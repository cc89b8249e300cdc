"""A thread that computes one thing after the other, and never keeps the process from ending."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Worker:
    """One thread.

    The process ends without it: the executors of the standard library are waited for at exit,
    whatever they compute.

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
            future, compute = self._tasks.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(compute())
            except Exception as error:  # noqa: BLE001 — the caller gets it
                future.set_exception(error)
