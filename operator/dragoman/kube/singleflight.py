"""One read for all who want to know the same at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Place = TypeVar("Place", bound=Hashable)
Answer = TypeVar("Answer")


class SingleFlight(Generic[Place, Answer]):
    """Reads of which each begins after it was asked for; who asks meanwhile shares the next one.

    Args:
        read: Reads a place; what it raises is raised to all who share the read.
    """

    def __init__(self, read: Callable[[Place], Awaitable[Answer]]) -> None:
        self._read = read
        self._running: dict[Place, asyncio.Task[Answer]] = {}
        self._next: dict[Place, asyncio.Task[Answer]] = {}

    def __len__(self) -> int:
        """Return how many reads run or are to come."""
        return len(self._running) + len(self._next)

    async def ask(self, place: Place) -> Answer:
        """Wait for what a read gives that begins after now."""
        if place not in self._next:
            before = self._running.get(place)
            self._next[place] = asyncio.create_task(self._turn(place, before))
        return await asyncio.shield(self._next[place])

    async def _turn(self, place: Place, before: asyncio.Task[Answer] | None) -> Answer:
        if before is not None:
            await asyncio.wait({before})
        running = self._running[place] = self._next.pop(place)
        try:
            return await self._read(place)
        finally:
            if self._running.get(place) is running:
                del self._running[place]
