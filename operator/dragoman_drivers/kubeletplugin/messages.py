"""Messages between kubelet and driver, both directions. Pure.

Source: api.proto of k8s.io/kubelet/pkg/apis/dra/v1, dra-health/v1 and pluginregistration/v1.
Decoding raises ValueError where bytes are no message.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

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


_LAYOUT: Mapping[str, tuple[str, ...]] = {
    "Claim": ("namespace", "uid", "name"),
    "Claims": ("claims*Claim",),
    "Device": ("requests*", "pool", "device", "cdi*", "share"),
    "Prepared": ("devices*Device", "error"),
    "PreparedEntry": ("key", "value:Prepared"),
    "PrepareAnswer": ("claims*PreparedEntry",),
    "Unprepared": ("error",),
    "UnpreparedEntry": ("key", "value:Unprepared"),
    "UnprepareAnswer": ("claims*UnpreparedEntry",),
    "PluginInfo": ("type", "name", "endpoint", "versions*"),
    "RegistrationStatus": ("registered:bool", "error"),
    "DeviceName": ("pool", "device"),
    "DeviceHealth": (
        *("device:DeviceName", "health:int", "updated:int", "timeout:int", "message"),
    ),
    "Health": ("devices*DeviceHealth",),
}
"""Fields of each message in the order of their numbers, from 1 on: `*` is repeated, `:` has a type;
without one it is text. A map is what it is on the wire: repeated entries of key and value."""
_TYPES = {"": Field.TYPE_STRING, "bool": Field.TYPE_BOOL, "int": Field.TYPE_INT64}


def _classes() -> dict[str, Any]:
    file = FileDescriptorProto(name="dragoman/kubelet.proto", package="dragoman", syntax="proto3")
    for name, layout in _LAYOUT.items():
        message = file.message_type.add(name=name)
        for number, text in enumerate(layout, 1):
            repeated = "*" in text
            field_name, _, kind = text.replace("*", ":").partition(":")
            field = message.field.add(name=field_name, number=number)
            field.label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
            field.type = _TYPES.get(kind, Field.TYPE_MESSAGE)
            if field.type == Field.TYPE_MESSAGE:
                field.type_name = f".dragoman.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"dragoman.{name}"))
        for name in _LAYOUT
    }


_CLASSES = _classes()


def _made(kind: str, **fields: Any) -> Any:
    return _CLASSES[kind](**fields)


def _read(kind: str, message: bytes) -> Any:
    try:
        return _CLASSES[kind].FromString(message)
    except DecodeError as error:
        raise ValueError(str(error)) from None


# Claims ------------------------------------------------------------------------------------------


def write_claims(claims: Iterable[ClaimReference]) -> bytes:
    """Encode a request to prepare or unprepare."""
    found = [_made("Claim", namespace=one.namespace, uid=one.uid, name=one.name) for one in claims]
    return _bytes(_made("Claims", claims=found))


def read_claims(message: bytes) -> tuple[ClaimReference, ...]:
    """Decode the claims of a request to prepare or unprepare."""
    found = _read("Claims", message).claims
    return tuple(ClaimReference(one.namespace, one.uid, one.name) for one in found)


def write_prepared(results: Mapping[str, Prepared | str]) -> bytes:
    """Encode the answer to a request to prepare: devices, or an error, by claim UID."""
    entries = [
        _made("PreparedEntry", key=uid, value=_prepared(found)) for uid, found in results.items()
    ]
    return _bytes(_made("PrepareAnswer", claims=entries))


def read_prepared(message: bytes) -> dict[str, Prepared | str]:
    """Decode the answer to a request to prepare."""
    return {
        entry.key: entry.value.error or tuple(_device(one) for one in entry.value.devices)
        for entry in _read("PrepareAnswer", message).claims
    }


def write_unprepared(results: Mapping[str, str]) -> bytes:
    """Encode the answer to a request to unprepare: an error, or the empty text, by claim UID."""
    entries = [
        _made("UnpreparedEntry", key=uid, value=_made("Unprepared", error=error))
        for uid, error in results.items()
    ]
    return _bytes(_made("UnprepareAnswer", claims=entries))


def read_unprepared(message: bytes) -> dict[str, str]:
    """Decode the answer to a request to unprepare; the empty text is success."""
    return {one.key: one.value.error for one in _read("UnprepareAnswer", message).claims}


def _prepared(result: Prepared | str) -> Any:
    if isinstance(result, str):
        return _made("Prepared", error=result)
    devices = [
        _made(
            "Device",
            requests=one.requests,
            pool=one.pool,
            device=one.device,
            cdi=one.cdi,
            share=one.share,
        )
        for one in result
    ]
    return _made("Prepared", devices=devices)


def _device(one: Any) -> PreparedDevice:
    return PreparedDevice(tuple(one.requests), one.pool, one.device, tuple(one.cdi), one.share)


# Registration ------------------------------------------------------------------------------------


def write_info(info: PluginInfo) -> bytes:
    """Encode the answer to GetInfo."""
    made = _made(
        "PluginInfo",
        type=info.type,
        name=info.name,
        endpoint=info.endpoint,
        versions=info.versions,
    )
    return _bytes(made)


def read_info(message: bytes) -> PluginInfo:
    """Decode the answer to GetInfo."""
    found = _read("PluginInfo", message)
    return PluginInfo(found.type, found.name, found.endpoint, tuple(found.versions))


def write_registration(error: str = "") -> bytes:
    """Encode the kubelet's NotifyRegistrationStatus: registered, unless there is an error."""
    return _bytes(_made("RegistrationStatus", registered=not error, error=error))


def read_registration(message: bytes) -> str:
    """Decode why the kubelet did not register the driver; empty when it did."""
    found = _read("RegistrationStatus", message)
    return "" if found.registered else found.error or "not registered"


# Health ------------------------------------------------------------------------------------------


def write_health(devices: Sequence[DeviceHealth]) -> bytes:
    """Encode one message of the stream of NodeWatchResources."""
    found = [
        _made(
            "DeviceHealth",
            device=_made("DeviceName", pool=one.pool, device=one.device),
            health=one.health,
            updated=one.updated,
            timeout=one.timeout,
            message=one.message,
        )
        for one in devices
    ]
    return _bytes(_made("Health", devices=found))


def read_health(message: bytes) -> tuple[DeviceHealth, ...]:
    """Decode one message of the stream of NodeWatchResources."""
    return tuple(
        DeviceHealth(
            one.device.pool, one.device.device, one.health, one.updated, one.timeout, one.message
        )
        for one in _read("Health", message).devices
    )


def _bytes(message: Any) -> bytes:
    encoded: bytes = message.SerializeToString()
    return encoded
