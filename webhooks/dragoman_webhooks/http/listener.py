"""Accepts connections and performs TLS handshakes, a bounded number at the same time.

asyncio's own servers have no bound on handshakes, and each holds TLS buffers from its first moment,
so a client that only opens connections could take all memory. A socket costs no TLS state here
until its first bytes have arrived.
"""

import asyncio
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import aiofastnet

SILENT = 256
"""Accepted sockets that have sent nothing yet; one more closes the oldest of them. An API server
sends its ClientHello within a round trip."""
HANDSHAKES = 256
"""Handshakes at the same time, about 50 KiB each; further sockets wait in line."""
WAITING = 64
"""Sockets in that line; while it is longer, nothing is accepted."""
TURN = 0.05
"""Seconds in which one of `HANDSHAKES` must complete while others wait, or the oldest is closed."""
CROWDED_TIMEOUT = 1.0
"""Seconds that a handshake has if it begins as the last of `HANDSHAKES`. aiofastnet keeps what it
has of a handshake that was closed until then, about 60 KiB."""
BACKLOG = 1024
"""Connections that the kernel holds until they are accepted."""
RETRY = 0.1
"""Seconds until the next attempt if accepting fails, as it does without free file descriptors."""


@dataclass
class Listener:
    """Listens, and hands a connection over once its handshake is complete."""

    make: Callable[[], asyncio.Protocol]  # Returns the protocol of a new connection
    tls: ssl.SSLContext | None  # The server's side of TLS; None for plain HTTP
    # Seconds for a client to send its first bytes, to complete the handshake, and to end its side
    # of TLS
    timeout: float
    _accepting: dict[asyncio.Task[None], socket.socket] = field(default_factory=dict)
    _silent: OrderedDict[socket.socket, asyncio.TimerHandle] = field(default_factory=OrderedDict)
    _line: asyncio.Queue[socket.socket] = field(default_factory=asyncio.Queue)
    _handshakes: dict[asyncio.Task[None], float] = field(default_factory=dict)
    """When each began, the oldest first."""

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen, and return the address in use.

        Args:
            host: A name or an address; empty for all interfaces.
            port: 0 for any free one.
        """
        loop = asyncio.get_running_loop()
        # create_server resolves names and picks the address families that the machine has.
        server = await loop.create_server(self.make, host or None, port, start_serving=False)
        sockets = [one.dup() for one in server.sockets]
        server.close()
        for one in sockets:
            one.listen(BACKLOG)
            self._accepting[loop.create_task(self._accept(one))] = one
        self._starting = loop.create_task(self._start_handshakes())
        name = sockets[0].getsockname()
        return str(name[0]), int(name[1])

    async def stop(self) -> None:
        """Stop listening; close sockets whose handshake is not complete."""
        tasks = (*self._accepting, self._starting, *self._handshakes)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for accepted in tuple(self._silent):
            self._close_silent(accepted)
        while not self._line.empty():
            self._line.get_nowait().close()
        for listening in self._accepting.values():
            listening.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError:
                # Silent sockets must not keep the file descriptors that others wait for.
                self._close_oldest_silent()
                await asyncio.sleep(RETRY)
                continue
            if self.tls is None:
                self._start_connection(accepted)
            elif _has_bytes(accepted):
                self._line.put_nowait(accepted)
            else:
                self._await_bytes(accepted)
            if self._line.qsize() > WAITING:
                await self._line.join()
            # Let reviews run while many connections wait to be accepted.
            await asyncio.sleep(0)

    # Sockets without a first byte -----------------------------------------------------------------

    def _await_bytes(self, accepted: socket.socket) -> None:
        if len(self._silent) >= SILENT:
            self._close_oldest_silent()
        loop = asyncio.get_running_loop()
        self._silent[accepted] = loop.call_later(self.timeout, self._close_silent, accepted)
        loop.add_reader(accepted, self._bytes_arrived, accepted)

    def _bytes_arrived(self, accepted: socket.socket) -> None:
        self._forget_silent(accepted)
        self._line.put_nowait(accepted)

    def _close_oldest_silent(self) -> None:
        if self._silent:
            self._close_silent(next(iter(self._silent)))

    def _close_silent(self, accepted: socket.socket) -> None:
        self._forget_silent(accepted)
        accepted.close()

    def _forget_silent(self, accepted: socket.socket) -> None:
        asyncio.get_running_loop().remove_reader(accepted)
        self._silent.pop(accepted).cancel()

    # Handshakes -----------------------------------------------------------------------------------

    async def _start_handshakes(self) -> None:
        while True:
            accepted = await self._line.get()
            try:
                while len(self._handshakes) >= HANDSHAKES:
                    await self._make_room()
                self._start_connection(accepted)
            except asyncio.CancelledError:
                accepted.close()
                raise
            finally:
                self._line.task_done()

    async def _make_room(self) -> None:
        """Wait until a handshake completes, or close the oldest after its turn."""
        oldest, began = next(iter(self._handshakes.items()))
        rest = began + TURN - asyncio.get_running_loop().time()
        if rest > 0:
            await asyncio.wait(self._handshakes, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
            # After a pause of this process, handle the bytes that arrived during it first.
            await asyncio.sleep(0)
        elif self._handshakes.pop(oldest, None) is not None:
            oldest.cancel()

    def _start_connection(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._shake_hands(accepted))
        self._handshakes[task] = loop.time()
        task.add_done_callback(lambda done: self._handshakes.pop(done, None))

    async def _shake_hands(self, accepted: socket.socket) -> None:
        crowded = len(self._handshakes) >= HANDSHAKES
        timeout = min(self.timeout, CROWDED_TIMEOUT) if crowded else self.timeout
        # A client that speaks no TLS or is too slow has been closed by the transport.
        with suppress(OSError):
            await aiofastnet.connect_accepted_socket(
                asyncio.get_running_loop(),
                self.make,
                accepted,
                ssl=self.tls,
                ssl_handshake_timeout=timeout if self.tls else None,
                ssl_shutdown_timeout=self.timeout if self.tls else None,
            )


def _has_bytes(accepted: socket.socket) -> bool:
    """Whether the first bytes of a socket, or its end, have arrived."""
    try:
        accepted.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
