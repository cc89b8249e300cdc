"""Bytes to a server and back: one TCP connection, with TLS or without."""

import asyncio
import ssl
from contextlib import suppress
from typing import cast

from dragoman.kube.http.faults import WireError

RECORD = 1 << 14
"""Bytes that a TLS record holds at most (RFC 8446, section 5.1)."""
READ = 1 << 16
"""Bytes that are taken from the kernel at once."""


class Channel(asyncio.BufferedProtocol):
    """One connection; who extends it takes what comes in.

    TLS is spoken here, by the standard library's engine: asyncio's own layer around the same
    engine reads on from the kernel while its user has paused, so nothing would be saved by waiting
    for more.

    Args:
        tls: Trust and identity; None to speak in the clear.
        host: Whom the server's certificate must name.

    Attributes:
        ready: Done when bytes can be written; fails when it never comes to that.
        made_with: Trust and identity, as given.
        behind: Whether the kernel may have more than it has given so far.
    """

    def __init__(self, tls: ssl.SSLContext | None, host: str) -> None:
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.behind = self._paused = False
        self._view = memoryview(bytearray(READ))
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.made_with = tls
        self._tls: ssl.SSLObject | None = None
        if tls is not None:
            self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._fault: Exception | None = None
        self._transport: asyncio.Transport | None = None

    # To be extended --------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Take what has come in."""

    def ended(self) -> None:
        """Take note that the server has said all, and said so."""

    def lost(self, error: Exception) -> None:
        """Take note that the connection is over; called once, and last."""

    # For users -------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it has ended, or is about to."""
        return self._transport is not None and self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """Send bytes, in whatever time that takes; the connection must be ready."""
        assert self._transport is not None
        if self._tls is None:
            self._transport.write(data)
            return
        rest = memoryview(data)
        while rest:
            # The engine takes one record at a time.
            rest = rest[self._tls.write(rest) :]
        self._flush()

    def close(self) -> None:
        """End the connection and say so, as a server expects it."""
        if self.closed or self._transport is None:
            return
        if self._tls is not None:
            with suppress(ssl.SSLError):  # it wants to read the server's farewell as well
                self._tls.unwrap()
            self._flush()
        self._transport.close()

    def abort(self) -> None:
        """End the connection at once, whatever is on its way."""
        if self._transport is not None:
            self._transport.abort()

    def rest(self, seconds: float) -> None:
        """Leave what comes in to the kernel for a while: to read much at once is cheap."""
        self.pause()
        self._loop.call_later(seconds, self.resume)

    def pause(self) -> None:
        """Read no more until `resume`."""
        if self._transport is not None and not self.closed and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None and not self.closed and self._paused:
            self._paused = False
            self._transport.resume_reading()

    # For asyncio -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to speak."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        if self._tls is None:
            self._is_ready()
        else:
            self._shake_hands(self._tls)

    def get_buffer(self, _: int) -> memoryview:
        """Give the kernel a place to write to."""
        return self._view

    def buffer_updated(self, count: int) -> None:
        """Take what the kernel has written there."""
        self.behind = count == READ
        if self._tls is None:
            self.received(bytes(self._view[:count]))
            return
        try:
            self._incoming.write(self._view[:count])
            if not self.ready.done():
                self._shake_hands(self._tls)
            if self.ready.done() and not self.closed:
                self._decrypt(self._tls)
        except ssl.SSLError as error:
            self._break(error)

    def eof_received(self) -> None:
        """Take note that nothing more comes; without TLS, that is how a server ends an answer.

        With TLS it says so itself (close_notify): anybody on the way can end a TCP connection.
        """
        if self._tls is None:
            self.ended()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell those who wait."""
        error = error or self._fault or WireError("the server has closed the connection")
        if not self.ready.done():
            self.ready.set_exception(error)
            self.ready.exception()  # whoever asked may have given up meanwhile
        self.lost(error)

    def _is_ready(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def _shake_hands(self, tls: ssl.SSLObject) -> None:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as error:
            self._flush()  # the alert that tells the server why
            self._break(error)
        else:
            self._flush()
            self._is_ready()

    def _decrypt(self, tls: ssl.SSLObject) -> None:
        pieces: list[bytes] = []
        over = False
        try:
            while not over and (self._incoming.pending or tls.pending()):
                piece = tls.read(RECORD)
                pieces.append(piece)
                over = not piece
        except ssl.SSLWantReadError:
            pass  # the rest of a record is still on its way
        self._flush()  # the engine may have had something to say, as to a change of keys
        data = b"".join(pieces)
        if data:
            self.received(data)
        if over and not self.closed:
            self.ended()
            self.close()

    def _flush(self) -> None:
        if self._outgoing.pending and self._transport is not None:
            self._transport.write(self._outgoing.read())

    def _break(self, error: Exception) -> None:
        self._fault = error
        self.abort()
