"""HTTP/1.1 on one connection: bytes become requests, responses become bytes.

llhttp (the `httptools` package) reads the protocol; here stands what it leaves open: limits,
time-outs, the order of answers, and that a client is told why it is not served.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import httptools

from dragoman_webhooks.http.messages import Request, Response, Service

HEAD_LIMIT = 32 * 1024
"""Bytes of a request beside its body, roughly: in one piece there may be more.

URL and headers, and what is written between and behind the chunks of a body.
"""
AHEAD = 1024
"""Requests that a client may send before their answers; an API server sends none."""
KEEP_ALIVE = 120.0
"""Seconds that a connection stays open without a request, or without its answers read."""
LINGER = 1.0
"""Seconds that a connection stays open without a request when the server stops."""


@dataclass(slots=True)
class _Turn:
    """A request on its way in, or in the queue for its answer."""

    request: Request = field(default_factory=Request)
    refusal: Response | None = None
    admitted: bool = False
    last: bool = False
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0  # of the body
    beside: int = 0  # of all that is not the body


class Connection(asyncio.Protocol):
    """One connection of a client.

    Requests are answered one after the other in their order; while one waits for its turn, nothing
    more is read.
    """

    _transport: asyncio.Transport

    def __init__(self, service: Service) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._turn: _Turn | None = None
        self._queue: deque[_Turn] = deque()
        self._task: asyncio.Future[Response] | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._active = 0.0  # when a request last began, came in or was answered; the loop's clock
        self._full = False  # the transport takes no more answers for now
        self._paused = False
        self._leaving = False  # nothing new is begun
        self._ending = False  # nothing that comes counts any more

    def finish(self) -> None:
        """Close as soon as the requests that have begun are answered.

        A client that was served a moment ago may be about to send the next request, which would be
        lost: it is told to go with the answer.
        """
        self._leaving = True
        if self._turn is not None or self._queue or self._task is not None:
            return
        rest = self._active + LINGER - self._loop.time()
        if rest > 0:
            self._loop.call_later(rest, self.finish)
        else:
            self._transport.close()

    def abort(self) -> None:
        """Close at once, whatever goes on."""
        self._ending = True
        self._drop_all()
        self._transport.close()  # tells the client, where that takes no time
        self._transport.abort()

    @property
    def busy(self) -> bool:
        """Tell whether an answer is under way to a client that reads answers."""
        return bool(self._task or self._queue) and not self._full

    @property
    def held(self) -> int:
        """Count the bytes of a body that is not complete."""
        return self._turn.size if self._turn is not None else 0

    def missed(self) -> tuple[bool, float]:
        """Say how much it would be missed, for comparing: least where nothing goes on for long."""
        return self._turn is not None, 0.0 if self._ending else self._active

    # Called by asyncio ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._active = self._loop.time()
        self._idle = self._loop.call_later(KEEP_ALIVE, self._look_whether_idle)
        self._service.opened(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes in, and answer what is complete."""
        if self._ending:
            return
        before = self._turn
        known = before.size if before is not None else 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._drop_all()  # among them the request that asks for it, complete as it is
            self._fail(400, "expected HTTP/1.1 without upgrades")
        except httptools.HttpParserError as error:
            self._fail(400, f"expected HTTP/1.1: {error}")
        if self._turn is not None:
            # What came in front of a new request is none of its bytes.
            grown = self._turn.size - known
            self._await_rest(self._turn, len(data) - grown if self._turn is before else 0)
        self._advance()

    def pause_writing(self) -> None:
        """Stop answering: the client does not read."""
        self._full = True

    def resume_writing(self) -> None:
        """Go on answering."""
        self._full = False
        self._advance()

    def connection_lost(self, _error: Exception | None) -> None:
        """End."""
        self._ending = True
        self._arrived()
        if self._idle is not None:
            self._idle.cancel()
        if self._task is not None:
            self._task.cancel()
        self._drop_all()
        self._service.closed(self)
        # It refers to this object, and this to TLS buffers of 256 KiB, which are free only so.
        del self._parser

    # Called by the parser -------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        if not self._ending:
            self._turn = _Turn()
            self._active = self._loop.time()

    def on_url(self, url: bytes) -> None:
        """Take a part of the URL."""
        if self._turn is not None:
            self._turn.request.path += url.decode("latin-1")
            self._turn.beside += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        if self._turn is None:
            return
        self._turn.beside += len(name) + len(value) + 4  # colon, blank and line break
        if name.lower() == b"content-type":
            media, _, _ = value.decode("latin-1").partition(";")
            self._turn.request.content_type = media.strip().lower()
        elif name.lower() == b"expect" and value.lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_headers_complete(self) -> None:
        """Let the service look at the request."""
        turn = self._turn
        if turn is None:
            return
        turn.request.method = self._parser.get_method().decode("latin-1")
        turn.request.path, _, _ = turn.request.path.partition("?")
        turn.refusal = self._service.admit(turn.request)
        turn.admitted = turn.refusal is None

    def on_body(self, piece: bytes) -> None:
        """Take a part of the body."""
        if self._turn is None:
            return
        if self._turn.size + len(piece) > self._service.body_limit:
            self._fail(413, f"expected a body of at most {self._service.body_limit} bytes")
        elif self._turn.admitted and not self._service.hold(self, len(piece)):
            self._end_with(Response.later("too many bytes at the same time"))
        else:
            self._turn.size += len(piece)
            if self._turn.admitted:
                self._turn.pieces.append(piece)

    def on_message_complete(self) -> None:
        """Put the request into the queue."""
        turn, self._turn = self._turn, None
        if turn is None:
            return
        turn.request.body = b"".join(turn.pieces)
        turn.pieces.clear()
        turn.last = not self._parser.should_keep_alive()
        self._queue.append(turn)
        self._arrived()
        self._active = self._loop.time()
        if len(self._queue) > AHEAD:
            self._fail(400, f"expected at most {AHEAD} requests ahead of their answers")

    # Timing and ending ----------------------------------------------------------------------------

    def _await_rest(self, turn: _Turn, came: int) -> None:
        """Bound the time and the size of a request that is not complete yet."""
        turn.beside += came
        if turn.beside > HEAD_LIMIT:
            self._fail(431, f"expected at most {HEAD_LIMIT} bytes beside the body")
            return
        if self._reading is None:
            self._reading = self._loop.call_later(self._service.reading, self._late)

    def _arrived(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _late(self) -> None:
        self._reading = None
        if not self._ending:
            self._fail(408, "the request did not arrive in time")
            self._advance()

    def _look_whether_idle(self) -> None:
        # A review under way has a deadline of its own; whoever does not read has none but this.
        busy = self._task is not None
        rest = KEEP_ALIVE if busy else self._active + KEEP_ALIVE - self._loop.time()
        if rest > 0:
            self._idle = self._loop.call_later(rest, self._look_whether_idle)
        elif self._full:
            self._transport.abort()
        else:
            self._transport.close()

    def _fail(self, status: int, text: str) -> None:
        self._end_with(Response.plain(status, text))

    def _end_with(self, response: Response) -> None:
        """Answer what is complete, then this, and close."""
        self._drop(self._turn)
        self._turn = None
        self._ending = True
        self._queue.append(_Turn(refusal=response, last=True))

    def _drop_all(self) -> None:
        for turn in (*self._queue, self._turn):
            self._drop(turn)
        self._queue.clear()
        self._turn = None

    def _drop(self, turn: _Turn | None) -> None:
        if turn is not None and turn.admitted:
            self._service.dropped(turn.size)

    # Answering ------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Answer the next request, if it can be answered now; then it is others' turn."""
        if self._queue and self._task is None and not self._full:
            turn = self._queue.popleft()
            if turn.refusal is not None:
                self._send(turn, self._service.refused(turn.refusal))
            elif isinstance(answer := self._service.answer(turn.request), Response):
                self._send(turn, answer)
            else:
                self._task = answer
                answer.add_done_callback(partial(self._answered, turn))
            if self._queue:
                self._loop.call_soon(self._advance)
        # Until then it is read on, or nobody would notice that the client has left.
        waits = bool(self._queue)
        if waits != self._paused and not self._transport.is_closing():
            self._paused = waits
            (self._transport.pause_reading if waits else self._transport.resume_reading)()

    def _answered(self, turn: _Turn, answer: asyncio.Future[Response]) -> None:
        self._task = None
        self._active = self._loop.time()
        if not answer.cancelled():
            self._send(turn, answer.result())
            self._advance()

    def _send(self, turn: _Turn, response: Response) -> None:
        if self._transport.is_closing():
            return
        leaving = self._ending or (self._leaving and self._turn is None)
        last = turn.last or (leaving and not self._queue)
        bare = turn.request.method == "HEAD"
        self._transport.write(response.written(last=last, bare=bare))
        if last:
            self._ending = True
            self._drop_all()
            self._transport.close()
