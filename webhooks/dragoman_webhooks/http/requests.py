"""Bytes of one connection become requests.

llhttp (the `httptools` package) parses the protocol; this module adds the limits that llhttp leaves
to its caller.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import httptools

from dragoman_webhooks.http.bodies import Body
from dragoman_webhooks.http.messages import Request, Response

HEAD_LIMIT = 32 * 1024
"""Bytes of a request beside its body: URL, headers, chunk framing and trailers. Approximate, since
only bytes that arrive after the first piece of a request are counted exactly."""
PIPELINE_LIMIT = 1024
"""Requests that a client may send ahead of their responses; an API server sends none."""
BODY_LIMIT = 8 * 1024 * 1024
"""Bytes of a body: an UPDATE carries the object twice, and etcd takes 1.5 MiB for each."""


@dataclass(slots=True)
class Incoming:
    """A request, from its first byte to its response."""

    body: Body  # Holds the bytes of the body; empty for a refused request
    request: Request = field(default_factory=Request)  # The request
    # The response instead of the service's; None for an accepted request
    refusal: Response | None = None
    last: bool = False  # The client wants the connection closed after the response
    size: int = 0  # Bytes of the body so far, whether they are kept or not
    overhead: int = 0  # Bytes beside the body
    expects_continue: bool = False  # The client waits for `100 Continue` before it sends the body


class RequestParser:
    """Parses the requests of one connection.

    Args:
        route: Refuses a request by its headers, or returns None.
        open_body: Returns an empty body.
        send_continue: Sends `100 Continue`.

    Attributes:
        complete: Complete requests in their order; the connection takes them away.
        current: The request that is not complete yet.
        failure: The response to a request that could not be parsed; nothing is parsed after it.
    """

    def __init__(
        self,
        route: Callable[[Request], Response | None],
        open_body: Callable[[], Body],
        send_continue: Callable[[], None],
    ) -> None:
        self.complete: deque[Incoming] = deque()
        self.current: Incoming | None = None
        self.failure: Response | None = None
        self._route = route
        self._open_body = open_body
        self._send_continue = send_continue
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        """Parse bytes; the results are in the attributes."""
        before = self.current
        size_before = before.size if before else 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self.failure is None:
                # llhttp has completed the request that asks for the upgrade.
                self.complete.pop().body.release()
            self.fail(Response.plain(400, "expected HTTP/1.1 without upgrades"))
        except httptools.HttpParserError as error:
            self.fail(Response.plain(400, f"expected HTTP/1.1: {error}"))
        current = self.current
        if current is None:
            return
        if current is before:
            # Chunk framing and trailers have no callback of their own until they are complete.
            current.overhead += len(data) - (current.size - size_before)
        if current.overhead > HEAD_LIMIT:
            self._fail(431, f"expected at most {HEAD_LIMIT} bytes besides the body")

    def fail(self, response: Response) -> None:
        """Drop the current request and stop parsing."""
        self.drop_current()
        if self.failure is None:
            self.failure = response

    def drop_current(self) -> None:
        """Drop the request that is not complete, and release its body."""
        if self.current is not None:
            self.current.body.release()
            self.current = None

    def close(self) -> None:
        """Drop all requests and break the reference cycles with llhttp's parser and the connection.

        They would keep the TLS buffers of the connection until the next garbage collection.
        """
        self.drop_current()
        while self.complete:
            self.complete.popleft().body.release()
        del self._parser, self._route, self._open_body, self._send_continue

    def _fail(self, status: int, text: str) -> None:
        self.fail(Response.plain(status, text))

    # Called by llhttp -----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        if self.failure is None:
            self.current = Incoming(self._open_body())

    def on_url(self, url: bytes) -> None:
        """Add a part of the URL."""
        if self.current is not None:
            self.current.request.path += url.decode("latin-1")
            self.current.overhead += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header."""
        current = self.current
        if current is None:
            return
        current.overhead += len(name) + len(value) + 4  # colon, blank and line break
        if name.lower() == b"content-type":
            media, _, _ = value.decode("latin-1").partition(";")
            current.request.content_type = media.strip().lower()
        elif name.lower() == b"expect" and value.lower() == b"100-continue":
            current.expects_continue = True

    def on_headers_complete(self) -> None:
        """Let the service accept or refuse the request before its body arrives."""
        current = self.current
        if current is None:
            return
        current.request.method = self._parser.get_method().decode("latin-1")
        current.request.path, _, _ = current.request.path.partition("?")
        current.refusal = self._route(current.request)
        if not current.expects_continue:
            return
        if current.refusal is None:
            # Once per request, however many Expect headers it has.
            self._send_continue()
        else:
            # The client may withhold the body, so the connection cannot be used further.
            self.fail(current.refusal)

    def on_body(self, piece: bytes) -> None:
        """Add a part of the body."""
        current = self.current
        if current is None:
            return
        current.size += len(piece)
        if current.size > BODY_LIMIT:
            self._fail(413, f"expected a body of at most {BODY_LIMIT} bytes")
        elif current.refusal is None and not current.body.add(piece):
            self.fail(Response.unavailable("too many bytes of requests at the same time"))

    def on_message_complete(self) -> None:
        """Move the request to the complete ones."""
        current, self.current = self.current, None
        if current is None:
            return
        current.request.body = current.body.complete()
        current.last = not self._parser.should_keep_alive()
        self.complete.append(current)
        if len(self.complete) > PIPELINE_LIMIT:
            self._fail(400, f"expected at most {PIPELINE_LIMIT} requests ahead of their responses")
