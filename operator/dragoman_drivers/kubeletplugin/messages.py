"""Messages between kubelet and driver, both directions. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dragoman_drivers.kubeletplugin import wire

REGISTRATION = "pluginregistration.Registration"
DRA = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
DRA_V1BETA1 = "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin"
HEALTH_V1 = "v1.DRAResourceHealth"
HEALTH = "v1alpha1.DRAResourceHealth"
"""Health in both versions: equal on the wire, and registered by the name of the service itself."""
PREPARE, UNPREPARE, WATCH = "NodePrepareResources", "NodeUnprepareResources", "NodeWatchResources"
GET_INFO, NOTIFY = "GetInfo", "NotifyRegistrationStatus"
PLUGIN_TYPE = "DRAPlugin"
V1, V1BETA1 = "v1.DRAPlugin", "v1beta1.DRAPlugin"
SERVICES = {V1: DRA, V1BETA1: DRA_V1BETA1, HEALTH_V1: HEALTH_V1, HEALTH: HEALTH}
"""Names in `supported_versions`, with the service that each promises."""
UNKNOWN, HEALTHY, UNHEALTHY = 0, 1, 2


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """A claim, as the kubelet names it."""

    namespace: str
    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """A device that is ready for containers."""

    requests: tuple[str, ...]  # Of the claim, for which it was allocated; none means all
    pool: str  # In which it is
    device: str  # Its name in the pool
    # Ids under which the container runtime finds what it means for a container
    cdi: tuple[str, ...]
    share: str = ""  # The share of the device, where it is divided


Prepared = tuple[PreparedDevice, ...]


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """What a driver answers to GetInfo."""

    type: str  # `DRAPlugin`
    name: str  # Of the driver
    endpoint: str  # Path of the socket of its services
    versions: tuple[str, ...]  # `supported_versions`


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """The health of one device."""

    pool: str  # In which it is
    device: str  # Its name
    health: int  # `UNKNOWN`, `HEALTHY` or `UNHEALTHY`
    updated: int = 0  # Unix time in seconds
    timeout: int = 0  # Seconds for which it holds; 0 for the kubelet's default
    message: str = ""  # Details


# Claims ------------------------------------------------------------------------------------------


def write_claims(claims: Iterable[ClaimReference]) -> bytes:
    """Encode a request to prepare or unprepare."""
    return b"".join(
        wire.block(1, wire.text(1, one.namespace) + wire.text(2, one.uid) + wire.text(3, one.name))
        for one in claims
    )


def read_claims(message: bytes) -> tuple[ClaimReference, ...]:
    """Decode the claims of a request to prepare or unprepare."""
    found = []
    for body in blocks(message, 1):
        words = wire.texts(body)
        found.append(ClaimReference(words.get(1, ""), words.get(2, ""), words.get(3, "")))
    return tuple(found)


def write_prepared(results: Mapping[str, Prepared | str]) -> bytes:
    """Encode the answer to a request to prepare: devices, or an error, by claim UID."""
    return _entries({uid: _prepared(result) for uid, result in results.items()})


def read_prepared(message: bytes) -> dict[str, Prepared | str]:
    """Decode the answer to a request to prepare.

    Raises:
        ValueError: These bytes are no message.
    """
    found: dict[str, Prepared | str] = {}
    for uid, body in _read_entries(message):
        error = wire.texts(body).get(2, "")
        found[uid] = error or tuple(_read_device(one) for one in blocks(body, 1))
    return found


def write_unprepared(results: Mapping[str, str]) -> bytes:
    """Encode the answer to a request to unprepare: an error, or the empty text, by claim UID."""
    return _entries({uid: wire.text(1, error) for uid, error in results.items()})


def read_unprepared(message: bytes) -> dict[str, str]:
    """Decode the answer to a request to unprepare; the empty text is success."""
    return {uid: wire.texts(body).get(1, "") for uid, body in _read_entries(message)}


def _prepared(result: Prepared | str) -> bytes:
    if isinstance(result, str):
        return wire.text(2, result)
    return b"".join(wire.block(1, _device(one)) for one in result)


def _device(one: PreparedDevice) -> bytes:
    repeated = [(1, one.requests), (2, (one.pool,)), (3, (one.device,)), (4, one.cdi)]
    texts = [wire.text(number, value) for number, values in repeated for value in values]
    return b"".join([*texts, wire.text(5, one.share)])


def _read_device(body: bytes) -> PreparedDevice:
    words = wire.texts(body)
    repeated = {
        number: tuple(one.decode(errors="replace") for one in blocks(body, number))
        for number in (1, 4)
    }
    return PreparedDevice(
        repeated[1], words.get(2, ""), words.get(3, ""), repeated[4], words.get(5, "")
    )


# Registration ------------------------------------------------------------------------------------


def write_info(info: PluginInfo) -> bytes:
    """Encode the answer to GetInfo."""
    words = [(1, info.type), (2, info.name), (3, info.endpoint), *((4, v) for v in info.versions)]
    return b"".join(wire.text(number, value) for number, value in words)


def read_info(message: bytes) -> PluginInfo:
    """Decode the answer to GetInfo."""
    words = wire.texts(message)
    versions = tuple(one.decode(errors="replace") for one in blocks(message, 4))
    return PluginInfo(words.get(1, ""), words.get(2, ""), words.get(3, ""), versions)


def write_registration(error: str = "") -> bytes:
    """Encode the kubelet's NotifyRegistrationStatus: registered, unless there is an error."""
    return wire.text(2, error) if error else wire.number(1, 1)


def read_registration(message: bytes) -> str:
    """Decode why the kubelet did not register the driver; empty when it did."""
    found = dict(wire.fields(message))
    return "" if found.get(1) else wire.texts(message).get(2, "") or "not registered"


# Health ------------------------------------------------------------------------------------------


def write_health(devices: Sequence[DeviceHealth]) -> bytes:
    """Encode one message of the stream of NodeWatchResources."""
    return b"".join(
        wire.block(
            1,
            wire.block(1, wire.text(1, one.pool) + wire.text(2, one.device))
            + wire.number(2, one.health)
            + wire.number(3, one.updated)
            + wire.number(4, one.timeout)
            + wire.text(5, one.message),
        )
        for one in devices
    )


def read_health(message: bytes) -> tuple[DeviceHealth, ...]:
    """Decode one message of the stream of NodeWatchResources."""
    found = []
    for body in blocks(message, 1):
        numbers = {key: value for key, value in wire.fields(body) if isinstance(value, int)}
        identity = next(iter(blocks(body, 1)), b"")
        words = wire.texts(identity)
        found.append(
            DeviceHealth(
                words.get(1, ""),
                words.get(2, ""),
                numbers.get(2, 0),
                numbers.get(3, 0),
                numbers.get(4, 0),
                message=wire.texts(body).get(5, ""),
            )
        )
    return tuple(found)


# Parts -------------------------------------------------------------------------------------------


def blocks(message: bytes, number: int) -> list[bytes]:
    """Return the fields of a number that have a length, in order."""
    return [body for key, body in wire.fields(message) if key == number and isinstance(body, bytes)]


def _entries(answers: Mapping[str, bytes]) -> bytes:
    """Encode a map from strings to messages."""
    return b"".join(
        wire.block(1, wire.text(1, key) + wire.block(2, body)) for key, body in answers.items()
    )


def _read_entries(message: bytes) -> list[tuple[str, bytes]]:
    found = []
    for entry in blocks(message, 1):
        key = wire.texts(entry).get(1, "")
        found.append((key, next(iter(blocks(entry, 2)), b"")))
    return found
