"""Single-flight reads, as golang.org/x/sync/singleflight, but never older than the call."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class SingleFlight(Generic[Key, Result]):
    """Callers that arrive during a read of a key share the next read of it.

    A caller never gets the result of a read that began before its call.

    Args:
        read: Reads a key; its exceptions are raised to all callers that share the read.
    """

    def __init__(self, read: Callable[[Key], Awaitable[Result]]) -> None:
        self._read = read
        self._running: dict[Key, asyncio.Task[Result]] = {}
        self._next: dict[Key, asyncio.Task[Result]] = {}

    def __len__(self) -> int:
        """Return how many reads run or are scheduled."""
        return len(self._running) + len(self._next)

    async def do(self, key: Key) -> Result:
        """Return the result of a read that begins after this call."""
        if key not in self._next:
            previous = self._running.get(key)
            self._next[key] = read = asyncio.create_task(self._run(key, previous))
            read.add_done_callback(_ignore_failure)
        return await asyncio.shield(self._next[key])

    async def _run(self, key: Key, previous: asyncio.Task[Result] | None) -> Result:
        if previous is not None:
            await asyncio.wait({previous})
        running = self._running[key] = self._next.pop(key)
        try:
            return await self._read(key)
        finally:
            if self._running.get(key) is running:
                del self._running[key]


def _ignore_failure(read: asyncio.Task[Result]) -> None:
    """Let a read fail in silence: its callers get the error, and may all have been cancelled."""
    if not read.cancelled():
        read.exception()
