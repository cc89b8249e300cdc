"""One connection: requests in, responses out, in order, with timeouts.

`http.requests` parses; this module owns the transport, the order of responses, and the end of the
connection. Every client that is refused gets a response with the reason.
"""

from __future__ import annotations

import asyncio
from enum import IntEnum
from functools import partial
from typing import Protocol, cast

from dragoman_webhooks.http.bodies import Body, BodyBudget
from dragoman_webhooks.http.messages import Response, Service
from dragoman_webhooks.http.requests import Incoming, RequestParser

KEEP_ALIVE = 120.0
"""Seconds that a connection stays open without a request, or while its client reads no response."""
DRAIN_IDLE = 1.0
"""Seconds that a recently used connection stays open without a request when the server stops."""


class State(IntEnum):
    """The life of a connection; it only moves forward."""

    OPEN = 0
    """Reads requests and answers them."""
    DRAINING = 1
    """The server stops: requests that have begun are answered, then the connection closes."""
    CLOSING = 2
    """The last responses are being sent; bytes that arrive are ignored."""
    CLOSED = 3
    """The transport is closed."""


class Observer(Protocol):
    """Is notified when connections open and close."""

    def opened(self, connection: Connection) -> None:
        """Add a connection; if there are too many, close one of them."""

    def closed(self, connection: Connection) -> None:
        """Remove a connection."""


class Connection(asyncio.Protocol):
    """One connection of a client.

    Reading pauses while a complete request waits for its turn, so a client that pipelines holds at
    most one read of the transport in memory.

    Args:
        service: Answers the requests.
        bodies: Accounts for the bytes of bodies.
        read_timeout: Seconds for a client to send one request.
        observer: Keeps the set of open connections.

    Attributes:
        peer: The address of the client.
    """

    _transport: asyncio.Transport

    def __init__(
        self, service: Service, bodies: BodyBudget, read_timeout: float, observer: Observer
    ) -> None:
        self.peer = ""
        self._service = service
        self._bodies = bodies
        self._read_timeout = read_timeout
        self._observer = observer
        self._loop = asyncio.get_running_loop()
        self._state = State.OPEN
        self._parser = RequestParser(service.route, self._open_body, self._send_continue)
        self._queue = self._parser.complete
        self._review: asyncio.Future[Response] | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._last_active = 0.0  # the loop's time when a request began, completed or was answered
        self._write_paused = False

    @property
    def busy(self) -> bool:
        """Whether a response is under way to a client that reads responses."""
        return bool(self._review or self._queue) and not self._write_paused

    def eviction_order(self) -> tuple[bool, float]:
        """Return a sort key: the connection with the least key is evicted first."""
        idle_since = 0.0 if self._state >= State.CLOSING else self._last_active
        return self._parser.current is not None, idle_since

    def drain(self) -> None:
        """Close once the requests that have begun are answered.

        A client that was served a moment ago may be sending the next request, which would be lost;
        its response then carries `Connection: close`.
        """
        self._state = max(self._state, State.DRAINING)
        if self._parser.current is not None or self._queue or self._review is not None:
            return
        rest = self._last_active + DRAIN_IDLE - self._loop.time()
        if rest > 0:
            self._loop.call_later(rest, self.drain)
        else:
            self._transport.close()

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        self._state = max(self._state, State.CLOSING)
        self._parser.drop_current()
        self._drop_queue()
        # close() sends a TLS close_notify if the socket takes it at once; abort() does not wait.
        self._transport.close()
        self._transport.abort()

    # Called by asyncio ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the idle timer."""
        self._transport = cast("asyncio.Transport", transport)
        address = transport.get_extra_info("peername")
        self.peer = str(address[0]) if address else ""
        self._last_active = self._loop.time()
        self._idle_timer = self._loop.call_later(KEEP_ALIVE, self._check_idle)
        self._observer.opened(self)

    def data_received(self, data: bytes) -> None:
        """Parse bytes and answer the requests that they complete."""
        if self._state >= State.CLOSING:
            return
        before, complete = self._parser.current, len(self._queue)
        self._parser.feed(data)
        if len(self._queue) > complete:
            self._stop_read_timer()
        if self._parser.current is not before or len(self._queue) > complete:
            self._last_active = self._loop.time()
        if self._parser.failure is not None:
            self._end_with(self._parser.failure)
        elif self._parser.current is not None and self._read_timer is None:
            self._read_timer = self._loop.call_later(self._read_timeout, self._read_timed_out)
        self._advance()

    def pause_writing(self) -> None:
        """Stop answering while the client reads no responses."""
        self._write_paused = True

    def resume_writing(self) -> None:
        """Answer again."""
        self._write_paused = False
        self._advance()

    def connection_lost(self, _error: Exception | None) -> None:
        """Cancel the review under way and release everything."""
        self._state = State.CLOSED
        self._stop_read_timer()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._review is not None:
            self._review.cancel()
        self._parser.close()
        self._observer.closed(self)

    # Called by the parser -------------------------------------------------------------------------

    def _open_body(self) -> Body:
        return self._bodies.open(self.abort)

    def _send_continue(self) -> None:
        # asyncio logs every write to a closed transport.
        if self._state < State.CLOSING and not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # Timing and ending ----------------------------------------------------------------------------

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _read_timed_out(self) -> None:
        self._read_timer = None
        if self._state < State.CLOSING:
            self._end_with(Response.plain(408, "the request did not arrive in time"))
            self._advance()

    def _check_idle(self) -> None:
        # A review under way has a deadline of its own; a client that reads nothing has only this.
        idle_at = self._last_active + KEEP_ALIVE
        rest = KEEP_ALIVE if self._review is not None else idle_at - self._loop.time()
        if rest > 0:
            self._idle_timer = self._loop.call_later(rest, self._check_idle)
        elif self._write_paused:
            self._transport.abort()
        else:
            self._transport.close()

    def _end_with(self, response: Response) -> None:
        """Answer the complete requests, then send this response and close."""
        self._stop_read_timer()
        self._parser.drop_current()
        self._state = State.CLOSING
        self._queue.append(Incoming(self._open_body(), refusal=response, last=True))

    def _drop_queue(self) -> None:
        while self._queue:
            self._queue.popleft().body.release()

    # Answering ------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Answer the next request if it can be answered now; then let other connections run."""
        if self._queue and self._review is None and not self._write_paused:
            self._answer(self._queue.popleft())
            if self._queue:
                self._loop.call_soon(self._advance)
        if self._transport.is_closing():
            return
        # With an empty queue it reads on, because only reading detects that the client has left.
        if self._queue:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _answer(self, incoming: Incoming) -> None:
        if incoming.refusal is not None:
            with incoming.body:
                self._send(incoming, self._service.refused(incoming.refusal))
            return
        incoming.request.peer = self.peer
        answer = self._service.respond(incoming.request)
        if isinstance(answer, Response):
            with incoming.body:
                self._send(incoming, answer)
        else:
            self._review = answer
            answer.add_done_callback(partial(self._answered, incoming))

    def _answered(self, incoming: Incoming, answer: asyncio.Future[Response]) -> None:
        self._review = None
        self._last_active = self._loop.time()
        with incoming.body:
            if answer.cancelled():
                return
            self._send(incoming, answer.result())
        self._advance()

    def _send(self, incoming: Incoming, response: Response) -> None:
        if self._transport.is_closing():
            return
        draining = self._state is State.DRAINING and self._parser.current is None
        ends = draining or self._state is State.CLOSING
        last = incoming.last or (ends and not self._queue)
        head_only = incoming.request.method == "HEAD"
        self._transport.write(response.serialized(last=last, head_only=head_only))
        if last:
            self._state = State.CLOSING
            self._parser.drop_current()
            self._drop_queue()
            self._transport.close()
