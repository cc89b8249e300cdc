"""One thread whose clients take turns, so that a client that sends much delays itself alone."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")
Place = asyncio.Future[None]


class OverloadedError(Exception):
    """The review could not be completed in time, because others wait already."""

    def __init__(self, reason: str = "too many reviews at the same time") -> None:
        super().__init__(reason)


class FairThread:
    """Runs functions in one thread, one at a time, in turns between clients.

    Args:
        name: Of the thread.
        places: Calls that may wait.
        share: Calls of one client that may wait.
    """

    def __init__(self, name: str, *, places: int, share: int) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._places = places
        self._share = share
        self._busy = False
        # In the order of the clients' next turns.
        self._queues: dict[str, deque[Place]] = {}

    @property
    def waiting(self) -> int:
        """Return how many calls run or wait."""
        return self._busy + sum(map(len, self._queues.values()))

    async def run(self, client: str, function: Callable[[], Result]) -> Result:
        """Return the result of a function, once it is the client's turn.

        Raises:
            OverloadedError: Too many calls wait, of this client or of all.
        """
        if self._busy:
            await self._turn(client)
        self._busy = True
        running = asyncio.get_running_loop().run_in_executor(self._thread, function)
        # The turn ends with the function, also where the client has left before.
        running.add_done_callback(self._pass_on)
        return await asyncio.shield(running)

    def close(self) -> None:
        """Stop the thread after the function that runs in it."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, client: str) -> None:
        if len(self._queues.get(client, ())) >= self._share:
            raise OverloadedError
        if self.waiting > self._places:
            self._make_room(client)
        place: Place = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self._pass_on()
            elif place in (queue := self._queues.get(client, deque())):
                queue.remove(place)
            raise

    def _make_room(self, client: str) -> None:
        """Refuse the last call of the client with the most calls; raise where that is this one."""
        greediest = max(self._queues, key=lambda one: len(self._queues[one]))
        if len(self._queues[greediest]) <= len(self._queues.get(client, ())) + 1:
            raise OverloadedError
        last = self._queues[greediest].pop()
        if not last.done():
            last.set_exception(OverloadedError())

    def _pass_on(self, ended: asyncio.Future[Any] | None = None) -> None:
        """Give the turn to the client that has waited longest since its last one."""
        if ended is not None and not ended.cancelled():
            ended.exception()  # the caller may have left: then it is read here
        while self._queues:
            client = next(iter(self._queues))
            queue = self._queues.pop(client)
            place = queue.popleft() if queue else None
            if queue:
                self._queues[client] = queue
            if place is not None and not place.done():
                place.set_result(None)
                return
        self._busy = False
