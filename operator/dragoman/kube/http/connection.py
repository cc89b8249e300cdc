"""One connection that questions are asked on, one after the other."""

import math
import ssl
from collections.abc import Callable

from dragoman.kube.http.faults import ConnectionLostError, WireError
from dragoman.kube.http.response import Reading
from dragoman.kube.http.stream import BACKLOG_LIMIT, Lines
from dragoman.kube.http.transport import Channel

REST = 0.005
"""Seconds between looks at a stream that speaks all the time: a look costs more than a line."""
LONG_REST = 0.04
"""The same where what came last was wanted by nobody."""
MUCH = 1 << 16
"""Bytes since the last rest after which the next one is short: Linux keeps little more for a reader
that is slow, and a server that must wait for its watchers ends their watches."""


class Connection(Channel):
    """HTTP/1.1 over a channel.

    Args:
        tls: Trust and identity; None to speak in the clear.
        host: Whom the server's certificate must name.
        gone: Called when it has ended.

    Attributes:
        due: When it has waited for too long, by the loop's clock.
        busy: Whether a stream speaks all the time.
    """

    def __init__(
        self, tls: ssl.SSLContext | None, host: str, gone: Callable[["Connection"], None]
    ) -> None:
        super().__init__(tls, host)
        self._gone = gone
        self._reading: Reading | None = None
        self._lines: Lines | None = None
        self._silence = 0.0
        self._heard = -math.inf
        self._since_rest = 0
        self._full = self.busy = False
        self.due = math.inf

    def ask(self, request: bytes, reading: Reading, *, within: float) -> None:
        """Send a request whose answer goes to `reading`, complete within so many seconds."""
        self._reading = reading
        self.due = self._loop.time() + within
        self.write(request)

    def listen(self, request: bytes, lines: Lines, *, silence: float) -> None:
        """Send a request whose answer is a stream, silent for so many seconds at most."""
        self._lines, self._silence = lines, silence
        self.ask(request, lines, within=silence)

    def emptied(self) -> None:
        """Read on, after lines were taken."""
        if self._full:
            self._full = False
            self.resume()

    def idle(self, *, within: float) -> None:
        """Wait for another question for so many seconds at most."""
        self._reading = None
        self.due = self._loop.time() + within

    def expire(self) -> None:
        """Give up what has not come in time: an answer, a question, or the end of a farewell."""
        if self._reading is None and not self.closed:
            self.close()
            return
        if self._reading is not None:
            self._reading.failed(WireError("no answer in time"))
        self.abort()

    def received(self, data: bytes) -> None:
        """Take some of an answer."""
        if self._reading is None:
            self.abort()  # nobody has asked: what came with it could be taken for an answer
            return
        try:
            self._reading.feed(data)
        except WireError as error:
            self._reading.failed(error)
            self.abort()
            return
        if self._lines is not None:
            self._since_rest += len(data)
            self._pace(self._lines)

    def ended(self) -> None:
        """Take the end of an answer that has no other."""
        if self._reading is not None:
            self._reading.end()

    def lost(self, error: Exception) -> None:
        """Tell who waits, and who keeps connections."""
        if self._reading is not None and not self._reading.over:
            kind = WireError if self._reading.begun else ConnectionLostError
            self._reading.failed(kind(str(error) or type(error).__name__))
        self._gone(self)

    def _pace(self, lines: Lines) -> None:
        now = self._loop.time()
        rest = LONG_REST if lines.dropped and self._since_rest < MUCH else REST
        self.busy = now - self._heard < 2 * rest
        if lines.backlog > BACKLOG_LIMIT:
            self._full = True
            self.pause()
        elif self.busy and not self.behind:
            self.rest(rest)
            self._since_rest = 0
        self._heard = now
        if lines.heard:
            self.due = now + self._silence
