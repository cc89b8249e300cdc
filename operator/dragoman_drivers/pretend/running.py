"""One process of `dragoman pretend`: start, wait for a signal, stop in order."""

from __future__ import annotations

import http.server
import json
import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dragoman_base.files import UnreadableError, read_text
from dragoman_drivers.pretend.driver import Driver
from dragoman_drivers.pretend.faults import FaultError, parse
from dragoman_drivers.pretend.publisher import Publisher
from dragoman_drivers.pretend.slices import PretendPool
from dragoman_drivers.throwaway.api import Api, ApiError

log = logging.getLogger("dragoman_drivers.pretend")


class Pretender(Protocol):
    """What runs: a driver on one node, or the slices of many."""

    @property
    def complete(self) -> threading.Event:
        """Set when everything was published once."""

    def start(self) -> None:
        """Start."""

    def leave(self) -> None:
        """Stop in order, and delete the slices."""


class Slices:
    """Publishes the pools of many nodes, where no kubelet is called.

    Args:
        api: Acts as the driver.
        pools: Of all nodes.
    """

    def __init__(self, api: Api, pools: Sequence[PretendPool]) -> None:
        self._publisher = Publisher(api, lambda: pools)

    @property
    def complete(self) -> threading.Event:
        """Set when everything was published once."""
        return self._publisher.complete

    def start(self) -> None:
        """Publish."""
        self._publisher.start()

    def leave(self) -> None:
        """Stop, and delete the slices."""
        self._publisher.stop()
        self._publisher.remove()


@dataclass(frozen=True, slots=True)
class PretendNodes:
    """Nodes that are created for the run, marked by a label, and deleted at its end."""

    api: Api  # May create and delete Nodes
    names: tuple[str, ...]  # Of the Nodes
    LABEL = "dragoman.dev/pretend"

    def create(self) -> None:
        """Create those that are not there."""
        room = {"cpu": "64", "memory": "512Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        for name in self.names:
            labels = {self.LABEL: "true", "kubernetes.io/hostname": name}
            status = {"capacity": room, "allocatable": room, "conditions": [ready]}
            node = {"apiVersion": "v1", "kind": "Node", "status": status}
            try:
                self.api.create({**node, "metadata": {"name": name, "labels": labels}})
            except ApiError as error:
                if error.code != 409:
                    raise

    def delete(self) -> None:
        """Delete those that have the label."""
        for name in self.names:
            found = self.api.find("nodes", name)
            if found and found["metadata"].get("labels", {}).get(self.LABEL) == "true":
                self.api.delete("nodes", name)


def run(running: Pretender, ready: Callable[[], None]) -> None:
    """Run until SIGTERM or SIGINT; a second signal ends the process at once.

    Args:
        running: What is started and stopped.
        ready: Called when everything is published.
    """
    ended = threading.Event()

    def end(*_: object) -> None:
        if ended.is_set():
            raise SystemExit(1)
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    running.start()
    said = False
    while not ended.wait(0.1):
        if not said and running.complete.is_set():
            said = True
            ready()
    running.leave()


def follow(driver: Driver, given: Sequence[str]) -> threading.Thread:
    """Apply the faults of the driver's fault file whenever it changes, beside those given."""
    path = driver.folder / "faults"

    def watch() -> None:
        known: tuple[float, str] = (0, "")
        while True:
            time.sleep(0.2)
            try:
                text = read_text(path) if path.exists() else ""
                if text != known[1]:
                    known = (time.monotonic(), text)
                    driver.faults = parse([*given, *text.splitlines()], driver.further)
            except (OSError, UnreadableError, FaultError) as error:
                log.error("%s: %s", path, error)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def serve_http(driver: Driver, port: int) -> http.server.ThreadingHTTPServer:
    """Serve /healthz, which calls the DRA service, and /metrics on loopback."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages: Mapping[str, Callable[[], tuple[int, str]]] = {
                "/healthz": driver.liveness,
                "/metrics": lambda: (
                    200,
                    "".join(f"{name} {value!r}\n" for name, value in driver.metrics().items()),
                ),
            }
            code, text = pages.get(self.path, lambda: (404, "not found\n"))()
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 — the base's name
            """Requests of probes are not logged."""

    served = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    return served


def log_to_stderr() -> None:
    """Log one line for each event, as JSON."""

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return json.dumps({"level": record.levelname.lower(), "message": record.getMessage()})

    handler = logging.StreamHandler()
    handler.setFormatter(Formatter())
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
