"""Feature gates of Dynamic Resource Allocation, and what they mean for the allocator.

Source: pkg/features of Kubernetes 1.34 to 1.38, and the KEPs named in the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from dragoman_base import versions
from dragoman_base.versions import Since, Version


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
_SUPPORTED: Mapping[Version, Mapping[Variant, frozenset[str]]] = {
    versions.OLDEST: {Variant.STABLE: _FIRST, Variant.INCUBATING: _SECOND},
    (1, 38): {Variant.STABLE: _SECOND, Variant.INCUBATING: _ALL},
}
"""What each allocator supports, by the first version that has them so; the last supports all."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How one version of kube-scheduler behaves with one set of gates.

    What changed with a version is named by what it is, below the fields.
    """

    # Such as (1, 36); it selects between behaviours that changed
    version: Version = versions.DEFAULT
    features: Features = Features()  # What the allocator supports
    variant: Variant = Variant.INCUBATING  # Which of the three allocators runs
    list_attributes: bool = False  # Whether CEL knows lists as attributes
    taint_rules: bool = True  # Whether DeviceTaintRules are applied
    extended_resources: bool = True  # Whether classes serve extended resources

    @property
    def kubernetes(self) -> str:
        """The version as text, such as "1.36"."""
        return versions.name(self.version)

    invalid_pools_passed = Since(35)
    """An invalid pool does not end the attempt of a node that needs none of its devices."""
    incomplete_pools_unused = Since(35)
    """A pool that is incomplete on a node has no devices there."""
    subrequests_apart = Since(36)
    """Each subrequest for all devices has devices of its own."""
    all_means_exhausted = Since(37)
    """A request for all devices means those that others exhausted, too, and so fails."""
    amounts_checked = Since(37)
    """An amount that int64 cannot hold ends the attempt; before, it wraps around."""
    compatibility_groups = Since(37)
    """Devices have compatibility groups."""
    configs_once = Since(37)
    """A config is copied once; before, once for each request that it names."""
    constraints_restored = Since(37)
    """What a rejected device narrowed is wide again, and each device of a request is compared."""
    counters_by_driver = Since(37)
    """Pools of one name have counters of their own in each driver."""
    counters_by_node = Since(37)
    """Slices with counters belong to the pool on the nodes that they select."""
    derived_attributes = Since(37)
    """Requests have derived attributes."""
    devices_limited = Since(37)
    """Requests that need more devices than a claim may have end the attempt early."""
    list_gate_passed = Since(37)
    """The scheduler passes the gate of list attributes on (kubernetes/kubernetes#139332)."""
    lists_in_selectors = Since(37)
    """Selectors see attributes as lists where they say so."""
    rules_need_selector = Since(37)
    """A DeviceTaintRule without selector taints nothing; before, every device."""
    selectors_advised = Since(37)
    """Errors of selectors name the device, and how to guard against absent names."""
    shares_without_capacity = Since(37)
    """A device is shared also where no share of it consumes capacity."""
    taints_before_counters = Since(37)
    """Counters of a tainted device are not looked at."""
    broken_pools_of_node = Since(38)
    """A request for all devices that meets a broken pool fails on this node; before, on all."""
    names_qualified = Since(38)
    """A name without domain and one with the driver's are the same attribute or capacity."""
    negative_requests_refused = Since(38)
    """A negative request ends the attempt; before, a policy could round it up."""
    shares_block = Since(38)
    """A device that is shared no more is not given while shares of it are held."""
    unusable_values_fatal = Since(38)
    """A constraint on a value that cannot be used ends the attempt; before, it does not hold."""
    _combining = Since(38)
    """The oldest allocator searches as the second one does."""

    @property
    def stable(self) -> bool:
        """Whether an allocator runs that sorts nothing and permutes the devices of a request."""
        return self.variant is Variant.STABLE and not self._combining

    @property
    def experimental(self) -> bool:
        """Whether an allocator runs that knows about operations of the node."""
        if self._combining:
            return self.variant is not Variant.STABLE
        return self.variant is Variant.EXPERIMENTAL


_DEFAULT = versions.name(versions.DEFAULT)

ALPHA, BETA, GA, LOCKED = "alpha", "beta", "GA", "locked"
BETA_OFF = "beta, off"
"""Off by default; also a default that needs the release as compatibility version."""

# Gate: the stage in 1.34, 1.35, 1.36, 1.37, 1.38; empty where it does not exist.
_GATES: Mapping[str, tuple[str, str, str, str, str]] = {
    "DynamicResourceAllocation": (GA, LOCKED, LOCKED, LOCKED, ""),
    "DRAAdminAccess": (BETA, BETA, LOCKED, LOCKED, LOCKED),
    "DRAPrioritizedList": (BETA, BETA, GA, LOCKED, LOCKED),
    "DRAPartitionableDevices": (ALPHA, ALPHA, BETA, BETA, LOCKED),
    "DRADeviceTaints": (ALPHA, ALPHA, BETA, GA, LOCKED),
    "DRADeviceTaintRules": ("", ALPHA, BETA_OFF, GA, LOCKED),
    "DRADeviceBindingConditions": (ALPHA, ALPHA, BETA, BETA, LOCKED),
    "DRAResourceClaimDeviceStatus": (BETA, BETA, BETA, LOCKED, LOCKED),
    "DRAConsumableCapacity": (ALPHA, ALPHA, BETA, BETA, GA),
    "DRAExtendedResource": (ALPHA, ALPHA, BETA, LOCKED, LOCKED),
    "DRASchedulerFilterTimeout": (BETA, BETA, BETA, BETA, BETA),
    "DRAFractionalCapacityRange": ("", "", "", BETA_OFF, GA),
    "DRAListTypeAttributes": ("", "", ALPHA, ALPHA, ALPHA),
    "DRAOptionalNodeOperations": ("", "", "", ALPHA, ALPHA),
    "DRADerivedAttributes": ("", "", "", ALPHA, ALPHA),
    "DRADeviceCompatibilityGroups": ("", "", "", ALPHA, ALPHA),
}


def on_by_default(gate: str, version: Version) -> bool:
    """Return whether a gate is on in a version where no flag sets it; one not listed is alpha."""
    row = _GATES.get(gate)
    known_version = max(min(version, versions.NEWEST), versions.OLDEST)
    return row is not None and row[known_version[1] - versions.OLDEST[1]] in (BETA, GA, LOCKED)


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
        supported = _SUPPORTED[max(since for since in _SUPPORTED if since <= version)]
        fitting = (one for one, known in supported.items() if features.enabled <= known)
        variant = next(fitting, Variant.EXPERIMENTAL)
    return Profile(version, features, variant, list_attributes=features.ListTypeAttributes)


def _enabled(version: Version, gates: Mapping[str, bool]) -> dict[str, bool]:
    stages = {name: row[version[1] - versions.OLDEST[1]] for name, row in _GATES.items()}
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
