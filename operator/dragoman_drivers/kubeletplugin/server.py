"""A driver's gRPC services on unix sockets; nothing is decided here."""

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

THREADS = 40
"""More than the calls and health streams of one kubelet at once."""
Alive = Callable[[], bool]
"""Whether the caller still waits."""
Unary = Callable[[bytes, Alive], bytes]
Stream = Callable[[], Iterable[bytes]]


def serve(
    socket: Path,
    services: Mapping[str, Mapping[str, Unary]],
    streams: Mapping[str, Mapping[str, Stream]] | None = None,
) -> grpc.Server:
    """Start a server of some services on a unix socket, which appears when it can be called.

    Args:
        socket: Its path; a stale one is replaced.
        services: Methods by service and name; they take an encoded message, and whether the caller
            still waits, and return an encoded message.
        streams: Methods that answer with many messages.
    """
    socket.parent.mkdir(parents=True, exist_ok=True)
    # gRPC binds before it listens: a socket under its own name could be called too early. The
    # kubelet ignores names that start with a dot.
    hidden = socket.with_name(f".{os.getpid()}{socket.name[-12:]}")
    hidden.unlink(missing_ok=True)
    server = grpc.server(ThreadPoolExecutor(THREADS))
    for service, methods in services.items():
        unary = {name: _unary(method) for name, method in methods.items()}
        _add(server, service, unary)
    for service, found in (streams or {}).items():
        _add(server, service, {name: _streamed(method) for name, method in found.items()})
    server.add_insecure_port(f"unix:{hidden}")
    server.start()
    hidden.replace(socket)
    return server


def _add(server: grpc.Server, service: str, handlers: Mapping[str, grpc.RpcMethodHandler]) -> None:
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])


def _unary(method: Unary) -> grpc.RpcMethodHandler:
    """Return the handler of a method; without a codec, messages stay bytes."""
    return grpc.unary_unary_rpc_method_handler(
        lambda request, context: method(request, context.is_active)
    )


def _streamed(method: Stream) -> grpc.RpcMethodHandler:
    def answer(_: bytes, context: grpc.ServicerContext) -> Iterable[bytes]:
        for message in method():
            if not context.is_active():
                return
            yield message

    return grpc.unary_stream_rpc_method_handler(answer)
