"""Connections to one server, kept alive between questions."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from dragoman.kube.http.answer import Answer, WholeAnswer
from dragoman.kube.http.connection import REST, Connection
from dragoman.kube.http.faults import ConnectionLostError, WireError
from dragoman.kube.http.stream import Lines, Wanted

CONNECT = 5.0
"""Seconds for a connection, its TLS included."""
ANSWER = 30.0
"""Seconds for an answer."""
SILENCE = 90.0
"""Seconds without a line after which a watch is dead: the server sends bookmarks each minute."""
IDLE = 15.0
"""Seconds for which a connection that nobody needs is kept."""
IDLE_LIMIT = 128
"""Connections that are kept while nobody needs them."""
TICK = 1.0
"""Seconds between looks at what is due: one timer for all costs less than one a request."""
FALL_BACK = 0.25
"""Seconds that one of a name's addresses has before the next is tried as well (RFC 8305)."""


class RefusedError(Exception):
    """A stream was not given.

    Attributes:
        answer: What the server said instead.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"HTTP status {answer.status}")
        self.answer = answer


@dataclass
class Pool:
    """As many connections as are needed at the same time; the surplus ends after a while.

    Attributes:
        server: Base URL; its path is left to those who write requests.
        tls: Returns trust and identity, for https: the same as before unless they have changed.
    """

    server: str
    tls: Callable[[], ssl.SSLContext | None]
    _tls: ssl.SSLContext | None = field(init=False, repr=False, default=None)
    _closed: bool = field(init=False, default=False)
    _open: set[Connection] = field(init=False, repr=False, default_factory=set)
    _idle: list[Connection] = field(init=False, repr=False, default_factory=list)
    _timer: asyncio.TimerHandle | None = field(init=False, repr=False, default=None)

    async def close(self) -> None:
        """End all connections, and wait until they have; no others are made."""
        self._closed = True
        for connection in list(self._open):
            connection.abort()  # a farewell could wait for a server that hears nothing
        while self._open:  # noqa: ASYNC110 — each ends in a later turn of the loop
            await asyncio.sleep(0)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def renew(self) -> None:
        """Use no connection again that was made with other trust or identity than there is now."""
        tls = self.tls()
        if tls is not self._tls:
            self._tls = tls
            for connection in self._idle:
                connection.close()

    async def ask(self, request: bytes, *, repeatable: bool) -> Answer:
        """Send a request and wait for its whole answer.

        Args:
            request: As it goes over the wire.
            repeatable: Whether to ask again where a kept connection turns out to be dead.

        Raises:
            WireError: There is none, or no whole one.
            OSError: The server cannot be reached, or cannot be trusted.
        """
        while self._idle:
            connection = self._idle.pop()
            if connection.closed:
                continue
            try:
                return await self._exchange(connection, request)
            except ConnectionLostError:
                if not repeatable:
                    raise
                break
        return await self._exchange(await self._connect(), request)

    async def lines(self, request: bytes, wanted: Wanted) -> AsyncGenerator[list[bytes], None]:
        """Send a request and yield the lines of its answer, as many at once as there are.

        Raises:
            RefusedError: The answer is none but 200.
            WireError: It broke off, or was silent for SILENCE seconds.
            OSError: The server cannot be reached, or cannot be trusted.
        """
        connection = await self._connect()
        try:
            lines = Lines(wanted)
            connection.listen(request, lines, silence=SILENCE)
            refusal = await lines.refusal()
            if refusal is not None:
                raise RefusedError(refusal)
            while await lines.come():
                # Answers to own writes go first: a line often tells no more than they do.
                await asyncio.sleep(REST if connection.busy else 0)
                taken = lines.take()
                connection.emptied()
                yield taken
        finally:
            connection.close()

    async def _exchange(self, connection: Connection, request: bytes) -> Answer:
        reading = WholeAnswer()
        try:
            connection.ask(request, reading, within=ANSWER)
            answer = await reading.answer
        except BaseException:
            connection.abort()  # what is left of the answer must not meet another question
            raise
        if reading.reusable and self._is_current(connection) and len(self._idle) < IDLE_LIMIT:
            connection.idle(within=IDLE)
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    async def _connect(self) -> Connection:
        try:
            async with asyncio.timeout(CONNECT):
                connection = await self._reach()
                try:
                    self._look_after(connection)
                    await connection.ready
                except BaseException:
                    connection.abort()
                    raise
        except TimeoutError as error:
            raise WireError(f"no connection to {self.server} in {CONNECT:g} s") from error
        return connection

    def _look_after(self, connection: Connection) -> None:
        self._refuse_when_closed()
        if not connection.closed:  # else nobody would tell that it has ended: somebody did already
            self._open.add(connection)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise WireError("the pool of connections is closed")

    def _is_current(self, connection: Connection) -> bool:
        return not connection.closed and connection.made_with is self._tls

    async def _reach(self) -> Connection:
        self._refuse_when_closed()
        self.renew()
        loop = asyncio.get_running_loop()
        try:
            url = urlsplit(self.server)
            host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
            # A name that ends in a dot is complete; in certificates, names are so without it.
            make = partial(Connection, self._tls, host.removesuffix("."), self._forget)
            if isinstance(loop, asyncio.BaseEventLoop) and not _is_address(host):
                pending = loop.create_connection(make, host, port, happy_eyeballs_delay=FALL_BACK)
            else:
                pending = loop.create_connection(make, host, port)
            _, connection = await pending
        except ValueError as error:
            raise WireError(f"{self.server}: {error}") from error
        return connection

    def _forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in [one for one in self._open if one.due <= now]:
            connection.expire()
        self._timer = loop.call_later(TICK, self._tick) if self._open else None


def _is_address(host: str) -> bool:
    """Whether there is no choice of addresses; over a choice, asyncio can lose a socket."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
