"""The client of the throwaway control plane, beside a server that gives up."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dragoman_drivers.throwaway.api import Api, ApiError

PODS = {
    "resource": "pods",
    "responseKind": {"group": "", "version": "v1", "kind": "Pod"},
    "scope": "Namespaced",
    "singularResource": "pod",
    "verbs": ["deletecollection"],
}
DISCOVERED = [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [PODS]}]}]


class Slow(ThreadingHTTPServer):
    """An API server that ends some deletions before they are complete."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.late = 0


class Handler(BaseHTTPRequestHandler):
    server: Slow

    def do_GET(self) -> None:
        self._reply(200, {"items": DISCOVERED if self.path == "/api" else []})

    def do_DELETE(self) -> None:
        self.server.late -= 1
        code = 504 if self.server.late >= 0 else 200
        self._reply(code, {"kind": "Status", "reason": "Timeout" if code == 504 else ""})

    def log_message(self, *args: object) -> None:
        pass

    def _reply(self, code: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Slow]:
    with Slow() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.mark.parametrize("late", [0, 4])
def test_a_deletion_goes_on_where_the_server_gave_up(server: Slow, late: int) -> None:
    server.late = late
    api = Api(f"http://127.0.0.1:{server.server_port}")
    api.delete_all("pods", "ns", gracePeriodSeconds=0)
    assert server.late == -1
    api.close()


def test_a_server_that_always_gives_up_is_an_error(server: Slow) -> None:
    server.late = 100
    api = Api(f"http://127.0.0.1:{server.server_port}")
    with pytest.raises(ApiError, match="504 Timeout"):
        api.delete_all("pods", "ns")
    assert server.late == 95
    api.close()
