"""A small HTTP server for pages that anyone may ask for, as probes and metrics.

Each connection gets one response, and the number of connections, their duration and their rate are
bounded: a flood costs a few percent of a CPU, and a probe waits for its turn for less time than the
kubelet allows.
"""

import asyncio
import math
import socket
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

from dragoman.logs import logger
from dragoman.settings import Address

CONNECTION_LIMIT = 128
"""Open connections. For a new one, the oldest that reads a long response is closed, else the oldest
without a request: a probe sends its request at once, and its response is short."""
SHORT = 4096
"""Bytes of a response that is sent at once."""
REQUEST_TIMEOUT = 5.0
"""Seconds for the head of a request."""
RESPONSE_TIMEOUT = 10.0
"""Seconds for the client to read its response; Prometheus waits as long by default."""
HEAD_LIMIT = 1 << 13
"""Bytes of the head of a request."""
ACCEPT_RATE = 250.0
"""Connections accepted each second; one costs about 0.2 ms of CPU."""
ACCEPT_RETRY = 1.0
"""Seconds until the next try where the process has no descriptor left for a connection."""
BURST = 32
"""Connections accepted in one turn of the event loop, where it was too busy for the rate."""
BACKLOG = 1024
"""Connections that wait in the kernel. One more would be dropped, and its client try again after
seconds: a probe must not wait for that."""
TEXT = "text/plain; charset=utf-8"

log = logger("dragoman.health")

Respond = Callable[[bytes, bytes], bytes]
"""Returns the encoded response to a method and a path."""


@dataclass
class HttpServer:
    """Listens on one address, and gives each connection one response."""

    address: Address  # Where to listen; port 0 for any free one
    respond: Respond  # Returns the response to a method and a path
    _connections: OrderedDict["HttpConnection", None] = field(default_factory=OrderedDict)
    _timers: dict[socket.socket, asyncio.TimerHandle | None] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _late: float = 0.0  # Seconds by which the event loop was late at the last turn

    async def start(self) -> str:
        """Listen; returns the address in use."""
        loop = asyncio.get_running_loop()
        # None is every interface of both families: some clusters have IPv6 only.
        server = await loop.create_server(
            asyncio.Protocol, self.address.host or None, self.address.port, start_serving=False
        )
        # asyncio would accept as many connections as there are, so it only resolves and binds.
        sockets = [one.dup() for one in server.sockets]
        server.close()
        host, port = sockets[0].getsockname()[:2]
        for listening in sockets:
            listening.settimeout(0.0)
            listening.listen(BACKLOG)
            self._listen(listening)
        return f"{host}:{port}"

    async def stop(self) -> None:
        """Stop listening, and close all connections."""
        for listening, timer in self._timers.items():
            if timer is not None:
                timer.cancel()
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._timers.clear()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in list(self._connections):
            connection.abort()
        await asyncio.sleep(0)  # transports close in a later turn of the loop

    def _listen(self, listening: socket.socket, due: float = math.inf) -> None:
        loop = asyncio.get_running_loop()
        self._timers[listening] = None
        self._late = max(0.0, loop.time() - due)
        loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Accept one connection, and the next one not before its time.

        No task waits for connections: kopf would wait for such a task at the end of the process.
        """
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        delay = 1.0 / ACCEPT_RATE
        # A busy loop comes here late: the rate holds over time, not for each turn.
        for _ in range(1 + int(min(BURST, self._late * ACCEPT_RATE))):
            try:
                accepted, _address = listening.accept()
            except (BlockingIOError, ConnectionError):
                break  # there is none, or the client has closed it already
            except OSError as error:
                # Out of descriptors or memory; the kernel keeps the connection for later.
                log.warning("Cannot accept a connection", error=str(error))
                delay = ACCEPT_RETRY
                break
            self._make_room()
            task = loop.create_task(self._connect(accepted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        due = loop.time() + delay
        self._timers[listening] = loop.call_at(due, self._listen, listening, due)

    async def _connect(self, accepted: socket.socket) -> None:
        accepted.settimeout(0.0)
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(self._connection, accepted)
        except OSError:  # the client has closed it already
            accepted.close()

    def _connection(self) -> "HttpConnection":
        connection = HttpConnection(self.respond, self._forget)
        self._connections[connection] = None
        return connection

    def _forget(self, connection: "HttpConnection") -> None:
        self._connections.pop(connection, None)

    def _make_room(self) -> None:
        """Close a connection where there are too many."""
        if len(self._connections) >= CONNECTION_LIMIT:
            reading = next((one for one in self._connections if one.reads_long), None)
            silent = (one for one in self._connections if not one.responded)
            connection = reading or next(silent, next(iter(self._connections)))
            self._forget(connection)
            connection.abort()


class HttpConnection(asyncio.Protocol):
    """One connection: it reads the head of a request, sends the response and closes.

    Args:
        respond: Returns the response to a method and a path.
        on_closed: Called when the connection has ended.

    Attributes:
        responded: Whether the response was sent.
        reads_long: Whether that is a long one, such as the page of metrics.
    """

    def __init__(
        self,
        respond: Respond,
        on_closed: Callable[["HttpConnection"], None],
    ) -> None:
        self._respond = respond
        self._on_closed = on_closed
        self._head = bytearray()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.responded = self.reads_long = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request."""
        self._transport = cast("asyncio.Transport", transport)
        self._set_timer(REQUEST_TIMEOUT)

    def data_received(self, data: bytes) -> None:
        """Respond when the head of a request is complete; its body is ignored."""
        if self.responded:
            return
        self._head += data
        if b"\r\n\r\n" in self._head:
            method, _, rest = bytes(self._head).partition(b" ")
            target, _, _ = rest.partition(b" ")
            self._send(self._respond(method, target.partition(b"?")[0]))
        elif len(self._head) > HEAD_LIMIT:
            self._send(encode(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, b"headers too long"))

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 — asyncio's signature
        """Report the end."""
        if self._timer is not None:
            self._timer.cancel()
        self._on_closed(self)

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _send(self, response: bytes) -> None:
        assert self._transport is not None
        self.responded, self.reads_long = True, len(response) > SHORT
        self._head.clear()
        self._transport.write(response)
        self._transport.close()
        self._set_timer(RESPONSE_TIMEOUT)

    def _set_timer(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)


def encode(status: HTTPStatus, body: bytes, kind: str = TEXT, *, head_only: bool = False) -> bytes:
    """Return an encoded response, after which the server closes the connection."""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if head_only else body)
