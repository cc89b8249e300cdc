"""Bytes to a server and back: one TCP connection, with TLS or without."""

import asyncio
import ssl
from contextlib import suppress
from typing import cast

from dragoman.kube.http.tunnel import Negotiation, ProxyError

RECORD_SIZE = 1 << 14
"""Bytes that a TLS record holds at most (RFC 8446, section 5.1)."""
READ_SIZE = 1 << 16
"""Bytes that one read takes from the socket at most."""


class Transport(asyncio.BufferedProtocol):
    """One connection; subclasses override `on_data`, `on_end` and `on_lost`.

    The standard library's TLS engine is driven here, without asyncio's layer around it: that layer
    goes on reading from the socket while its protocol has paused, so `pause_reading` would save
    nothing (pacing.py has the figures).

    Args:
        tls: Trust and client certificate; None for plain HTTP.
        host: Name or address that the server's certificate must have.
        tunnel: What is said to a proxy before the server is reached; None without one.

    Attributes:
        tls: As given.
        ready: Resolved when the connection can be written to; fails with the reason otherwise.
    """

    def __init__(
        self, tls: ssl.SSLContext | None, host: str, tunnel: Negotiation | None = None
    ) -> None:
        self.tls = tls
        self._tunnel = tunnel
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._buffer = memoryview(bytearray(READ_SIZE))
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._engine: ssl.SSLObject | None = None
        if tls is not None:
            self._engine = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._error: Exception | None = None
        self._socket: asyncio.Transport | None = None

    # For subclasses ----------------------------------------------------------------------------

    def on_data(self, data: bytes) -> None:
        """Take decrypted bytes from the server."""

    def on_end(self) -> None:
        """Take the end of what the server sends, as the server itself declared it."""

    def on_lost(self, error: Exception) -> None:
        """Take the end of the connection; the last call."""

    # For users ---------------------------------------------------------------------------------

    @property
    def closing(self) -> bool:
        """Whether the connection has ended or is about to."""
        return self._socket is not None and self._socket.is_closing()

    def write(self, data: bytes) -> None:
        """Send bytes once the connection is ready; they are buffered while the server is slow."""
        assert self._socket is not None
        if self._engine is None:
            self._socket.write(data)
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._engine.write(rest) :]  # encrypts one record at a time
        except ssl.SSLError as error:
            self._fail(error)
        else:
            self._flush()

    def close(self) -> None:
        """Shut TLS down, then close the connection when everything buffered is sent."""
        if self.closing or self._socket is None:
            return
        if self._engine is not None:
            with suppress(ssl.SSLError):  # it wants to wait for the server's close_notify
                self._engine.unwrap()
            self._flush()
        self._socket.close()

    def abort(self) -> None:
        """Close the connection at once, and drop what is buffered."""
        if self._socket is not None:
            self._socket.abort()

    async def wait_closed(self) -> None:
        """Wait until a closing connection has ended."""
        await asyncio.shield(self._lost)

    def pause_reading(self) -> None:
        """Leave what arrives in the socket until `resume_reading`."""
        if self._socket is not None and not self.closing:
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if self._socket is not None and not self.closing:
            self._socket.resume_reading()

    # Callbacks of asyncio ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask the proxy for the server, or start the TLS handshake with it."""
        self._socket = cast("asyncio.Transport", transport)  # uvloop's class derives from neither
        if self._tunnel is None:
            self._start()
        else:
            self._negotiate(self._tunnel, None)

    def get_buffer(self, _: int) -> memoryview:
        """Return where asyncio reads to."""
        return self._buffer

    def buffer_updated(self, count: int) -> None:
        """Decrypt what asyncio has read, and pass it on."""
        if self._tunnel is None:
            self._take(self._buffer[:count])
        else:
            self._negotiate(self._tunnel, bytes(self._buffer[:count]))

    def _take(self, data: memoryview) -> None:
        if self._engine is None:
            self.on_data(bytes(data))
            return
        try:
            self._incoming.write(data)
            if not self.ready.done():
                self._handshake(self._engine)
            if self.ready.done() and not self.closing:
                self._decrypt(self._engine)
        except ssl.SSLError as error:
            self._fail(error)

    def eof_received(self) -> None:
        """Take the end of a plain connection; asyncio then closes it.

        With TLS only close_notify is an end, because an attacker on the path can end a TCP
        connection.
        """
        if self._engine is None:
            self.on_end()

    def connection_lost(self, error: Exception | None) -> None:
        """Pass the end on."""
        closed_by = "server" if self._tunnel is None else "proxy"
        error = error or self._error or ConnectionError(f"the {closed_by} closed the connection")
        if not self.ready.done():
            self.ready.set_exception(error)
            self.ready.exception()  # marks it as retrieved: its consumer may have been cancelled
        self._lost.set_result(None)
        self.on_lost(error)

    def _negotiate(self, tunnel: Negotiation, data: bytes | None) -> None:
        assert self._socket is not None
        try:
            # A generator takes None for its start only.
            self._socket.write(next(tunnel) if data is None else tunnel.send(data))
        except StopIteration as opened:
            self._tunnel = None
            self._start()
            if opened.value:
                self._take(memoryview(opened.value))
        except ProxyError as error:
            self._fail(error)

    def _start(self) -> None:
        if self._engine is None:
            self._set_ready()
        else:
            self._handshake(self._engine)

    def _set_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def _handshake(self, engine: ssl.SSLObject) -> None:
        try:
            engine.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as error:
            self._flush()  # sends the alert that names the reason to the server
            self._fail(error)
        else:
            self._flush()
            self._set_ready()

    def _decrypt(self, engine: ssl.SSLObject) -> None:
        pieces: list[bytes] = []
        ended = False
        try:
            while not ended and (self._incoming.pending or engine.pending()):
                piece = engine.read(RECORD_SIZE)
                pieces.append(piece)
                ended = not piece
        except ssl.SSLWantReadError:
            pass  # the rest of a record has not arrived
        self._flush()  # the engine answers some messages itself, as a key update
        data = b"".join(pieces)
        if data:
            self.on_data(data)
        if ended and not self.closing:
            self.on_end()
            self.close()

    def _flush(self) -> None:
        if self._outgoing.pending and self._socket is not None:
            self._socket.write(self._outgoing.read())

    def _fail(self, error: Exception) -> None:
        self._error = error
        self.abort()
