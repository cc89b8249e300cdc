"""The kubelet's side of the sockets: calls of one driver, each on a connection of its own."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from dragoman_drivers.kubeletplugin import messages
from dragoman_drivers.kubeletplugin.messages import (
    ClaimReference,
    DeviceHealth,
    PluginInfo,
    Prepared,
)

TIMEOUT = 45.0
"""Seconds for a call to a DRA service (`defaultClientCallTimeout` in pkg/kubelet/cm/dra/plugin)."""
INFO_TIMEOUT = 1.0
"""Seconds for GetInfo, after which the kubelet fails the registration (kubernetes#127457)."""


class CallError(Exception):
    """A call that failed as a whole.

    Attributes:
        code: Name of the gRPC status, such as `UNIMPLEMENTED`.
    """

    def __init__(self, error: grpc.RpcError) -> None:
        self.code: str = error.code().name
        super().__init__(f"{self.code}: {error.details()}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A driver's socket, and the service that is called there."""

    socket: Path  # Its path
    service: str = messages.DRA  # Full name of the DRA service

    def prepare(
        self, claims: Sequence[ClaimReference], timeout: float = TIMEOUT
    ) -> dict[str, Prepared | str]:
        """Call NodePrepareResources; return devices or an error by claim UID.

        Raises:
            CallError: The call failed as a whole.
        """
        body = messages.write_claims(claims)
        return messages.read_prepared(self.call(messages.PREPARE, body, timeout))

    def unprepare(
        self, claims: Sequence[ClaimReference], timeout: float = TIMEOUT
    ) -> dict[str, str]:
        """Call NodeUnprepareResources; return an error or the empty text by claim UID."""
        body = messages.write_claims(claims)
        return messages.read_unprepared(self.call(messages.UNPREPARE, body, timeout))

    def call(self, method: str, body: bytes, timeout: float = TIMEOUT) -> bytes:
        """Call a method of the service with encoded bytes."""
        return call(self.socket, self.service, method, body, timeout)


def info(socket: Path, timeout: float = INFO_TIMEOUT) -> PluginInfo:
    """Call GetInfo."""
    return messages.read_info(call(socket, messages.REGISTRATION, messages.GET_INFO, b"", timeout))


def notify(socket: Path, error: str = "", timeout: float = INFO_TIMEOUT) -> None:
    """Call NotifyRegistrationStatus: registered, unless there is an error."""
    body = messages.write_registration(error)
    call(socket, messages.REGISTRATION, messages.NOTIFY, body, timeout)


def call(socket: Path, service: str, method: str, body: bytes, timeout: float) -> bytes:
    """Call a method of a service.

    Raises:
        CallError: It failed, or did not answer in time.
    """
    with channel(socket) as opened:
        try:
            answer: bytes = opened.unary_unary(f"/{service}/{method}")(body, timeout=timeout)
        except grpc.RpcError as error:
            raise CallError(error) from error
        return answer


@contextmanager
def channel(socket: Path) -> Iterator[Any]:
    """Open a connection to a unix socket."""
    # A proxy of the environment must not be asked for a local socket.
    options = [("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(f"unix:{socket}", options) as opened:
        yield opened


class HealthStream:
    """A stream of NodeWatchResources, read in a thread of its own.

    Args:
        socket: Of the driver.
        service: Full name of the health service.

    Attributes:
        lists: The lists of devices received so far.
        error: Why it ended; empty while it is open.
    """

    def __init__(self, socket: Path, service: str = messages.HEALTH) -> None:
        self.lists: list[tuple[DeviceHealth, ...]] = []
        self.error = ""
        self._channel = grpc.insecure_channel(f"unix:{socket}")
        self._answers = self._channel.unary_stream(f"/{service}/{messages.WATCH}")(b"")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Cancel the stream."""
        self._answers.cancel()
        self._channel.close()
        self._thread.join(5)

    def _read(self) -> None:
        try:
            for message in self._answers:
                self.lists.append(messages.read_health(message))
            self.error = "the driver ended the stream"
        except grpc.RpcError as error:
            self.error = f"{error.code().name}: {error.details()}"
