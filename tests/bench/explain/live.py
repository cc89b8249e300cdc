"""An API server on the loopback interface, so that live commands are measured with start-up."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from dragoman.inventory.snapshots.documents import KINDS

Json = dict[str, Any]
GROUP = "resource.k8s.io"
RESOURCES = ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")
FIXED: Mapping[str, Json] = {
    "/version": {"gitVersion": "v1.36.3"},
    "/apis": {"groups": [{"name": GROUP, "versions": [{"version": "v1"}]}]},
    f"/apis/{GROUP}/v1": {"resources": [{"name": name} for name in RESOURCES]},
}


class Server(ThreadingHTTPServer):
    """Answers GET requests with bodies that were made before.

    Attributes:
        bodies: JSON documents by path.
    """

    def __init__(self, bodies: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies = bodies


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        body = self.server.bodies.get(urlsplit(self.path).path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body or b"{}")))
        self.end_headers()
        self.wfile.write(body or b"{}")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving(manifests: Iterable[Json]) -> Iterator[str]:
    """Serve a cluster; yield the address."""
    lists: dict[str, list[Json]] = {plural: [] for plural in KINDS.values()}
    for number, one in enumerate(manifests):
        metadata = {"uid": f"uid-{number}", "resourceVersion": "1", **one["metadata"]}
        lists[KINDS[one["kind"]]].append({**one, "metadata": metadata})
    documents = dict(FIXED)
    for plural, items in lists.items():
        base = f"/apis/{GROUP}/v1" if plural in RESOURCES else "/api/v1"
        documents[f"{base}/{plural}"] = {
            "kind": "List",
            "metadata": {"resourceVersion": "1"},
            "items": items,
        }
    with Server({path: json.dumps(one).encode() for path, one in documents.items()}) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
