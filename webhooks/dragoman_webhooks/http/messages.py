"""Requests and responses as values, and the interface of the service that answers requests."""

from asyncio import Future
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, Self

JSON = "application/json"
_REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass(slots=True)
class Request:
    """An HTTP request; the parser fills the fields while the request arrives."""

    method: str = ""  # Such as `POST`
    path: str = ""  # Of the URL, without the query
    content_type: str = ""  # The media type in lower case, without parameters; empty if absent
    body: bytes = b""  # The whole body, once the request is complete
    peer: str = ""  # Address of the client


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response."""

    status: int  # HTTP status
    body: bytes  # The bytes of the body
    content_type: str = "text/plain; charset=utf-8"  # The media type of the body
    retry: bool = False  # Send `Retry-After: 1`; the API server then retries until its own timeout

    @classmethod
    def plain(cls, status: int, text: str) -> Self:
        """Return a response with one sentence."""
        return cls(status, text.encode("utf-8", "replace"))

    @classmethod
    def unavailable(cls, text: str) -> Self:
        """Return a 503 that the API server retries."""
        return cls(503, text.encode("utf-8", "replace"), retry=True)

    def serialized(self, *, last: bool, head_only: bool) -> bytes:
        """Return the bytes on the wire.

        Args:
            last: The server closes the connection after this response.
            head_only: Leave the body out, as a response to HEAD requires.
        """
        head = (
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\n"
            f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
        )
        if self.retry:
            head += "Retry-After: 1\r\n"
        head += "Connection: close\r\n\r\n" if last else "\r\n"
        return head.encode("ascii") + (b"" if head_only else self.body)


class Service(Protocol):
    """The interface between the connections and the server that answers their requests."""

    def route(self, request: Request) -> Response | None:
        """Check a request before its body is read; return the refusal, or None to accept it."""

    def respond(self, request: Request) -> Response | Future[Response]:
        """Answer an accepted request.

        Neither this method nor the future raises. The connection cancels the future when the
        client leaves.
        """

    def refused(self, response: Response) -> Response:
        """Count an error response and return it."""
