"""Answers that are streams of lines: watches."""

import asyncio
from collections.abc import Callable

from dragoman.kube.http.answer import Answer
from dragoman.kube.http.faults import WireError
from dragoman.kube.http.response import Reading

LINE_LIMIT = 1 << 24
"""Bytes of one line; an object has 1.5 MiB at most, in etcd's encoding."""
BACKLOG_LIMIT = 1 << 22
"""Bytes of lines that wait to be taken before reading is put off."""
REFUSAL_LIMIT = 1 << 20
"""Bytes of an answer that is no stream."""

Wanted = Callable[[bytes], bool]


class Lines(Reading):
    """Cuts a stream into whole lines, and drops at once those that nobody wants.

    Args:
        wanted: Looks at each line as it comes.

    Attributes:
        backlog: Bytes of lines that wait to be taken.
        heard: Whether what came last ended a line, or the head.
        dropped: Whether what came last had lines, and none of them was wanted.
    """

    def __init__(self, wanted: Wanted) -> None:
        super().__init__()
        self._wanted = wanted
        self._lines: list[bytes] = []
        self._rest = bytearray()  # a list of pieces would cost more than they hold
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self.backlog = 0
        self.heard = self.dropped = False

    async def refusal(self) -> Answer | None:
        """Wait for the head; returns the whole answer where it is none but 200."""
        while not self.status or (self.status != 200 and not self.over):
            await self._more()
        if self.status == 200:
            return None
        return Answer(self.status, self.retry_after, bytes(self._rest))

    async def come(self) -> bool:
        """Wait for lines; returns whether there are any: not when the server has ended the stream.

        Raises:
            Exception: What broke the stream off; what it left unfinished is dropped.
        """
        while not self._lines and not self.over:
            await self._more()
        return bool(self._lines)

    def take(self) -> list[bytes]:
        """Return the lines that have come."""
        lines, self._lines, self.backlog = self._lines, [], 0
        return lines

    def feed(self, data: bytes) -> None:
        """Take in what has come, and wake who waits if there is anything in it for them."""
        lines, status = len(self._lines), self.status
        self.heard = self.dropped = False
        super().feed(data)
        self.heard |= self.status != status
        if self.status != 200 or len(self._lines) > lines:
            self.dropped = False
            self._wake()

    def took(self, content: bytes) -> None:
        """Cut content into lines; raise WireError when one is too long."""
        *lines, rest = content.split(b"\n") if self.status == 200 else [content]
        if lines:
            self.heard = True
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += rest
        if len(self._rest) > (LINE_LIMIT if self.status == 200 else REFUSAL_LIMIT):
            raise WireError("a line without an end")
        for line in lines:
            if self._wanted(line):
                self._lines.append(line)
                self.backlog += len(line)
            else:
                self.dropped = True

    def completed(self) -> None:
        """Wake who waits."""
        self._wake()

    def failed(self, error: Exception) -> None:
        """Let who waits have what has come, and then the reason."""
        self._error = self._error or error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter
