"""Watches: responses that are streams of lines."""

import asyncio
from collections.abc import Callable

from dragoman.kube.http.pacing import ReadPacing, ReadProgress
from dragoman.kube.http.response import HttpError, Response, ResponseParser

LINE_LIMIT = 1 << 24
"""Bytes of one line; an object has at most 1.5 MiB in etcd's encoding."""
BACKLOG_LIMIT = 1 << 22
"""Bytes of lines that wait for the consumer, above which the connection is not read."""
REFUSAL_LIMIT = 1 << 20
"""Bytes of a response with another status than 200."""

Predicate = Callable[[bytes], bool]


class LineStream(ResponseParser):
    """Splits a response into lines, and drops those that a predicate filters out.

    Args:
        predicate: Called with each line as it arrives; False drops the line.

    Attributes:
        backlog: Bytes of lines that wait for the consumer.
        progress: What the last read completed.
        pacing: How often the connection is read.
    """

    def __init__(self, predicate: Predicate) -> None:
        super().__init__()
        self._predicate = predicate
        self._lines: list[bytes] = []
        # A list of pieces would take more memory than the pieces where a server sends bytes singly.
        self._partial = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._error: HttpError | None = None
        self.backlog = 0
        self.progress = ReadProgress.PARTIAL
        self.pacing = ReadPacing()

    async def refusal(self) -> Response | None:
        """Wait for the head; return the whole response where its status is not 200."""
        while not self.status or (self.status != 200 and not self.complete):
            await self._wait()
        if self.status == 200:
            return None
        return Response(self.status, self.retry_after, bytes(self._partial))

    async def wait_for_lines(self) -> bool:
        """Wait for lines; return False when the server has ended the stream.

        Raises:
            HttpError: The stream broke off; lines before it were delivered, an unfinished one is
                dropped.
        """
        while not self._lines and not self.complete:
            await self._wait()
        return bool(self._lines)

    def take(self) -> list[bytes]:
        """Return the lines that have arrived, and forget them."""
        lines, self._lines, self.backlog = self._lines, [], 0
        return lines

    def feed(self, data: bytes) -> None:
        """Parse bytes as they arrive, and wake the consumer where they bring it anything."""
        status = self.status
        self.progress = ReadProgress.PARTIAL
        super().feed(data)
        if self.status != status:
            self.progress = ReadProgress.KEPT
        # The consumer sleeps through lines that were filtered out: to wake it costs more than they.
        if self.status != 200 or self.progress is ReadProgress.KEPT:
            self._wake()

    def on_content(self, content: bytes) -> None:
        """Split a piece of the body into lines; raise HttpError when one is too long."""
        *lines, rest = content.split(b"\n") if self.status == 200 else [content]
        if lines:
            if self.progress is ReadProgress.PARTIAL:
                self.progress = ReadProgress.FILTERED
            lines[0] = bytes(self._partial) + lines[0]
            self._partial.clear()
        self._partial += rest
        limit = LINE_LIMIT if self.status == 200 else REFUSAL_LIMIT
        if len(self._partial) > limit:
            raise HttpError(f"a line of the response has more than {limit} bytes")
        for line in lines:
            if self._predicate(line):
                self.progress = ReadProgress.KEPT
                self._lines.append(line)
                self.backlog += len(line)

    def on_complete(self) -> None:
        """Wake the consumer."""
        self._wake()

    def fail(self, error: HttpError) -> None:
        """Deliver the lines that have arrived, and then the error."""
        self._error = self._error or error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter
