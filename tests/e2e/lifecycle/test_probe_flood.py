"""Floods on the port of probes and metrics cost neither probes nor claims."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import urllib3
from urllib3.exceptions import HTTPError

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import Setup
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import LOOPBACK

pytestmark = pytest.mark.hostile("floods")

USER = "dragoman-probe-flood"
SCRAPERS = 32
SILENT = 900
DESCRIPTORS = 300
"""Open descriptors of the operator during a flood: fewer than there are silent connections."""
PODS = 10
KUBELET_TIMEOUT, KUBELET_THRESHOLD = 5.0, 3
SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: operator\r\n\r\n"


@pytest.fixture
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    """Run an operator whose soft limit of descriptors is what many systems have."""
    operator = OperatorProcess(plane, plane.user(USER, OPERATOR_RULES))
    script = 'ulimit -S -n 1024; exec "$@"'
    operator.command = ["/bin/sh", "-c", script, "sh", *operator.command]
    with operator:
        yield operator


@contextmanager
def scrapers(port: int) -> Iterator[None]:
    """Scrape in many threads, as fast as the server responds."""
    stopping = threading.Event()

    def scrape() -> None:
        while not stopping.is_set():
            with suppress(OSError), socket.create_connection((LOOPBACK, port), 5) as client:
                client.sendall(SCRAPE)
                while client.recv(1 << 16) and not stopping.is_set():
                    pass

    threads = [threading.Thread(target=scrape) for _ in range(SCRAPERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


@contextmanager
def silent_connections(port: int) -> Iterator[None]:
    """Hold connections that send nothing, nearly as many as there are descriptors."""
    with ExitStack() as held:
        for _ in range(SILENT):
            held.enter_context(socket.create_connection((LOOPBACK, port), 30))
        yield


def is_alive(port: int) -> bool:
    """Whether a kubelet would let the operator live: one probe of several is answered in time."""
    url, timeout = f"http://{LOOPBACK}:{port}/livez", urllib3.Timeout(KUBELET_TIMEOUT)
    for _ in range(KUBELET_THRESHOLD):
        with suppress(HTTPError):
            if urllib3.request("GET", url, retries=False, timeout=timeout).status == 200:
                return True
    return False


@pytest.mark.parametrize("flood", [scrapers, silent_connections])
def test_probes_and_claims_go_on_during_a_flood(
    flood: Callable[[int], AbstractContextManager[None]], setup: Setup, operator: OperatorProcess
) -> None:
    assert operator.pid is not None
    with flood(operator.port):
        pods = [f"pod-{number}" for number in range(PODS)]
        setup.apply(setup.template(), *(setup.pod(pod) for pod in pods))
        for pod in pods:
            setup.published(pod)
            assert is_alive(operator.port)
        assert len(list(Path(f"/proc/{operator.pid}/fd").iterdir())) < DESCRIPTORS
    assert operator.stop() == 0
    assert len(operator.said()) < 1_000_000
    assert operator.faults() == []
