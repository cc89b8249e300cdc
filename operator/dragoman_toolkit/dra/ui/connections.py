"""How many connections the page's server keeps, and for how long without a request."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

LIMIT = 64
"""Open connections; the oldest one without a request is closed for a new one."""
HEAD_SECONDS = 5.0
"""Time for the head of a request."""


class PageConnections:
    """Makes the protocol of each connection, and bounds their number and idle time.

    Other users of the machine can connect, although they get nothing without the token.

    Args:
        handler: Makes the protocol that answers requests.
    """

    def __init__(self, handler: Callable[[], asyncio.Protocol]) -> None:
        self._handler = handler
        self._silent: OrderedDict[asyncio.BaseTransport, asyncio.TimerHandle] = OrderedDict()
        self._busy: set[asyncio.BaseTransport] = set()

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return _Connection(self, self._handler())

    def opened(self, transport: asyncio.Transport) -> bool:
        """Note a connection; return whether there is room for it."""
        if len(self._silent) + len(self._busy) >= LIMIT:
            if not self._silent:
                return False
            oldest, timer = self._silent.popitem(last=False)
            timer.cancel()
            _abort(oldest)
        loop = asyncio.get_running_loop()
        self._silent[transport] = loop.call_later(HEAD_SECONDS, _abort, transport)
        return True

    def requested(self, transport: asyncio.BaseTransport | None) -> None:
        """Note that a connection has sent the head of its request."""
        if transport is not None and transport in self._silent:
            self._silent.pop(transport).cancel()
            self._busy.add(transport)

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """Note the end of a connection."""
        self._busy.discard(transport)
        if transport in self._silent:
            self._silent.pop(transport).cancel()


def _abort(transport: asyncio.BaseTransport) -> None:
    if isinstance(transport, asyncio.Transport):
        transport.abort()


class _Connection(asyncio.Protocol):
    """Passes on what happens to a connection, if there is room for it."""

    def __init__(self, all_of_them: PageConnections, inner: asyncio.Protocol) -> None:
        self._all = all_of_them
        self._inner = inner
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if not self._all.opened(transport):
            transport.abort()
            return
        self._transport = transport
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._transport is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._transport is not None else None

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._all.closed(self._transport)
            self._inner.connection_lost(exc)
