"""The driver's two gRPC services on unix sockets: nothing is decided here."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from tests.support.driver import messages

THREADS = 8
Method = Callable[[bytes], bytes]


class Plugin:
    """Serve a driver to one kubelet: by its registration socket it is found.

    Args:
        driver: Name of the driver.
        kubelet: The kubelet's root folder.
        services: Methods by service and name; they take and return encoded messages.
    """

    def __init__(
        self, driver: str, kubelet: Path, services: Mapping[str, Mapping[str, Method]]
    ) -> None:
        self.endpoint = kubelet / "plugins" / driver / "dra.sock"
        self._registration = kubelet / "plugins_registry" / f"{driver}-reg.sock"
        self._services = services
        self._servers: list[grpc.Server] = []

    def start(self) -> None:
        """Listen; the kubelet notices the registration socket last."""
        for socket, name in (
            (self.endpoint, messages.DRA),
            (self._registration, messages.REGISTRATION),
        ):
            socket.parent.mkdir(parents=True, exist_ok=True)
            socket.unlink(missing_ok=True)
            self._servers.append(serve(socket, name, self._services[name]))

    def stop(self) -> None:
        """Stop listening; the kubelet notices that the sockets are gone."""
        self._registration.unlink(missing_ok=True)
        for server in self._servers:
            server.stop(grace=None).wait()
        self._servers.clear()
        self.endpoint.unlink(missing_ok=True)


def serve(socket: Path, service: str, methods: Mapping[str, Method]) -> grpc.Server:
    """Start a server of one service on a unix socket."""
    server = grpc.server(ThreadPoolExecutor(THREADS))
    handlers = {name: handler(method) for name, method in methods.items()}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    return server


def handler(method: Method) -> grpc.RpcMethodHandler:
    """Return the handler of one method; without a codec, messages stay bytes."""
    return grpc.unary_unary_rpc_method_handler(lambda request, _: method(request))
