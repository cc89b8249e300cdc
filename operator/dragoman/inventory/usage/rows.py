"""Rows of `top`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dragoman.inventory.inventory import InventoryDevice
from dragoman.model.deviceid import DeviceID, PoolID


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one capacity shares take."""

    capacity: str  # Its name
    consumed: int  # By all shares, in units of 10^-9
    total: int  # Of all shareable devices, in units of 10^-9


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Devices of one DeviceClass."""

    name: str  # Of the class
    drivers: tuple[str, ...]  # Of its devices, sorted
    free: int  # Claims for one device that would still be allocated, one after the other
    used: int  # Allocated to claims, without admin access
    tainted: int  # Idle and tainted
    held: int  # Kept out of service
    # Idle partitions for which the shared counters do not suffice beside the free ones
    blocked: int
    unusable: int  # Idle devices of incomplete and invalid pools; not part of `devices`
    lost: int  # Allocated, but in no current slice; not part of `devices`
    pending: int  # Pods that wait for a claim of the class
    shares: tuple[Share, ...] = ()  # Of devices that allow multiple allocations
    failure: str = ""  # Why a selector of the class fails, empty where none does

    @property
    def devices(self) -> int:
        """All devices that count."""
        return self.free + self.used + self.tainted + self.held + self.blocked


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Devices of one node."""

    node: str  # Its name; empty for devices that several nodes can use
    free: int  # As in `ClassRow`
    devices: int  # As in `ClassRow`
    # Devices by holder: a pod, else a claim; the largest first
    users: tuple[tuple[str, int], ...] = ()
    tainted: tuple[InventoryDevice, ...] = ()  # Tainted devices with their taints, used or not
    pools: tuple[PoolID, ...] = ()  # Pools of the node that do not count


@dataclass(frozen=True, slots=True)
class PodRow:
    """Devices of one pod."""

    pod: str  # `namespace/name`
    node: str  # Where it runs, empty while it waits
    devices: Mapping[str, int]  # Allocated to its claims, by class
    waiting: tuple[str, ...] = ()  # Claims without devices
    since: str = ""  # When the first of its claims was allocated, as an API timestamp
    ids: tuple[DeviceID, ...] = field(default=(), compare=False)
