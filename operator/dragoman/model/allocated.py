"""Devices that a claim was allocated: `status.allocation.devices.results`, any served version."""

from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern

from dragoman.model.fields import (
    Document,
    MalformedObjectError,
    items,
    mapping,
    optional_text,
    text,
)


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of device taints (API: resource.k8s.io/v1 DeviceToleration).

    Attributes:
        key: Empty for every key.
        operator: `Exists` or `Equal`; empty is `Equal`.
        value: Compared by `Equal`.
        effect: Empty for every effect.
        seconds: `tolerationSeconds`; None tolerates a taint without limit.
    """

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def document(self) -> Document:
        """Return the toleration in the API's JSON form, with the fields that are set."""
        found = {
            "key": self.key,
            "operator": self.operator,
            "value": self.value,
            "effect": self.effect,
            "tolerationSeconds": self.seconds,
        }
        return {name: value for name, value in found.items() if value not in ("", None)}


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One result of an allocation.

    Attributes:
        driver: Of the device.
        pool: Of the device.
        device: Its name.
        request: `request` or `request/subrequest`.
        admin: Whether it is used with admin access, beside other claims.
        share: `shareID` of a share of a device that allows multiple allocations, else empty.
        consumed: `consumedCapacity`: pairs of a capacity's name and a quantity.
        tolerations: As they were when the scheduler allocated.
    """

    driver: str
    pool: str
    device: str
    request: str = ""
    admin: bool = False
    share: str = ""
    consumed: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    @property
    def id(self) -> tuple[str, str, str]:
        """Driver, pool and name of the device."""
        return self.driver, self.pool, self.device


def parse_results(status: Document) -> tuple[AllocatedDevice, ...]:
    """Parse the devices of a claim's status; raise MalformedObjectError naming the field."""
    allocation = mapping(status, "allocation", "status.")
    if not allocation:
        return ()
    devices = mapping(allocation, "devices", "status.allocation.")
    results = items(devices, "results", "status.allocation.devices.")
    within = "status.allocation.devices.results[]."
    return tuple(_result(item, within) for item in results)


def _result(item: Document, within: str) -> AllocatedDevice:
    # Thousands of claims repeat the names of drivers, pools, devices and requests.
    return AllocatedDevice(
        driver=intern(text(item, "driver", within)),
        pool=intern(text(item, "pool", within)),
        device=intern(text(item, "device", within)),
        request=intern(optional_text(item, "request", within) or ""),
        admin=item.get("adminAccess") is True,
        share=optional_text(item, "shareID", within) or "",
        consumed=_consumed(item, within) if "consumedCapacity" in item else (),
        tolerations=tuple(
            _toleration(one, f"{within}tolerations[].")
            for one in items(item, "tolerations", within)
        ),
    )


def _consumed(item: Document, within: str) -> tuple[tuple[str, str], ...]:
    consumed: Mapping[str, object] = mapping(item, "consumedCapacity", within)
    return tuple((name, str(value)) for name, value in consumed.items())


def _toleration(item: Document, within: str) -> Toleration:
    seconds = item.get("tolerationSeconds")
    if seconds is not None and type(seconds) is not int:
        found = type(seconds).__name__
        raise MalformedObjectError(f"{within}tolerationSeconds: expected an integer, found {found}")
    return Toleration(
        optional_text(item, "key", within) or "",
        optional_text(item, "operator", within) or "",
        optional_text(item, "value", within) or "",
        optional_text(item, "effect", within) or "",
        seconds,
    )
