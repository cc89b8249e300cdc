"""The pool of connections to one server, kept alive between requests."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

from dragoman.kube.http.connection import Connection
from dragoman.kube.http.request import Request
from dragoman.kube.http.response import (
    BufferedResponse,
    ConnectError,
    ConnectionLostError,
    Response,
    StatusError,
)
from dragoman.kube.http.stream import LineStream, Predicate
from dragoman.kube.http.tunnel import proxy_of

CONNECT_TIMEOUT = 5.0
"""Seconds for a connection, its TLS handshake included."""
RESPONSE_TIMEOUT = 30.0
"""Seconds for a complete response."""
STREAM_TIMEOUT = 90.0
"""Seconds without a line after which a watch is dead: the server sends a bookmark each minute."""
IDLE_TIMEOUT = 15.0
"""Seconds for which a connection is kept without a request."""
IDLE_LIMIT = 128
"""Connections that are kept without a request."""
TICK = 1.0
"""Seconds between checks of all deadlines: one timer is cheaper than one for each request."""
HAPPY_EYEBALLS_DELAY = 0.25
"""Seconds that one address of a name has before the next is tried in parallel (RFC 8305)."""


class Pool(Protocol):
    """Carries requests to a server."""

    def reload_tls(self) -> None:
        """Take trust and client certificate that have changed."""

    async def send(self, request: Request) -> Response:
        """Send a request and wait for its complete response; raise HttpError."""

    def stream(self, request: Request, predicate: Predicate) -> AsyncGenerator[list[bytes], None]:
        """Send a request and yield the lines of its response; raise StatusError and HttpError."""

    async def close(self) -> None:
        """End all connections, and open no others."""


@dataclass
class ConnectionPool:
    """Opens as many connections as requests are in flight, and closes idle ones after a while."""

    server: str  # Base URL; its path is ignored, requests have the whole one
    # Returns trust and client certificate for https: the same object until they change
    tls: Callable[[], ssl.SSLContext | None]
    # Seconds for a response, and for a connection; 0 for the constants of this module
    timeout: float = 0.0
    server_name: str = ""  # What the certificate is for; empty for the host of the URL
    proxy: str = ""  # URL of a proxy that all connections go through; empty without one
    _tls: ssl.SSLContext | None = field(init=False, repr=False, default=None)
    _closed: bool = field(init=False, default=False)
    _open: set[Connection] = field(init=False, repr=False, default_factory=set)
    _idle: list[Connection] = field(init=False, repr=False, default_factory=list)
    _timer: asyncio.TimerHandle | None = field(init=False, repr=False, default=None)

    async def close(self) -> None:
        """End all connections, wait until they have ended, and open no others."""
        self._closed = True
        ending = list(self._open)
        for connection in ending:
            connection.abort()  # a TLS shutdown could hang on an unresponsive server
        await asyncio.gather(*(connection.wait_closed() for connection in ending))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def reload_tls(self) -> None:
        """Close the idle connections where trust or client certificate have changed."""
        tls = self.tls()
        if tls is not self._tls:
            self._tls = tls
            for connection in self._idle:
                connection.close()

    async def send(self, request: Request) -> Response:
        """Send a request and wait for its complete response.

        Raises:
            ConnectError: The server cannot be reached, or its certificate is not trusted.
            HttpError: There is no complete response.
        """
        while self._idle:
            connection = self._idle.pop()
            if connection.closing:
                continue
            try:
                return await self._exchange(connection, request)
            except ConnectionLostError:
                # The server may have closed the idle connection while the request was on its way.
                if not request.is_repeatable:
                    raise
                break
        return await self._exchange(await self._connect(), request)

    async def stream(
        self, request: Request, predicate: Predicate
    ) -> AsyncGenerator[list[bytes], None]:
        """Send a request and yield the lines of its response, in batches as they arrive.

        Raises:
            StatusError: The status is not 200.
            ConnectError: The server cannot be reached, or its certificate is not trusted.
            HttpError: The stream broke off, or ended no line for STREAM_TIMEOUT seconds.
        """
        connection = await self._connect()
        try:
            stream = LineStream(predicate)
            connection.open_stream(request, stream, silence=STREAM_TIMEOUT)
            refusal = await stream.refusal()
            if refusal is not None:
                raise StatusError(refusal)
            while await stream.wait_for_lines():
                await asyncio.sleep(stream.pacing.batch_delay)
                yield connection.take_lines()
        finally:
            connection.close()

    async def _exchange(self, connection: Connection, request: Request) -> Response:
        pending = BufferedResponse()
        try:
            connection.send(request, pending, timeout=self.timeout or RESPONSE_TIMEOUT)
            response = await pending.future
        except BaseException:
            connection.abort()  # the rest of the response must not meet the next request
            raise
        if pending.keep_alive and self._is_current(connection) and len(self._idle) < IDLE_LIMIT:
            connection.keep(timeout=IDLE_TIMEOUT)
            self._idle.append(connection)
        else:
            connection.close()
        return response

    def _is_current(self, connection: Connection) -> bool:
        return not connection.closing and connection.tls is self._tls

    async def _connect(self) -> Connection:
        seconds = min(CONNECT_TIMEOUT, self.timeout or CONNECT_TIMEOUT)
        timeout = asyncio.timeout(seconds)
        try:
            async with timeout:
                connection = await self._open_connection()
                try:
                    self._track(connection)
                    await connection.ready
                except BaseException:
                    connection.abort()
                    raise
        except (OSError, ValueError) as error:
            if timeout.expired():
                message = f"no connection to {self.server} within {seconds:g} s"
            else:
                message = f"no connection to {self.server}: {_cause(error)}"
            raise ConnectError(message) from error
        return connection

    async def _open_connection(self) -> Connection:
        self._refuse_when_closed()
        self.reload_tls()
        loop = asyncio.get_running_loop()
        url = urlsplit(self.server)
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        # A fully qualified name may end in a dot; in certificates names end without it.
        name = (self.server_name or host).removesuffix(".")
        make = partial(Connection, self._tls, name, self._forget)
        more: dict[str, Any] = {}
        if self.proxy:
            proxy = proxy_of(self.proxy)
            make = partial(make, tunnel=proxy.negotiate(host, port))
            host, port = proxy.host, proxy.port
            # As in client-go, who may sign the server's certificate may sign the proxy's.
            more = {"ssl": self._tls or True} if proxy.scheme == "https" else {}
        if isinstance(loop, asyncio.BaseEventLoop) and not _is_address(host):
            more["happy_eyeballs_delay"] = HAPPY_EYEBALLS_DELAY
        _, connection = await loop.create_connection(make, host, port, **more)
        return connection

    def _track(self, connection: Connection) -> None:
        self._refuse_when_closed()
        if not connection.closing:  # otherwise `_forget` may have been called already
            self._open.add(connection)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise ConnectError("the pool of connections is closed")

    def _forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in [one for one in self._open if one.deadline <= now]:
            connection.expire()
        self._timer = loop.call_later(TICK, self._tick) if self._open else None


def _is_address(host: str) -> bool:
    """Whether the host is an IP address: asyncio's race of addresses can leak a socket."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _cause(error: Exception) -> str:
    """Return why a connection failed, as the operating system says it."""
    if isinstance(error, ssl.SSLError) or not isinstance(error, OSError) or not error.errno:
        return str(error) or type(error).__name__
    # asyncio puts Python's address tuple into the text; names that DNS lacks have their own.
    return str(error.strerror) if isinstance(error, socket.gaierror) else os.strerror(error.errno)
