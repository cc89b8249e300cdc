"""Feature gates of Dynamic Resource Allocation, and what they mean for the allocator.

Source: pkg/features of Kubernetes 1.34 to 1.37, and the KEPs named in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Final

Version = tuple[int, int]

OLDEST: Final = (1, 34)
NEWEST: Final = (1, 37)


class UnknownGateError(ValueError):
    """A feature gate that this version of Kubernetes does not know, or whose value is locked."""


class Variant(StrEnum):
    """Which of the scheduler's three allocators runs."""

    STABLE = "stable"
    INCUBATING = "incubating"
    EXPERIMENTAL = "experimental"


@dataclass(frozen=True, slots=True)
class Features:
    """Features of the allocator, by the names of the Go library's fields."""

    AdminAccess: bool = False
    PrioritizedList: bool = False
    PartitionableDevices: bool = False
    DeviceTaints: bool = False
    DeviceBindingAndStatus: bool = False
    ConsumableCapacity: bool = False
    FractionalCapacityRange: bool = False
    ListTypeAttributes: bool = False
    OptionalNodeOperations: bool = False
    DerivedAttributes: bool = False
    CompatibilityGroups: bool = False

    @property
    def enabled(self) -> frozenset[str]:
        """The names of all that is on."""
        return frozenset(field.name for field in fields(self) if getattr(self, field.name))


_STABLE: Final = frozenset(
    {"AdminAccess", "PrioritizedList", "PartitionableDevices", "DeviceTaints"}
)
_INCUBATING: Final = _STABLE | {
    "DeviceBindingAndStatus",
    "ConsumableCapacity",
    "FractionalCapacityRange",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """How one version of kube-scheduler behaves with one set of gates.

    Attributes:
        version: Such as (1, 36); it selects between behaviours that changed.
        features: What the allocator supports.
        variant: Which of the three allocators runs.
        list_attributes: Whether CEL knows lists as attributes.
        taint_rules: Whether DeviceTaintRules are applied.
        extended_resources: Whether classes serve extended resources.
    """

    version: Version = (1, 36)
    features: Features = Features()
    variant: Variant = Variant.INCUBATING
    list_attributes: bool = False
    taint_rules: bool = True
    extended_resources: bool = True

    @property
    def kubernetes(self) -> str:
        """The version as text, such as "1.36"."""
        return "{}.{}".format(*self.version)

    @property
    def new(self) -> bool:
        """Whether the behaviour is that of 1.37."""
        return self.version >= NEWEST

    @property
    def old(self) -> bool:
        """Whether the behaviour is that of 1.34 and 1.35."""
        return self.version <= (1, 35)

    @property
    def oldest(self) -> bool:
        """Whether the behaviour is that of 1.34."""
        return self.version <= OLDEST

    @property
    def stable(self) -> bool:
        """Whether the oldest of the three allocators runs."""
        return self.variant is Variant.STABLE

    @property
    def experimental(self) -> bool:
        """Whether the newest of the three allocators runs."""
        return self.variant is Variant.EXPERIMENTAL


ALPHA, BETA, GA, LOCKED = "alpha", "beta", "GA", "locked"

# Gate: the stage in 1.34, 1.35, 1.36, 1.37; empty where it does not exist.
_GATES: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "DynamicResourceAllocation": (GA, LOCKED, LOCKED, LOCKED),
    "DRAAdminAccess": (BETA, BETA, LOCKED, LOCKED),
    "DRAPrioritizedList": (BETA, BETA, GA, LOCKED),
    "DRAPartitionableDevices": (ALPHA, ALPHA, BETA, BETA),
    "DRADeviceTaints": (ALPHA, ALPHA, BETA, GA),
    "DRADeviceTaintRules": ("", ALPHA, ALPHA, BETA),
    "DRADeviceBindingConditions": (ALPHA, ALPHA, BETA, BETA),
    "DRAResourceClaimDeviceStatus": (BETA, BETA, BETA, BETA),
    "DRAConsumableCapacity": (ALPHA, ALPHA, BETA, BETA),
    "DRAExtendedResource": (ALPHA, ALPHA, BETA, BETA),
    "DRASchedulerFilterTimeout": (BETA, BETA, BETA, BETA),
    "DRAFractionalCapacityRange": ("", "", "", BETA),
    "DRAListTypeAttributes": ("", "", ALPHA, ALPHA),
    "DRAOptionalNodeOperations": ("", "", "", ALPHA),
    "DRADerivedAttributes": ("", "", "", ALPHA),
    "DRADeviceCompatibilityGroups": ("", "", "", ALPHA),
}


def profile(kubernetes: str = "1.36", gates: Mapping[str, bool] | None = None) -> Profile:
    """Return how kube-scheduler of a version behaves.

    Args:
        kubernetes: Such as "1.36" or "v1.36.2"; what is newer than 1.37 counts as that.
        gates: Feature gates by name, also AllAlpha and AllBeta, that differ from the defaults.

    Raises:
        UnknownGateError: Naming the gate that the version does not know or does not let change.
        ValueError: `kubernetes` is not a version from 1.34.
    """
    version = _version(kubernetes)
    on = _enabled(version, gates or {})
    new = version >= NEWEST
    binding = on["DRADeviceBindingConditions"] and on["DRAResourceClaimDeviceStatus"]
    features = Features(
        AdminAccess=on["DRAAdminAccess"],
        PrioritizedList=on["DRAPrioritizedList"],
        PartitionableDevices=on["DRAPartitionableDevices"],
        DeviceTaints=on["DRADeviceTaints"],
        DeviceBindingAndStatus=binding,
        ConsumableCapacity=on["DRAConsumableCapacity"],
        FractionalCapacityRange=on.get("DRAFractionalCapacityRange", False),
        # The scheduler of 1.36 does not pass this gate on (kubernetes/kubernetes#139332).
        ListTypeAttributes=new and on["DRAListTypeAttributes"],
        OptionalNodeOperations=on.get("DRAOptionalNodeOperations", False),
        DerivedAttributes=on.get("DRADerivedAttributes", False),
        CompatibilityGroups=on.get("DRADeviceCompatibilityGroups", False),
    )
    made = profile_of(version, features)
    return replace(
        made,
        list_attributes=on.get("DRAListTypeAttributes", False),
        taint_rules=on.get("DRADeviceTaintRules", on["DRADeviceTaints"]) and on["DRADeviceTaints"],
        extended_resources=on["DRAExtendedResource"],
    )


def profile_of(version: Version, features: Features, variant: Variant | None = None) -> Profile:
    """Return a profile for features as the Go library names them.

    Args:
        version: Such as (1, 36).
        features: What is on.
        variant: The allocator to run; None for the first that supports all features.
    """
    if variant is None:
        if features.enabled <= _STABLE:
            variant = Variant.STABLE
        elif features.enabled <= _INCUBATING:
            variant = Variant.INCUBATING
        else:
            variant = Variant.EXPERIMENTAL
    return Profile(version, features, variant, list_attributes=features.ListTypeAttributes)


def _version(text: str) -> Version:
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    if not (major.isdecimal() and minor.isdecimal()) or len(text) > 32:
        raise ValueError(f"invalid Kubernetes version: {text[:32]!r}")
    version = (int(major), int(minor))
    if version < OLDEST:
        raise ValueError(f"Kubernetes {text} is too old: resource.k8s.io/v1 exists since 1.34")
    return min(version, NEWEST)


def _enabled(version: Version, gates: Mapping[str, bool]) -> dict[str, bool]:
    stages = {name: row[version[1] - OLDEST[1]] for name, row in _GATES.items()}
    default = {ALPHA: gates.get("AllAlpha", False), BETA: gates.get("AllBeta", True)}
    on = {name: default.get(stage, True) for name, stage in stages.items() if stage}
    for name, value in gates.items():
        if name in ("AllAlpha", "AllBeta"):
            continue
        if not stages.get(name):
            raise UnknownGateError(
                f"feature gate {name} does not exist in Kubernetes {version[0]}.{version[1]}"
            )
        if stages[name] == LOCKED and not value:
            raise UnknownGateError(
                f"feature gate {name} is locked to true in Kubernetes {version[0]}.{version[1]}"
            )
        on[name] = value
    return on
