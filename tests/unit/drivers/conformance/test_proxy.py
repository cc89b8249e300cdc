"""The proxy between a driver and the API server leaves nothing behind."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
import urllib3

from dragoman_drivers.conformance.proxy import Proxy
from dragoman_drivers.throwaway.certificates import Authority


class Watch(http.server.BaseHTTPRequestHandler):
    """An answer that goes on, as that of a watch without events."""

    protocol_version = "HTTP/1.1"
    ended = threading.Event()
    threads: ClassVar[set[threading.Thread]] = set()

    def do_GET(self) -> None:
        self.threads.add(threading.current_thread())
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"6\r\nfirst\n\r\n")
        self.wfile.flush()
        self.ended.wait(30)

    def log_message(self, *_: object) -> None:
        """The test says what matters."""


@pytest.fixture
def target() -> Iterator[str]:
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Watch)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{served.server_address[1]}"
    Watch.ended.set()
    served.shutdown()
    served.server_close()
    thread.join()


def test_watches_in_flight_end_with_the_proxy(target: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    before = {*threading.enumerate()}
    proxy = Proxy(target, str(authority.certificate), authority.serving("proxy", ("127.0.0.1",)))
    with urllib3.PoolManager(ca_certs=str(authority.certificate)) as client:
        answer = client.request("GET", f"{proxy.url}/watch", preload_content=False)
        assert next(answer.stream()) == b"first\n"
        handlers = {*threading.enumerate()} - before - Watch.threads
        proxy.close()
        for one in handlers:
            one.join(20)
        assert handlers
        assert not any(one.is_alive() for one in handlers)
        answer.close()
