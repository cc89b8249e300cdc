"""What claims were allocated: `status.allocation`, any served version."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import NamedTuple

from dragoman.model.conditions import Condition, parse_conditions
from dragoman.model.deviceid import DeviceID
from dragoman.model.fields import (
    NOTHING,
    Document,
    flag,
    items,
    mapping,
    optional_text,
    text,
    texts,
)
from dragoman.model.nodeselector import NodeSelector
from dragoman.model.taints import Toleration, parse_toleration


class Details(NamedTuple):
    """What few results have."""

    admin: bool = False  # Whether the device is used with admin access, beside other claims
    share: str = ""  # `shareID` of a share of a device that allows multiple allocations, else empty
    # `consumedCapacity`: pairs of a capacity's name and a quantity; None when unset
    consumed: tuple[tuple[str, str], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()  # As they were when the scheduler allocated
    # Conditions that have to be true before a pod is bound
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()  # Conditions of which none may be true
    conditions: tuple[Condition, ...] = ()  # Those that the driver reports in `status.devices`.


_PLAIN = Details()
_NAMES = frozenset({"driver", "pool", "device", "request"})


class AllocatedDevice(NamedTuple):
    """One result of an allocation: 100 bytes, of which operators keep hundreds of thousands."""

    driver: str  # Of the device
    pool: str  # Of the device
    device: str  # Its name in the pool
    request: str = ""  # `request` or `request/subrequest`
    details: Details = _PLAIN  # See there

    @property
    def id(self) -> DeviceID:
        """The device."""
        return DeviceID(self.driver, self.pool, self.device)

    @property
    def admin(self) -> bool:
        """Whether it is used with admin access, beside other claims."""
        return self.details.admin

    @property
    def share(self) -> str:
        """`shareID` of a share of a device that allows multiple allocations, else empty."""
        return self.details.share

    @property
    def consumed(self) -> tuple[tuple[str, str], ...] | None:
        """`consumedCapacity`: pairs of a capacity's name and a quantity; None when unset."""
        return self.details.consumed

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """As they were when the scheduler allocated."""
        return self.details.tolerations

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Those that the driver reports in `status.devices`."""
        return self.details.conditions

    def condition(self, kind: str) -> Condition | None:
        """Return what the driver reports under this type; of several the first counts."""
        return next((one for one in self.conditions if one.type == kind), None)

    def is_true(self, kind: str) -> bool:
        """Whether the driver reports a condition as true."""
        found = self.condition(kind)
        return found is not None and found.status == "True"


@dataclass(frozen=True, slots=True)
class Held:
    """The allocation in the status of a claim."""

    devices: tuple[AllocatedDevice, ...] = ()  # In the order of the results
    allocated_at: str = ""  # `allocationTimestamp`, empty where unset
    node_selector: NodeSelector | None = None  # Where the claim can be used, None for everywhere
    # `status.allocation` in the API's form. It and the selector are left out where only devices
    # matter.
    document: Document = field(default_factory=lambda: NOTHING, hash=False, repr=False)


def parse_held(status: Document) -> Held | None:
    """Parse the allocation of a claim's status; raise MalformedObjectError naming the field."""
    if status.get("allocation") is None:
        return None
    allocation = mapping(status, "allocation", "status.")
    devices = mapping(allocation, "devices", "status.allocation.")
    results = items(devices, "results", "status.allocation.devices.")
    reported = _reported(status) if status.get("devices") else {}
    return Held(
        tuple(_result(item, index, reported) for index, item in enumerate(results)),
        optional_text(allocation, "allocationTimestamp", "status.allocation.") or "",
    )


Reported = Mapping[DeviceID, tuple[Condition, ...]]


def _reported(status: Document) -> Reported:
    """Read what drivers report of devices; of several entries for one device the first counts."""
    found: dict[DeviceID, tuple[Condition, ...]] = {}
    for index, item in enumerate(items(status, "devices", "status.")):
        within = f"status.devices[{index}]."
        found.setdefault(_id(item, within), parse_conditions(item, within))
    return found


def _result(item: Document, index: int, reported: Reported) -> AllocatedDevice:
    within = f"status.allocation.devices.results[{index}]."
    # Thousands of claims repeat these names.
    found = (
        intern(text(item, "driver", within)),
        intern(text(item, "pool", within)),
        intern(text(item, "device", within)),
        intern(optional_text(item, "request", within) or ""),
    )
    details = _PLAIN
    if reported or any(key not in _NAMES and item[key] is not None for key in item):
        details = _details(item, within, reported.get(DeviceID(*found[:3]), ()))
    return AllocatedDevice(*found, details)


def _details(item: Document, within: str, conditions: tuple[Condition, ...]) -> Details:
    return Details(
        flag(item, "adminAccess", within) is True,
        optional_text(item, "shareID", within) or "",
        None if item.get("consumedCapacity") is None else tuple(_consumed(item, within)),
        tuple(
            parse_toleration(one, f"{within}tolerations[].")
            for one in items(item, "tolerations", within)
        ),
        texts(item, "bindingConditions", within),
        texts(item, "bindingFailureConditions", within),
        conditions,
    )


def _id(item: Document, within: str) -> DeviceID:
    return DeviceID(
        text(item, "driver", within), text(item, "pool", within), text(item, "device", within)
    )


def _consumed(item: Document, within: str) -> Iterator[tuple[str, str]]:
    for name, value in mapping(item, "consumedCapacity", within).items():
        from dragoman.model.amounts import read_quantity  # noqa: PLC0415 — few claims need CEL

        read_quantity(value, f"{within}consumedCapacity.{name}")
        yield name, str(value)
