"""Feature gates of Dynamic Resource Allocation, and what they mean for the allocator.

Source: pkg/features of Kubernetes, in `gates`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from dragoman.allocation.gates import ALPHA, BETA, BETA_OFF, GA, LOCKED, STAGES
from dragoman_base import versions
from dragoman_base.versions import Release, Version


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


_FIRST = frozenset({"AdminAccess", "PrioritizedList", "PartitionableDevices", "DeviceTaints"})
_SECOND = _FIRST | {
    "DeviceBindingAndStatus",
    "ConsumableCapacity",
    "FractionalCapacityRange",
}
_ALL = frozenset(field.name for field in fields(Features))
_SUPPORTED: Mapping[bool, Mapping[Variant, frozenset[str]]] = {
    False: {Variant.STABLE: _FIRST, Variant.INCUBATING: _SECOND},
    True: {Variant.STABLE: _SECOND, Variant.INCUBATING: _ALL},
}
"""What each allocator supports, by `Release.stable_combines`; the last supports all."""


@dataclass(frozen=True, slots=True)
class Profile(Release):
    """How one version of kube-scheduler behaves with one set of gates."""

    features: Features = Features()  # What the allocator supports
    variant: Variant = Variant.INCUBATING  # Which of the three allocators runs
    list_attributes: bool = False  # Whether CEL knows lists as attributes
    taint_rules: bool = True  # Whether DeviceTaintRules are applied
    extended_resources: bool = True  # Whether classes serve extended resources

    @property
    def stable(self) -> bool:
        """Whether an allocator runs that sorts nothing and permutes the devices of a request."""
        return self.variant is Variant.STABLE and not self.stable_combines

    @property
    def experimental(self) -> bool:
        """Whether an allocator runs that knows about operations of the node."""
        if self.stable_combines:
            return self.variant is not Variant.STABLE
        return self.variant is Variant.EXPERIMENTAL


_DEFAULT = versions.name(versions.DEFAULT)


def stage(gate: str, version: Version) -> str:
    """Return the stage of a gate in the version that is known for one; empty without the gate."""
    row = STAGES.get(gate, ())
    column = versions.known(max(version, versions.OLDEST))[1] - versions.OLDEST[1]
    return row[column] if row else ""


def on_by_default(gate: str, version: Version) -> bool:
    """Return whether a gate is on in a version where no flag sets it; one not listed is alpha."""
    return stage(gate, version) in (BETA, GA, LOCKED)


def profile(kubernetes: str = _DEFAULT, gates: Mapping[str, bool] | None = None) -> Profile:
    """Return how kube-scheduler of a version behaves.

    Args:
        kubernetes: Such as "1.36" or "v1.36.2"; what is newer than the newest known one counts as
            that.
        gates: Feature gates by name, also AllAlpha and AllBeta, that differ from the defaults.

    Raises:
        UnknownGateError: Naming the gate that the version does not know or does not let change.
        ValueError: `kubernetes` is not a version from 1.34.
    """
    version = versions.known(versions.parse(kubernetes))
    on = _enabled(version, gates or {})
    binding = on["DRADeviceBindingConditions"] and on["DRAResourceClaimDeviceStatus"]
    features = Features(
        AdminAccess=on["DRAAdminAccess"],
        PrioritizedList=on["DRAPrioritizedList"],
        PartitionableDevices=on["DRAPartitionableDevices"],
        DeviceTaints=on["DRADeviceTaints"],
        DeviceBindingAndStatus=binding,
        ConsumableCapacity=on["DRAConsumableCapacity"],
        FractionalCapacityRange=on.get("DRAFractionalCapacityRange", False),
        ListTypeAttributes=(
            Profile(version).list_gate_passed and on.get("DRAListTypeAttributes", False)
        ),
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
        supported = _SUPPORTED[Release(version).stable_combines]
        fitting = (one for one, known in supported.items() if features.enabled <= known)
        variant = next(fitting, Variant.EXPERIMENTAL)
    return Profile(version, features, variant, list_attributes=features.ListTypeAttributes)


def _enabled(version: Version, gates: Mapping[str, bool]) -> dict[str, bool]:
    stages = {name: stage(name, version) for name in STAGES}
    default = {
        ALPHA: gates.get("AllAlpha", False),
        BETA: gates.get("AllBeta", True),
        BETA_OFF: gates.get("AllBeta", False),
    }
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
