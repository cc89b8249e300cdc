"""The relay joins each connection to its socket with one to its port, in their order."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.controlplane import binaries
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.process import LOOPBACK, ThrowawayProcess, free_ports

SECONDS = 10


@pytest.fixture(scope="module")
def program() -> Path:
    return binaries.find(["relay"])["relay"]


@pytest.fixture
def ends(program: Path, tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """Run the relay; return its socket, where an earlier relay has left a file, and its port."""
    path, (port,) = tmp_path / "s", free_ports(1)
    path.touch()
    flags = ["--v=5", f"--endpoint={path}", f"--proxy-endpoint=tcp://{LOOPBACK}:{port}"]
    process = ThrowawayProcess("relay", [str(program), *flags], tmp_path / "log")
    process.start()
    try:
        wait_for(path.is_socket, message="the relay's socket")
        yield path, port
    finally:
        process.kill()


def server(port: int) -> socket.socket:
    """Connect as the driver does: before anybody uses the socket."""

    def connected() -> socket.socket | None:
        try:
            return socket.create_connection((LOOPBACK, port), SECONDS)
        except ConnectionRefusedError:
            return None

    made = wait_for(connected, message="the relay's port")
    assert made is not None
    return made


def client(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(SECONDS)
    made.connect(str(path))
    return made


def test_bytes_go_both_ways_between_the_connections_of_the_same_number(
    ends: tuple[Path, int],
) -> None:
    path, port = ends
    with server(port) as first, server(port) as second, client(path) as one, client(path) as two:
        two.sendall(b"from two")
        one.sendall(b"from one")
        assert (first.recv(99), second.recv(99)) == (b"from one", b"from two")
        first.sendall(b"to one")
        assert one.recv(99) == b"to one"


def test_the_end_of_one_side_ends_the_other(ends: tuple[Path, int]) -> None:
    path, port = ends
    with server(port) as far:
        client(path).close()
        assert far.recv(99) == b""
    with server(port) as far, client(path) as near:
        far.close()
        assert near.recv(99) == b""
