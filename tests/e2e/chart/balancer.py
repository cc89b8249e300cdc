"""What stands before the webhook's pods where an API server cannot reach Services."""

import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Self

from tests.support.controlplane.network import Network
from tests.support.controlplane.process import LOOPBACK

CHUNK = 65536


class Balancer:
    """Listens on the loopback of a control plane's network, and passes bytes on to pods.

    Args:
        network: Of the control plane.
        port: At which it listens.
        pod: Returns the address and port of a pod that is ready.

    Attributes:
        connections: How many there were.
    """

    def __init__(self, network: Network, port: int, pod: Callable[[], tuple[str, int]]) -> None:
        self.connections = 0
        self._network = network
        self._address = (LOOPBACK, port)
        self._pod = pod

    def __enter__(self) -> Self:
        """Listen."""
        self._listener = self._network.inside(lambda: socket.create_server(self._address))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more; what is open goes on until one end closes it."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._join, args=(caller,), daemon=True).start()

    def _join(self, caller: socket.socket) -> None:
        with closing(caller), suppress(OSError):
            pod = self._network.inside(lambda: socket.create_connection(self._pod()))
            with closing(pod):
                back = threading.Thread(target=pass_on, args=(pod, caller), daemon=True)
                back.start()
                pass_on(caller, pod)
                back.join()


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass bytes on until the source ends, and end the target too."""
    with suppress(OSError):
        while chunk := source.recv(CHUNK):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
