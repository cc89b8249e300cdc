"""HTTP/1.1 answers while they come in: hostile ones end in an error, never in a full memory."""

from abc import ABC, abstractmethod

import httptools

from dragoman.kube.http.faults import WireError

HEAD_LIMIT = 1 << 16
"""Bytes of anything but content that a server may send in a row: headers, trailers, sizes."""


class Reading(ABC):
    """One answer while it comes in, taken apart by llhttp, the parser of Node.js.

    Attributes:
        status: HTTP status; 0 before the head is complete.
        retry_after: The header of this name, as it was; None without one.
        begun: Whether any byte of the answer has come.
        over: Whether it is complete.
        reusable: Whether its connection can be used again.
    """

    def __init__(self) -> None:
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self.status = 0
        self.retry_after: str | None = None
        self.begun = self.over = self.reusable = False
        self._framed = self._surplus = False
        self._overhead = 0

    @abstractmethod
    def took(self, content: bytes) -> None:
        """Take some of the answer's content."""

    @abstractmethod
    def completed(self) -> None:
        """Take the end of the answer."""

    @abstractmethod
    def failed(self, error: Exception) -> None:
        """Take in that no more will come, for this reason."""

    def feed(self, data: bytes) -> None:
        """Take in what has come; raise WireError where it is no HTTP/1.1, or too much."""
        if self._parser is None:
            raise WireError("more than one answer")
        self.begun = True
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            raise WireError(str(error.__context__ or error)) from error
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise WireError(f"not HTTP/1.1: {error}") from error
        if self._overhead > HEAD_LIMIT:
            raise WireError(f"more than {HEAD_LIMIT} bytes of headers")
        if self._surplus:
            raise WireError("more than one answer")

    def end(self) -> None:
        """Take in that the server has ended the connection: some mark an answer's end so."""
        if self.status and not self._framed and not self.over:
            self._complete()

    # For the parser --------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Notice a second answer to one question; what one announces has headers of its own."""
        self._surplus = self.over
        self._framed, self.retry_after = False, None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep what matters."""
        match name.lower():
            case b"retry-after":
                self.retry_after = value.decode("latin-1")
            case b"content-length" | b"transfer-encoding":
                self._framed = True

    def on_headers_complete(self) -> None:
        """Keep the status, unless it is one that announces another (1xx)."""
        assert self._parser is not None
        status = self._parser.get_status_code()
        self.status = status if status >= 200 else 0

    def on_body(self, content: bytes) -> None:
        """Take content."""
        self._overhead = 0
        self.took(content)

    def on_message_complete(self) -> None:
        """Take the end of an answer, or of one that announces another."""
        if self.status and self._parser is not None:
            self.reusable = bool(self._parser.should_keep_alive())
            self._complete()

    def _complete(self) -> None:
        self.over = True
        # It refers back to this: nothing would be freed before the next garbage collection.
        self._parser = None
        self.completed()
