"""TLS contexts, name resolution and resets for the tests of connections."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.certificates import Authority, KeyPairPaths


def server_context(pair: KeyPairPaths) -> ssl.SSLContext:
    """Return the context of a server with this certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


def client_context(authority: Authority) -> ssl.SSLContext:
    """Return the context of a client that trusts this authority."""
    return ssl.create_default_context(cafile=str(authority.certificate))


@contextmanager
def resetting_server() -> Iterator[int]:
    """Run a server that resets each connection as soon as it is accepted; gives its port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                accepted, _ = listening.accept()
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                accepted.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
