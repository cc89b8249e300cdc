"""Requests and responses as values, and who turns the ones into the others."""

from __future__ import annotations

from asyncio import Future
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dragoman_webhooks.http.connection import Connection

JSON = "application/json"
_REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass(slots=True)
class Request:
    """A request; while it comes in, only part of this is known.

    Attributes:
        method: Such as `POST`.
        path: Of the URL, without a query.
        content_type: The media type in lower case, without parameters; empty without one.
        body: All of it, once the request is complete.
    """

    method: str = ""
    path: str = ""
    content_type: str = ""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """What to answer.

    Attributes:
        status: HTTP status.
        body: Its bytes.
        content_type: Their media type.
        again: Ask to come again in a second, which the API server does until its own timeout.
    """

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    again: bool = False

    @classmethod
    def plain(cls, status: int, text: str) -> Response:
        """Answer with a sentence."""
        return cls(status, text.encode("utf-8", "replace"))

    @classmethod
    def later(cls, text: str) -> Response:
        """Answer with a sentence that this cannot be done now."""
        return cls(503, text.encode("utf-8", "replace"), again=True)

    def written(self, *, last: bool, bare: bool) -> bytes:
        """Write it out.

        Args:
            last: The connection is closed behind it.
            bare: Without the body, as an answer to HEAD must be.
        """
        head = (
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\n"
            f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
        )
        if self.again:
            head += "Retry-After: 1\r\n"
        head += "Connection: close\r\n\r\n" if last else "\r\n"
        return head.encode("ascii") + (b"" if bare else self.body)


class Service(Protocol):
    """Who answers the requests of all connections.

    Attributes:
        body_limit: Bytes of a body.
        reading: Seconds for a client to send one request.
    """

    body_limit: int
    reading: float

    def opened(self, connection: Connection) -> None:
        """Take note of a connection; where it is one too many, one of them is closed."""

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""

    def admit(self, request: Request) -> Response | None:
        """Look at a request before its body; say why it is not served, or None."""

    def answer(self, request: Request) -> Response | Future[Response]:
        """Answer a request; never raises, nor does what it returns. Cancelled, it is forgotten."""

    def hold(self, connection: Connection, size: int) -> bool:
        """Take note of so many more bytes of bodies; False where they are too many.

        They count until the request is answered or dropped.
        """

    def dropped(self, size: int) -> None:
        """Take note that a request with so many bytes in its body will not be answered."""

    def refused(self, response: Response) -> Response:
        """Take note of what is answered to something that was not served."""
