"""The door: connections are accepted and their handshakes made, so many at the same time.

asyncio's own servers have no bound on handshakes, and each holds 256 KiB from its first moment:
whoever only opens connections would take all memory.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

HANDSHAKES = 64
"""Handshakes at the same time; more connections wait to be accepted."""
TURN = 0.5
"""Seconds that a handshake has while others wait: an honest one takes some milliseconds, and an API
server with hundreds of writes at once begins hundreds of them."""
BACKLOG = 1024
"""Connections that wait to be accepted."""
RETRY = 0.1
"""Seconds until the next try where nothing could be accepted, as without file descriptors."""


class Listener:
    """Listens, and hands connections over when their handshake is done.

    Args:
        make: Makes the protocol of a connection.
        tls: The server's side of TLS; None without.
        patience: Seconds for a handshake, and for a client to end its side of TLS.
    """

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
        patience: float,
    ) -> None:
        self._make = make
        self._tls = tls
        self._patience = patience if tls else None
        self._accepting: dict[asyncio.Task[None], socket.socket] = {}
        self._handshakes: dict[asyncio.Task[None], float] = {}  # since when, the oldest first

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the address in use.

        Args:
            host: A name or an address; empty for all interfaces.
            port: 0 for any free one.
        """
        loop = asyncio.get_running_loop()
        # It knows what a name means, and which kinds of addresses the machine has.
        server = await loop.create_server(self._make, host or None, port, start_serving=False)
        sockets = [one.dup() for one in server.sockets]
        server.close()
        for one in sockets:
            one.listen(BACKLOG)
            self._accepting[loop.create_task(self._accept(one))] = one
        name = sockets[0].getsockname()
        return str(name[0]), int(name[1])

    async def stop(self) -> None:
        """Stop listening; handshakes under way are given up, as if they had come too late."""
        tasks = (*self._accepting, *self._handshakes)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for one in self._accepting.values():
            one.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(RETRY)
                continue
            if len(self._handshakes) >= HANDSHAKES:
                await self._make_room()
            task = loop.create_task(self._shake_hands(accepted))
            self._handshakes[task] = loop.time()
            task.add_done_callback(lambda done: self._handshakes.pop(done, None))
            # Reviews have their turn, however many stand at the door.
            await asyncio.sleep(0)

    async def _make_room(self) -> None:
        """Wait until a handshake is done, or give the oldest up when it has had its turn."""
        oldest, began = next(iter(self._handshakes.items()))
        left = began + TURN - asyncio.get_running_loop().time()
        if left > 0:
            await asyncio.wait(self._handshakes, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if len(self._handshakes) >= HANDSHAKES and self._handshakes.pop(oldest, None) is not None:
            oldest.cancel()

    async def _shake_hands(self, accepted: socket.socket) -> None:
        # What is no TLS, or too late, is closed already.
        with suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(
                self._make,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=self._patience,
                ssl_shutdown_timeout=self._patience,
            )
