"""What kubelet and driver say to each other: `dra/v1` and `pluginregistration/v1`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.support.driver import wire

REGISTRATION = "pluginregistration.Registration"
DRA = "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
VERSIONS = ("v1.DRAPlugin",)


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """A claim, as the kubelet names it.

    Attributes:
        namespace: Of the claim.
        uid: Of the claim.
        name: Of the claim.
    """

    namespace: str
    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """A device that is ready for containers.

    Attributes:
        request: Of the claim for which it was allocated.
        pool: In which it is.
        device: Its name in the pool.
        cdi: Under which containerd finds what it means for a container.
        share: The share of the device, where it is divided.
    """

    request: str
    pool: str
    device: str
    cdi: str
    share: str = ""


Prepared = tuple[PreparedDevice, ...]


def read_claims(message: bytes) -> tuple[ClaimReference, ...]:
    """Decode the claims of a request to prepare or unprepare."""
    found = []
    for number, body in wire.fields(message):
        if number == 1 and isinstance(body, bytes):
            words = wire.texts(body)
            found.append(ClaimReference(words.get(1, ""), words.get(2, ""), words.get(3, "")))
    return tuple(found)


def write_prepared(results: Mapping[str, Prepared | str]) -> bytes:
    """Encode the answer to a request to prepare: devices, or what went wrong, by claim UID."""
    return entries({uid: prepared(result) for uid, result in results.items()})


def write_unprepared(results: Mapping[str, str]) -> bytes:
    """Encode the answer to a request to unprepare: what went wrong, if anything, by claim UID."""
    return entries({uid: wire.text(1, error) for uid, error in results.items()})


def prepared(result: Prepared | str) -> bytes:
    """Encode the answer about one claim."""
    if isinstance(result, str):
        return wire.text(2, result)
    return b"".join(wire.block(1, device(one)) for one in result)


def device(one: PreparedDevice) -> bytes:
    """Encode a device."""
    values = (one.request, one.pool, one.device, one.cdi, one.share)
    return b"".join(wire.text(number, value) for number, value in enumerate(values, 1))


def entries(answers: Mapping[str, bytes]) -> bytes:
    """Encode a map from strings to messages."""
    return b"".join(
        wire.block(1, wire.text(1, key) + wire.block(2, body)) for key, body in answers.items()
    )


def write_info(driver: str, endpoint: str) -> bytes:
    """Encode who the driver is and where it listens."""
    words = [(1, "DRAPlugin"), (2, driver), (3, endpoint), *((4, one) for one in VERSIONS)]
    return b"".join(wire.text(number, value) for number, value in words)


def read_registration(message: bytes) -> str:
    """Decode why the kubelet did not register the driver; empty when it did."""
    found = dict(wire.fields(message))
    if found.get(1):
        return ""
    error = found.get(2, b"")
    return (error.decode() if isinstance(error, bytes) else "") or "not registered"
