"""Between a driver and the API server: records requests, and pauses or fails them on request."""

import contextlib
import http.server
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import urllib3

from dragoman_drivers.throwaway.certificates import KeyPairPaths
from dragoman_drivers.throwaway.process import LOOPBACK

_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "host"}
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request of the driver."""

    method: str  # HTTP method
    path: str  # With its query
    code: int  # HTTP status; 0 where there was no answer
    at: float  # When it came, on the monotonic clock
    message: str = ""  # Why it was refused, where the API server says so in JSON

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.method in {"POST", "PUT", "PATCH", "DELETE"}

    def concerns(self, plural: str) -> bool:
        """Whether it is about a resource."""
        return f"/{plural}" in urlsplit(self.path).path


class Proxy:
    """Serve one driver on loopback with TLS, and forward to the API server.

    Args:
        target: URL of the API server.
        authority: Path of the certificate of the authority that signed the API server's.
        serving: What is shown to the driver.

    Attributes:
        requests: What the driver asked for, oldest first.
        target: URL of the API server; may be changed.
        fail: Returns an HTTP status to answer instead of forwarding, or 0.
    """

    def __init__(self, target: str, authority: str, serving: KeyPairPaths) -> None:
        self.requests: list[RecordedRequest] = []
        self.fail: Callable[[str, str], int] = lambda _method, _path: 0
        self._open: set[Any] = set()
        self._running = threading.Event()
        self._running.set()
        self.target = target
        self._pool = urllib3.PoolManager(maxsize=32, ca_certs=authority, retries=False)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(serving.certificate, serving.key)
        self._server = _Server((LOOPBACK, 0), self._handler())
        self._server.context = context
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the driver finds it."""
        return f"https://{LOOPBACK}:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving."""
        self._running.set()
        self._server.shutdown()
        self._server.server_close()
        for answer in list(self._open):  # a watch would wait for its next event
            with contextlib.suppress(OSError, AttributeError):
                answer.connection.sock.shutdown(socket.SHUT_RDWR)
        self._pool.clear()

    def pause(self) -> None:
        """Answer nothing until `resume`, as an API server that is stopped."""
        self._running.clear()

    def resume(self) -> None:
        """Forward again."""
        self._running.set()

    def since(self, at: float) -> list[RecordedRequest]:
        """Return the requests that came after a time."""
        return [one for one in list(self.requests) if one.at >= at]

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                at = time.monotonic()
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else None
                proxy._running.wait()
                code, message = proxy.fail(self.command, self.path), ""
                if code:
                    self.refuse(code)
                else:
                    code, message = proxy._forward(self, body)
                proxy.requests.append(RecordedRequest(self.command, self.path, code, at, message))

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward  # noqa: N815 — the base's names

            def refuse(self, code: int) -> None:
                status = {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "code": code,
                    "reason": "InternalError",
                    "message": "injected by dragoman conformance",
                }
                text = json.dumps(status).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 — the base's name
                """Requests are recorded, not logged."""

        return Handler

    def _forward(
        self, handler: http.server.BaseHTTPRequestHandler, body: bytes | None
    ) -> tuple[int, str]:
        headers = {k: v for k, v in handler.headers.items() if k.lower() not in _HOP}
        try:
            answer = self._pool.request(
                handler.command,
                self.target + handler.path,
                body=body,
                headers=headers,
                preload_content=False,
                decode_content=False,
                timeout=urllib3.Timeout(connect=5, read=3600),
            )
        except urllib3.exceptions.HTTPError:
            handler.close_connection = True
            return 0, ""
        self._open.add(answer)
        try:
            refusal = self._stream(handler, answer)
        finally:
            self._open.discard(answer)
        return answer.status, _message(refusal)

    def _stream(self, handler: http.server.BaseHTTPRequestHandler, answer: Any) -> bytes:
        """Send an answer on, part by part; return the beginning of one that refuses."""
        refusal = b""
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in _HOP:
                handler.send_header(name, value)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            while part := answer.read1(_CHUNK):
                self._running.wait()
                handler.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                handler.wfile.flush()
                refusal += part if answer.status >= 400 and len(refusal) < _CHUNK else b""
            handler.wfile.write(b"0\r\n\r\n")
            answer.release_conn()
        except (OSError, urllib3.exceptions.HTTPError):
            handler.close_connection = True
            answer.close()
        return refusal


def _message(refusal: bytes) -> str:
    """Return the message of a Status in JSON."""
    with contextlib.suppress(ValueError, TypeError, LookupError):
        return str(json.loads(refusal)["message"])
    return ""


class _Server(http.server.ThreadingHTTPServer):
    """Shakes hands in the thread of a connection, so that a slow client stops no other."""

    context: ssl.SSLContext
    daemon_threads = True

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            secured = self.context.wrap_socket(request, server_side=True)
        except OSError:
            return
        try:
            super().finish_request(secured, client_address)
        finally:
            # The base would close the socket that was accepted, which wrapping has detached.
            self.shutdown_request(secured)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A driver that is killed breaks its connections."""
