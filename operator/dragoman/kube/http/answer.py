"""Whole answers."""

import asyncio
from dataclasses import dataclass

from dragoman.kube.http.faults import WireError
from dragoman.kube.http.response import Reading

CONTENT_LIMIT = 1 << 28
"""Bytes of one answer; a page of 500 objects has a few millions."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said.

    Attributes:
        status: HTTP status.
        retry_after: The header of this name, as it was; None without one.
        content: The body.
    """

    status: int
    retry_after: str | None
    content: bytes


class WholeAnswer(Reading):
    """Waits until an answer is complete.

    Attributes:
        answer: Done when it is; fails with what broke it off.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._content = bytearray()  # a list of pieces would cost more than they hold

    def took(self, content: bytes) -> None:
        """Keep content; raise WireError when it is too much."""
        self._content += content
        if len(self._content) > CONTENT_LIMIT:
            raise WireError(f"an answer of more than {CONTENT_LIMIT} bytes")

    def completed(self) -> None:
        """Hand the answer over."""
        if not self.answer.done():
            self.answer.set_result(Answer(self.status, self.retry_after, bytes(self._content)))

    def failed(self, error: Exception) -> None:
        """Hand the reason over."""
        if not self.answer.done():
            self.answer.set_exception(error)
