"""The open connections of a server: their number is bounded, and they end when the server stops."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from dragoman_webhooks.http.bodies import BodyBudget
from dragoman_webhooks.http.connection import Connection
from dragoman_webhooks.http.messages import Service


@dataclass(eq=False)
class Connections:
    """Makes connections and keeps the set of open ones."""

    service: Service  # Answers the requests
    bodies: BodyBudget  # Accounts for the bytes of bodies
    limit: int  # Connections at the same time; one more closes another
    read_timeout: float  # Seconds for a client to send one request
    _open: set[Connection] = field(default_factory=set)
    _peers: Counter[str] = field(default_factory=Counter)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def make(self) -> Connection:
        """Return the protocol of a new connection."""
        return Connection(self.service, self.bodies, self.read_timeout, self)

    async def drain(self, seconds: float) -> None:
        """Close all connections after the requests that have begun.

        Args:
            seconds: Time after which the rest is aborted.
        """
        for connection in tuple(self._open):
            connection.drain()
        try:
            async with asyncio.timeout(seconds):
                while self._open:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            for connection in tuple(self._open):
                connection.abort()

    # Called by connections ------------------------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        """Add a connection; evict one if there are too many."""
        self._open.add(connection)
        self._peers[connection.peer] += 1
        if len(self._open) > self.limit:
            evicted = self._least_missed(connection)
            evicted.abort()
            # Not only in `closed`: until then it would count, and more would be evicted.
            self._remove(evicted)

    def closed(self, connection: Connection) -> None:
        """Remove a connection."""
        self._remove(connection)
        self._changed.set()

    def _least_missed(self, newcomer: Connection) -> Connection:
        """Return a connection of the address with the most of them: the one idle for longest.

        So a client that opens many connections closes its own, and not the API server's. A
        connection whose response is under way is never evicted for a newcomer.
        """
        others = (one for one in self._open if one is not newcomer and not one.busy)
        return min(
            others,
            key=lambda one: (-self._peers[one.peer], *one.eviction_order()),
            default=newcomer,
        )

    def _remove(self, connection: Connection) -> None:
        if connection in self._open:
            self._open.remove(connection)
            self._peers[connection.peer] -= 1
            if not self._peers[connection.peer]:
                del self._peers[connection.peer]
