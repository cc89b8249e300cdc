"""One HTTP/1.1 connection: it carries one request at a time."""

import math
import ssl
from collections.abc import Callable

from dragoman.kube.http.pacing import ReadProgress
from dragoman.kube.http.request import Request
from dragoman.kube.http.response import (
    ConnectionLostError,
    HttpError,
    ResponseParser,
    ResponseState,
)
from dragoman.kube.http.stream import BACKLOG_LIMIT, LineStream
from dragoman.kube.http.transport import Transport
from dragoman.kube.http.tunnel import Negotiation


class Connection(Transport):
    """HTTP/1.1 over a transport.

    Args:
        tls: Trust and client certificate; None for plain HTTP.
        host: Name or address that the server's certificate must have.
        on_closed: Called when the connection has ended.
        tunnel: What is said to a proxy before the server is reached; None without one.

    Attributes:
        deadline: When `expire` is due, by the loop's clock.
    """

    def __init__(
        self,
        tls: ssl.SSLContext | None,
        host: str,
        on_closed: Callable[["Connection"], None],
        tunnel: Negotiation | None = None,
    ) -> None:
        super().__init__(tls, host, tunnel)
        self._on_closed = on_closed
        self._response: ResponseParser | None = None
        self._stream: LineStream | None = None
        self._silence = 0.0
        self._full = False  # not read before the consumer has taken lines
        self.deadline = math.inf

    def send(self, request: Request, response: ResponseParser, *, timeout: float) -> None:
        """Send a request; its response must be complete within so many seconds.

        Raises:
            ConnectionLostError: The connection has ended already.
        """
        if self.closing:
            raise ConnectionLostError("the server closed the connection")
        self._response = response
        self.deadline = self._loop.time() + timeout
        self.write(request.encode())

    def open_stream(self, request: Request, stream: LineStream, *, silence: float) -> None:
        """Send a request for a stream of lines, of which one must end every so many seconds."""
        self._stream, self._silence = stream, silence
        self.send(request, stream, timeout=silence)

    def take_lines(self) -> list[bytes]:
        """Return the lines of the stream that have arrived; read on if they were too many."""
        assert self._stream is not None
        lines = self._stream.take()
        if self._full:
            self._resume()
        return lines

    def keep(self, *, timeout: float) -> None:
        """Wait for the next request for so many seconds."""
        self._response = None
        self.deadline = self._loop.time() + timeout

    def expire(self) -> None:
        """End the connection whose deadline has passed.

        It waits for a response, which fails; for a request, so it is closed; or, closing, for a
        server that does not read the last bytes.
        """
        if self._response is None and not self.closing:
            self.close()
            return
        if self._response is not None:
            self._response.fail(HttpError("the server did not respond in time"))
        self.abort()

    def on_data(self, data: bytes) -> None:
        """Parse a piece of a response."""
        if self._response is None:
            self.abort()  # unsolicited bytes could be taken for the response to the next request
            return
        try:
            self._response.feed(data)
        except HttpError as error:
            self._response.fail(error)
            self.abort()
            return
        if self._stream is not None:
            self._pace(self._stream, len(data))

    def on_end(self) -> None:
        """Complete a response that ends with its connection."""
        if self._response is not None:
            self._response.end()

    def on_lost(self, error: Exception) -> None:
        """Fail an incomplete response."""
        response = self._response
        if response is not None and not response.complete:
            expected = response.state is ResponseState.EXPECTED
            kind = ConnectionLostError if expected else HttpError
            response.fail(kind(str(error) or type(error).__name__))
        self._on_closed(self)

    def _pace(self, stream: LineStream, count: int) -> None:
        now = self._loop.time()
        if stream.progress is not ReadProgress.PARTIAL:
            self.deadline = now + self._silence
        pause = stream.pacing.pause_after(now, count, stream.progress)
        self._full = stream.backlog > BACKLOG_LIMIT
        if self._full or pause:
            self.pause_reading()
        if pause and not self._full:
            self._loop.call_later(pause, self._resume)

    def _resume(self) -> None:
        self._full = False
        self.resume_reading()
