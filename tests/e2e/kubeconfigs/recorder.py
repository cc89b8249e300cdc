"""An API server that answers /version, with TLS or without, and keeps who asked."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

KEPT = ("Authorization", "Impersonate-")


class Recorder(ThreadingHTTPServer):
    """Keeps, for each request, the headers that say who asks.

    Attributes:
        asked: Of each request since the last call of `take`.
    """

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.asked: list[tuple[tuple[str, str], ...]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def take(self) -> tuple[tuple[str, str], ...] | None:
        """Return who asked first since the last call; None for nobody."""
        first = self.asked[0] if self.asked else None
        self.asked.clear()
        return first

    def handle_error(self, *_: Any) -> None:
        """A client that does not trust the certificate ends the handshake."""


class _Handler(BaseHTTPRequestHandler):
    server: Recorder

    def do_GET(self) -> None:
        self.server.asked.append(
            tuple(sorted((k.lower(), v) for k, v in self.headers.items() if k.startswith(KEPT)))
        )
        body = b'{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def recording(certificate: Path | None = None, key: Path | None = None) -> Iterator[Recorder]:
    """Serve on loopback, with TLS where there is a certificate."""
    context = None
    if certificate and key:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    server = Recorder(context)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
