"""Responses of the API server: parsed as they arrive, bounded in size, and how they fail."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum

import httptools

HEAD_LIMIT = 1 << 16
"""Bytes that a server may send between two pieces of a body: headers, trailers, chunk sizes."""
BODY_LIMIT = 1 << 28
"""Bytes of one body; a page of 500 objects has a few million."""


class HttpError(Exception):
    """A request got no complete response; the server may have processed it nevertheless."""


class ConnectError(HttpError):
    """The connection failed before the request was sent; the cause is chained."""


class ConnectionLostError(HttpError):
    """The connection ended after the request, before the first byte of its response."""


@dataclass(frozen=True, slots=True)
class Response:
    """A complete response."""

    status: int  # HTTP status
    retry_after: str | None  # Value of the header Retry-After as it was sent; None without one
    body: bytes  # The body, without its transfer encoding


class StatusError(HttpError):
    """The server answered a request for a stream with another status than 200."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"HTTP status {response.status}")
        self.response = response  # The complete response


class ResponseState(Enum):
    """How much of a response has arrived."""

    EXPECTED = "no byte"
    STARTED = "some bytes"
    COMPLETE = "all of it"
    EXCEEDED = "all of it, and the start of another response"


class ResponseParser(ABC):
    """One response while it arrives; llhttp, the parser of Node.js, splits it.

    Subclasses override `on_content`, `on_complete` and `fail`.
    """

    def __init__(self) -> None:
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self.state = ResponseState.EXPECTED  # How much has arrived
        self.status = 0  # HTTP status; 0 before the head is complete
        self.retry_after: str | None = None  # Value of the header Retry-After; None without one
        self.keep_alive = False  # Whether the connection can carry another request
        self._framed = False
        self._overhead = 0

    @property
    def complete(self) -> bool:
        """Whether the response has arrived to its end."""
        return self.state in {ResponseState.COMPLETE, ResponseState.EXCEEDED}

    @abstractmethod
    def on_content(self, content: bytes) -> None:
        """Take a piece of the body."""

    @abstractmethod
    def on_complete(self) -> None:
        """Take the end of the body."""

    @abstractmethod
    def fail(self, error: HttpError) -> None:
        """Pass the error on to the consumer; the rest of the response will not arrive."""

    def feed(self, data: bytes) -> None:
        """Parse bytes as they arrive.

        Raises:
            HttpError: They are invalid HTTP/1.1, exceed a limit, or follow a complete response.
        """
        if self._parser is None:
            raise HttpError("the server sent more than one response")
        if self.state is ResponseState.EXPECTED:
            self.state = ResponseState.STARTED
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            raise HttpError(str(error.__context__ or error)) from error
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise HttpError(f"invalid HTTP/1.1 response: {error}") from error
        if self._overhead > HEAD_LIMIT:
            raise HttpError(f"the response has more than {HEAD_LIMIT} bytes of headers")
        if self.state is ResponseState.EXCEEDED:
            raise HttpError("the server sent more than one response")

    def end(self) -> None:
        """Take the end of the connection: it completes a body sent without a length."""
        if self.status and not self._framed and not self.complete:
            self._complete()

    # Callbacks of the parser -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Notice a second response; an interim one (1xx) has headers of its own, to be dropped."""
        if self.state is ResponseState.COMPLETE:
            self.state = ResponseState.EXCEEDED
        self._framed, self.retry_after = False, None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that this client uses."""
        match name.lower():
            case b"retry-after":
                self.retry_after = value.decode("latin-1")
            case b"content-length" | b"transfer-encoding":
                self._framed = True

    def on_headers_complete(self) -> None:
        """Keep the status of the final response, not of an interim one (1xx)."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        self.status = status if status >= 200 else 0

    def on_body(self, content: bytes) -> None:
        """Pass a piece of the body on."""
        self._overhead = 0
        self.on_content(content)

    def on_message_complete(self) -> None:
        """Complete the final response."""
        if self.status and self._parser is not None:
            self.keep_alive = bool(self._parser.should_keep_alive())
            self._complete()

    def _complete(self) -> None:
        self.state = ResponseState.COMPLETE
        # The parser refers back to this object: the cycle would keep both until a collection.
        self._parser = None
        self.on_complete()


class BufferedResponse(ResponseParser):
    """Collects a whole response."""

    def __init__(self) -> None:
        super().__init__()
        # The response, or the error that ended it
        self.future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        # A list of pieces would take more memory than the pieces where a server sends bytes singly.
        self._body = bytearray()

    def on_content(self, content: bytes) -> None:
        """Append a piece of the body; raise HttpError beyond BODY_LIMIT."""
        self._body += content
        if len(self._body) > BODY_LIMIT:
            raise HttpError(f"the response has more than {BODY_LIMIT} bytes")

    def on_complete(self) -> None:
        """Resolve the future."""
        if not self.future.done():
            response = Response(self.status, self.retry_after, bytes(self._body))
            self.future.set_result(response)

    def fail(self, error: HttpError) -> None:
        """Fail the future."""
        if not self.future.done():
            self.future.set_exception(error)
