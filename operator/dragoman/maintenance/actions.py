"""Actions: the writes of a drain or hold, as values, and what happens to pods."""

from dataclasses import dataclass
from enum import StrEnum

from dragoman.maintenance.holds import Hold, HoldSelector
from dragoman.model.deviceid import DeviceID


class EvictionMode(StrEnum):
    """What happens to pods that use the devices."""

    NEVER = "Never"
    WHEN_ALLOWED = "WhenAllowed"
    """Through the Eviction API, which asks PodDisruptionBudgets."""
    NOW = "Now"
    """Deleted, whatever PodDisruptionBudgets say."""


@dataclass(frozen=True, slots=True)
class CreateTaintRule:
    """Create a DeviceTaintRule with the taint of maintenance."""

    selector: HoldSelector


@dataclass(frozen=True, slots=True)
class CreateHeldClaim:
    """Create the held claim of a device, without an allocation."""

    device: DeviceID


@dataclass(frozen=True, slots=True)
class Allocate:
    """Write the allocation of a held claim."""

    hold: Hold
    device: DeviceID


@dataclass(frozen=True, slots=True)
class MarkOverlap:
    """Note on a held claim that another claim got its device too."""

    hold: Hold


@dataclass(frozen=True, slots=True)
class Reallocate:
    """Clear the allocation of a marked held claim and write it again."""

    hold: Hold
    device: DeviceID


@dataclass(frozen=True, slots=True)
class EvictPod:
    """Evict a pod, or delete it where `now` is set; the UID is a precondition."""

    namespace: str
    name: str
    uid: str
    now: bool = False

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


Action = CreateTaintRule | CreateHeldClaim | Allocate | MarkOverlap | Reallocate | EvictPod
